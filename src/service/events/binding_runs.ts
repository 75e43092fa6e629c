/**
 * What the bindings of a namespace do with an event: they submit workflows and call back steps that wait. A failure is the
 * outcome of its own binding and affects no other.
 */
import type { Caller } from "../../auth/port.ts";
import { Problem } from "../../base/problem.ts";
import { workingOn } from "../../base/work.ts";
import { BoundEvent, type CallbackRequest } from "../../events/match.ts";
import { type EventInput, ExpressionError } from "../../expr/templates/contexts.ts";
import type { RunOptions } from "../../expr/values/run_context.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow, WorkflowEventBinding, WorkflowTemplate } from "../../spec/manifest.ts";
import { placeOf } from "../../spec/validation/owner.ts";
import type { Delivery, QueuedEvent } from "../../store/event_port.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { findManifest, requireManifestAccess } from "../manifests/reads.ts";
import { type Reached, reachedAlone, requireTemplates } from "../manifests/template_access.ts";
import { validateNewWorkflow } from "../manifests/validation.ts";
import { newWorkflow, storeWorkflow } from "../workflows/create.ts";
import type { EventBinding } from "./binding_source.ts";
import { callBack, waitMsOf } from "./callbacks.ts";
import {
  EVENT_KEY_TTL_MS,
  eventFractions,
  eventKey,
  eventNameHash,
  eventNameSuffix,
  eventWorkflowUid,
  fittingName,
} from "./identity.ts";
import type { EventTrace } from "./event_trace.ts";
import type { EventEnvelope } from "./intake.ts";
import { described, keepWaiting } from "./waiting_callbacks.ts";

/** A record names all bindings that did something, and this many of those that did not match. */
const MAX_NOT_MATCHED = 200;

/** The bindings of an event whose text is longer run one after the other: each has a copy of it. */
const SMALL_EVENT = 2 ** 16;

/** An error rather than "not matched": nobody knows whether it would have matched, and an error keeps the event. */
export const UNREADABLE_BINDING =
  "the stored binding cannot be read; write it again or delete it, then replay the event";

/** What one binding did with an event. */
export type BindingOutcome = Delivery["bindings"][number];

/** One event on its way through the bindings. */
export interface EventDispatch {
  deps: ServiceDeps;
  event: QueuedEvent;
  envelope: EventEnvelope;
  caller: Caller;
  /** It may have been dispatched before. */
  isRepeat: boolean;
  /** Absent: nothing is traced. */
  trace?: EventTrace | undefined;
}

/** Whether an event is to be dispatched beside few others. */
export function isLargeEvent({ text }: Pick<QueuedEvent, "text">): boolean {
  return text.length > SMALL_EVENT;
}

/** Runs the bindings that have not settled yet. */
export async function runBindings(
  dispatch: EventDispatch,
  bindings: readonly EventBinding[],
  settled: readonly BindingOutcome[],
): Promise<BindingOutcome[]> {
  const isSettled = new Set(settled.map(({ binding }) => binding));
  const running: Promise<BindingOutcome>[] = [];
  let notMatched = 0;
  // Shared by all events: each of those that are dispatched together would otherwise have a turn of its own.
  const turns = new Turns(dispatch.event.namespace);
  const isLarge = isLargeEvent(dispatch.event);
  for (const binding of bindings) {
    const name = binding.metadata.name ?? "";
    if (isSettled.has(name)) continue;
    if (turns.isOver) await turns.pause();
    const started = startBinding(dispatch, binding);
    const outcome = isLarge ? await started : started;
    if (outcome instanceof Promise) running.push(outcome);
    else if (outcome.outcome !== "not-matched" || ++notMatched <= MAX_NOT_MATCHED) {
      running.push(Promise.resolve(outcome));
    }
  }
  return await Promise.all(running);
}

/** Selects at once; what a selected binding does goes on afterwards. */
function startBinding(
  dispatch: EventDispatch,
  binding: EventBinding,
): BindingOutcome | Promise<BindingOutcome> {
  const name = binding.metadata.name ?? "";
  if (binding.unreadable === true) {
    return { binding: name, outcome: "error", message: UNREADABLE_BINDING };
  }
  workingOn("event", `${dispatch.event.namespace}/${dispatch.event.id}`);
  try {
    const bound = bindEvent(dispatch, binding);
    if (!bound.isSelected()) return { binding: name, outcome: "not-matched" };
    return act(dispatch, binding, bound).catch((error) => failedOutcome(dispatch, name, error));
  } catch (error) {
    return failedOutcome(dispatch, name, error);
  }
}

/** The event as the expressions of a binding see it. */
export function bindEvent(dispatch: EventDispatch, binding: WorkflowEventBinding): BoundEvent {
  return new BoundEvent(inputOf(dispatch), binding, runOf(dispatch, binding));
}

/** What the event endpoint received. */
export function inputOf({ event, envelope }: EventDispatch): EventInput {
  const headers = Object.entries(envelope.metadata)
    .flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  const { namespace, discriminator } = event;
  return { namespace, discriminator, headers, payload: envelope.payload };
}

/** Clock and randomness of a binding's expressions: a repeat sees the same time and draws the same numbers. */
export function runOf({ event }: EventDispatch, binding: WorkflowEventBinding): RunOptions {
  return {
    now: () => event.receivedAt,
    random: eventFractions(event.id, binding.metadata.name ?? ""),
  };
}

async function act(
  dispatch: EventDispatch,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<BindingOutcome> {
  const name = binding.metadata.name ?? "";
  const workflow = binding.spec.submit === undefined
    ? undefined
    : await submit(dispatch, binding, bound);
  let outcome: BindingOutcome = workflow === undefined
    ? idleOutcome(name)
    : { binding: name, outcome: "submitted", workflow };
  for (const request of await new Turns(dispatch.event.namespace).do(() => bound.callbacks())) {
    const done = await carryOut(dispatch, name, request);
    const made = workflow === undefined ? [] : [`submitted ${workflow}`];
    const message = [...made, ...(done.message === undefined ? [] : [done.message])].join("; ");
    outcome = { binding: name, ...done, ...(message !== "" && { message }) };
  }
  return outcome;
}

/** What is said of a binding that selects an event and has nothing to do with it. */
export function idleOutcome(binding: string) {
  return { binding, outcome: "not-matched", message: "the binding submits nothing" } as const;
}

/** Submits the workflow of an event and a binding. @returns its name */
async function submit(
  dispatch: EventDispatch,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<string> {
  const { deps, event, caller, isRepeat } = dispatch;
  const { namespace } = event;
  const uid = eventWorkflowUid(event.id, binding.metadata.name ?? "");
  if (isRepeat) {
    // The binding may have given it another name since the first attempt; the uid stays the same.
    const known = await deps.store.query.findByUid(uid);
    // An archived one is found under its name and uid.
    if (known !== undefined) return known.split("/")[2]?.replace(/@.*$/, "") ?? known;
  }
  const { workflow, source } = await eventWorkflow(dispatch, binding, bound);
  // The owner of its shard does not accept one either that is not valid; that ends the workflow.
  const reached = await validateNewWorkflow(deps, caller, workflow, namespace, undefined, source)
    .catch(() => undefined);
  const key = eventKey(event.id, binding.metadata.name ?? "");
  const stored = await prefixed("failed to create workflow", () =>
    storeWorkflow(deps, caller, {
      namespace,
      workflow,
      uid,
      // The answer is kept for its key.
      isBrief: true,
      idempotency: { key, fingerprint: key, ttlMs: EVENT_KEY_TTL_MS },
      trace: dispatch.trace?.originOf(uid),
      ...(reached && { manifests: reached.manifests, isSmall: reached.isSmall }),
    }));
  return stored.metadata.name ?? "";
}

/** The workflow that a binding submits, before it is stored, and the template that it comes from. */
export async function eventWorkflow(
  { deps, event: { id, namespace, receivedAt, manifests }, caller }: EventDispatch,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<{ workflow: Workflow; source: Reached }> {
  const [kind, place, name] = placeOf(binding.spec.submit?.workflowTemplateRef ?? {}, namespace);
  const template = await prefixed("failed to get workflow template", async () => {
    await requireManifestAccess(caller, "get", kind, place, name);
    const known = deps.store.manifests.known?.(kind, place, name);
    const current = known?.manifests === manifests ? known?.stored : undefined;
    const stored = current ?? await findManifest(deps, kind, place, name);
    const found = manifestObject<WorkflowTemplate>(stored);
    await requireTemplates(deps, caller, found.spec, namespace);
    return found;
  });
  const { name: bindingName = "" } = binding.metadata;
  // Many bindings that are selected come to this point at the same moment.
  const workflow = await new Turns(namespace).do(() =>
    bound.submission(template, deps.settings.naming, (base, isOwn) =>
      fittingName(
        base,
        isOwn ? eventNameHash(id, bindingName) : eventNameSuffix(receivedAt, id, bindingName),
      ))
  );
  if (workflow === undefined) throw new TypeError("The binding submits nothing");
  const inPlace = { ...workflow, metadata: { ...workflow.metadata, namespace } };
  return {
    workflow: newWorkflow(deps, inPlace, caller),
    source: reachedAlone(`${kind}/${place}/${name}`, template),
  };
}

/** Calls back the steps that wait. If there are none, the callback is kept until there is one. */
async function carryOut(
  { deps, event, envelope, caller, trace }: EventDispatch,
  binding: string,
  request: CallbackRequest,
): Promise<Omit<BindingOutcome, "binding">> {
  const { namespace, id, receivedAt } = event;
  const by = { key: eventKey(id, binding), cause: trace?.cause };
  const names = await callBack(deps, caller, namespace, request, by);
  if (names.length > 0) {
    const outcome = request.action === "resume" ? "resumed" : "stopped";
    return { outcome, workflow: names.join(", ") };
  }
  const expiresAt = receivedAt + waitMsOf(request);
  if (expiresAt <= deps.clock.now()) {
    return { outcome: "error", message: `no step waits: ${described(request)}` };
  }
  const { sender } = envelope;
  await keepWaiting(deps, namespace, { event: id, binding, request, sender, expiresAt });
  return {
    outcome: "waiting",
    message: `until ${new Date(expiresAt).toISOString()} for ${described(request)}`,
  };
}

/** Runs something; a refusal then begins with the given words. */
export async function prefixed<T>(words: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.code, `${words}: ${error.message}`, { cause: error });
  }
}

/** The outcome of a binding that failed. */
export function failedOutcome(
  { deps, event }: EventDispatch,
  binding: string,
  error: unknown,
): BindingOutcome {
  const isKnown = error instanceof Problem || error instanceof ExpressionError;
  if (!isKnown) deps.log.error({ event: event.id, binding, err: error }, "binding failed");
  const message = isKnown ? error.message : "internal error; the server's log has the cause";
  return { binding, outcome: "error", message, ...(isTransient(error) && { transient: true }) };
}
