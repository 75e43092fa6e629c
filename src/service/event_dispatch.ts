/**
 * From one event of the queue to what each binding of its namespace makes of it. A binding never touches another one:
 * whatever goes wrong is its own outcome. Everything may be repeated: names, uids and idempotency keys derive from the
 * event and the binding.
 */
import type { Caller } from "../auth/port.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { workingOn } from "../base/work.ts";
import { BoundEvent, type CallbackRequest } from "../events/match.ts";
import { ExpressionError } from "../expr/contexts.ts";
import {
  ManifestKind,
  type Workflow,
  type WorkflowEventBinding,
  type WorkflowTemplate,
} from "../spec/manifest.ts";
import type { Delivery, QueuedEvent } from "../store/port.ts";
import { requireAccess } from "./access.ts";
import { unreadableDelivery } from "../store/queued_event.ts";
import { rawBytesOf } from "../store/raw_bytes.ts";
import type { BindingSource, EventBinding } from "./binding_source.ts";
import type { About } from "./core_event.ts";
import type { ServiceDeps } from "./deps.ts";
import { callBack, waitMsOf } from "./event_callbacks.ts";
import { eventCaller } from "./event_caller.ts";
import {
  EVENT_KEY_TTL_MS,
  eventFractions,
  eventKey,
  eventNameHash,
  eventNameSuffix,
  eventWorkflowUid,
  fittingName,
} from "./event_identity.ts";
import { WORKFLOW } from "./kinds.ts";
import { type EventEnvelope, readEnvelope } from "./event_intake.ts";
import { getManifest } from "./manifests.ts";
import { requireTemplates } from "./validation.ts";
import { described, keepWaiting } from "./waiting_callbacks.ts";
import { labelled, storeWorkflow } from "./workflow_create.ts";
import { apiVersionOf, type Naming } from "../spec/naming.ts";

/** Tries after which an event is given up. */
export const MAX_ATTEMPTS = 20;
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 60_000;
/** Records name all bindings that did something, and this many of those that did not match. */
const MAX_NOT_MATCHED = 200;
/** Expressions may keep the process busy this long before others get their turn. */
const SLICE_MS = 20;

/** Whether it would have matched nobody knows, so that the event is kept. */
const UNREADABLE_BINDING =
  "the stored binding cannot be read; write it again or delete it, then replay the event";

/** What one binding made of an event. */
export type BindingOutcome = Delivery["bindings"][number];

/** What became of an event: it is over, or it comes back after a time. */
export interface Verdict {
  delivery: Delivery;
  retryAfterMs?: number;
}

/** One event as it is worked on. */
interface Work {
  deps: ServiceDeps;
  event: QueuedEvent;
  envelope: EventEnvelope;
  caller: Caller;
  /** It may have been worked on before. */
  isRepeat: boolean;
}

/** Dispatches an event to the bindings of its namespace. Rejects for defects only, never for what a binding does. */
export async function dispatchEvent(
  deps: ServiceDeps,
  bindings: BindingSource,
  event: QueuedEvent,
): Promise<Verdict> {
  const envelope = readEnvelope(event.text);
  if (envelope === undefined) return { delivery: deliveryOfUnreadable(event) };
  let earlier: BindingOutcome[] = envelope.outcomes ?? [];
  try {
    if (event.attempts > 0) earlier = await earlierOutcomes(deps, event, envelope);
    const known = bindings.of(event);
    const current = known instanceof Promise ? await known : known;
    return await dispatchTo(current, deps, event, envelope, earlier);
  } catch (error) {
    if (!isTransient(error)) throw error;
    deps.log.warn({ event: event.id, err: error }, "event not dispatched; it comes back");
    return comesBack(deps, event, earlier);
  }
}

async function dispatchTo(
  bindings: readonly EventBinding[],
  deps: ServiceDeps,
  event: QueuedEvent,
  envelope: EventEnvelope,
  earlier: readonly BindingOutcome[],
): Promise<Verdict> {
  if (event.attempts >= MAX_ATTEMPTS) {
    return give(event, final(earlier), `given up after ${event.attempts} attempts`);
  }
  const work: Work = {
    deps,
    event,
    envelope,
    caller: eventCaller(deps, envelope.sender),
    isRepeat: event.attempts > 0 || envelope.outcomes !== undefined,
  };
  const settled = earlier.filter((one) => one.transient !== true);
  const fresh = bindings.length === 0 ? [] : await runBindings(work, bindings, settled);
  if (fresh.length > 0) await report(work, fresh);
  const outcomes = [...settled, ...fresh];
  if (outcomes.some((outcome) => outcome.transient)) return comesBack(deps, event, outcomes);
  const state = outcomes.some(({ outcome }) => outcome === "error") ? "dead" : "done";
  return { delivery: deliveryOf(event, outcomes, { state, attempts: event.attempts + 1 }) };
}

/** The event is tried again later, unless it was tried often enough. */
function comesBack(deps: ServiceDeps, event: QueuedEvent, outcomes: BindingOutcome[]): Verdict {
  const attempts = event.attempts + 1;
  if (attempts >= MAX_ATTEMPTS) {
    return give(event, final(outcomes), `given up after ${attempts} attempts`);
  }
  const delivery = deliveryOf(event, outcomes, { state: "queued", attempts });
  const wait = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** event.attempts);
  return { delivery, retryAfterMs: wait * (0.5 + deps.ids.fraction()) };
}

/** The record of an event that is over because of a defect of ours. */
export function failedDelivery(event: QueuedEvent): Delivery {
  return give(event, [], "internal error; the server's log has the cause").delivery;
}

/** The record of an event whose text is none that a program of ours has written. */
function deliveryOfUnreadable(event: QueuedEvent): Delivery {
  const reason = "its text is no event with a payload, metadata and a sender";
  const raw = rawBytesOf(new TextEncoder().encode(event.text));
  return unreadableDelivery({ ...event, unreadable: { reason, ...raw } });
}

/** What earlier tries of an event have settled. */
async function earlierOutcomes(
  deps: ServiceDeps,
  event: QueuedEvent,
  envelope: EventEnvelope,
): Promise<BindingOutcome[]> {
  const recorded = await deps.store.events.delivery(event.namespace, event.id);
  // Of a record that can't be read nothing is known: its bindings run again, which makes nothing twice.
  const known = recorded?.unreadable === undefined ? recorded?.bindings ?? [] : [];
  return [...new Map([...envelope.outcomes ?? [], ...known].map((one) => [one.binding, one]))
    .values()];
}

/** Outcomes that nothing will change any more. */
function final(outcomes: readonly BindingOutcome[]): BindingOutcome[] {
  return outcomes.map(({ transient: _, ...outcome }) => outcome);
}

function give(event: QueuedEvent, bindings: BindingOutcome[], message: string): Verdict {
  const failure: BindingOutcome = { binding: "", outcome: "error", message };
  const attempts = event.attempts + 1;
  return { delivery: deliveryOf(event, [...bindings, failure], { state: "dead", attempts }) };
}

function deliveryOf(
  event: QueuedEvent,
  bindings: BindingOutcome[],
  facts: Pick<Delivery, "state" | "attempts">,
): Delivery {
  const { id, namespace, discriminator, receivedAt, text } = event;
  const size = event.size ?? new TextEncoder().encode(text).length;
  const { state, attempts } = facts;
  const delivery = { id, namespace, discriminator, receivedAt, size, state, attempts, bindings };
  return state === "dead" ? { ...delivery, event: text } : delivery;
}

async function runBindings(
  work: Work,
  bindings: readonly EventBinding[],
  settled: readonly BindingOutcome[],
): Promise<BindingOutcome[]> {
  const { clock } = work.deps;
  const isSettled = new Set(settled.map(({ binding }) => binding));
  const running: Promise<BindingOutcome>[] = [];
  let notMatched = 0;
  let sliceEnd = clock.monotonic() + SLICE_MS;
  for (const binding of bindings) {
    const name = binding.metadata.name ?? "";
    if (isSettled.has(name)) continue;
    if (clock.monotonic() > sliceEnd) {
      await clock.sleep(0);
      sliceEnd = clock.monotonic() + SLICE_MS;
    }
    const outcome = startBinding(work, binding);
    if (outcome instanceof Promise) running.push(outcome);
    else if (outcome.outcome !== "not-matched" || ++notMatched <= MAX_NOT_MATCHED) {
      running.push(Promise.resolve(outcome));
    }
  }
  return await Promise.all(running);
}

/** Selects at once; what a selected binding does takes its time. */
function startBinding(
  work: Work,
  binding: EventBinding,
): BindingOutcome | Promise<BindingOutcome> {
  const name = binding.metadata.name ?? "";
  if (binding.unreadable === true) {
    return { binding: name, outcome: "error", message: UNREADABLE_BINDING };
  }
  workingOn("event", `${work.event.namespace}/${work.event.id}`);
  try {
    const bound = bind(work, binding);
    if (!bound.isSelected()) return { binding: name, outcome: "not-matched" };
    return act(work, binding, bound).catch((error) => failed(work, name, error));
  } catch (error) {
    return failed(work, name, error);
  }
}

function bind({ event, envelope }: Work, binding: WorkflowEventBinding): BoundEvent {
  const headers = Object.entries(envelope.metadata)
    .flatMap(([name, values]) => values.map((value): [string, string] => [name, value]));
  const { namespace, discriminator } = event;
  return new BoundEvent(
    { namespace, discriminator, headers, payload: envelope.payload },
    binding,
    {
      // A repeat sees the same time and draws the same numbers.
      now: () => event.receivedAt,
      random: eventFractions(event.id, binding.metadata.name ?? ""),
    },
  );
}

async function act(
  work: Work,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<BindingOutcome> {
  const name = binding.metadata.name ?? "";
  const workflow = binding.spec.submit === undefined
    ? undefined
    : await submit(work, binding, bound);
  let outcome: BindingOutcome = workflow === undefined
    ? { binding: name, outcome: "not-matched", message: "the binding submits nothing" }
    : { binding: name, outcome: "submitted", workflow };
  for (const request of bound.callbacks()) {
    const done = await carryOut(work, name, request);
    const made = workflow === undefined ? [] : [`submitted ${workflow}`];
    const message = [...made, ...(done.message === undefined ? [] : [done.message])].join("; ");
    outcome = { binding: name, ...done, ...(message === "" ? {} : { message }) };
  }
  return outcome;
}

/** Makes the workflow of an event and a binding; its name. */
async function submit(
  { deps, event, caller, isRepeat }: Work,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<string> {
  const { namespace } = event;
  const uid = eventWorkflowUid(event.id, binding.metadata.name ?? "");
  if (isRepeat) {
    // Names may have changed with the binding since the first try; the uid has not.
    const known = await deps.store.query.findByUid(uid);
    if (known !== undefined) return known.split("/")[2] ?? known;
  }
  const workflow = await workflowOf(deps, event, caller, binding, bound);
  const key = eventKey(event.id, binding.metadata.name ?? "");
  const stored = await inWords("failed to create workflow", () =>
    storeWorkflow(deps, caller, {
      namespace,
      workflow,
      uid,
      idempotency: { key, fingerprint: key, ttlMs: EVENT_KEY_TTL_MS },
    }));
  return stored.metadata.name ?? "";
}

/** The workflow that a binding submits, before it is stored. */
async function workflowOf(
  deps: ServiceDeps,
  { id, namespace, receivedAt }: Pick<QueuedEvent, "id" | "namespace" | "receivedAt">,
  caller: Caller,
  binding: WorkflowEventBinding,
  bound: BoundEvent,
): Promise<Workflow> {
  const { name = "", clusterScope } = binding.spec.submit?.workflowTemplateRef ?? {};
  const [kind, place] = clusterScope === true
    ? [ManifestKind.ClusterWorkflowTemplate, ""] as const
    : [ManifestKind.WorkflowTemplate, namespace] as const;
  const template = await inWords(
    "failed to get workflow template",
    () => getManifest<WorkflowTemplate>(deps, caller, kind, place, name),
  );
  await inWords(
    "failed to get workflow template",
    () => requireTemplates(deps, caller, template.spec, namespace),
  );
  const { name: bindingName = "" } = binding.metadata;
  const workflow = bound.submission(template, deps.settings.naming, (base, isOwn) =>
    fittingName(
      base,
      isOwn ? eventNameHash(id, bindingName) : eventNameSuffix(receivedAt, id, bindingName),
    ));
  if (workflow === undefined) throw new TypeError("The binding submits nothing");
  return labelled(
    deps,
    { ...workflow, metadata: { ...workflow.metadata, namespace } },
    caller,
  );
}

async function carryOut(
  { deps, event, envelope, caller }: Work,
  binding: string,
  request: CallbackRequest,
): Promise<Omit<BindingOutcome, "binding">> {
  const { namespace, id, receivedAt } = event;
  const names = await callBack(deps, caller, namespace, request, eventKey(id, binding));
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

async function inWords<T>(words: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    throw new Problem(error.code, `${words}: ${error.message}`, { cause: error });
  }
}

function failed({ deps, event }: Work, binding: string, error: unknown): BindingOutcome {
  const isKnown = error instanceof Problem || error instanceof ExpressionError;
  if (!isKnown) deps.log.error({ event: event.id, binding, err: error }, "binding failed");
  const message = isKnown ? error.message : "internal error; the server's log has the cause";
  return { binding, outcome: "error", message, ...(isTransient(error) ? { transient: true } : {}) };
}

/** Trouble that may be over at the next try. */
function isTransient(error: unknown): boolean {
  return error instanceof Problem &&
    (error.code === ProblemCode.Unavailable || error.code === ProblemCode.DeadlineExceeded);
}

/** Tells log, metrics and watchers of events what the bindings did. */
async function report({ deps, event }: Work, outcomes: readonly BindingOutcome[]): Promise<void> {
  const { log, events, clock, eventMetrics, settings } = deps;
  const { id, namespace } = event;
  for (const { binding, outcome, message = "", workflow, transient } of outcomes) {
    eventMetrics?.evaluated(transient === true ? "retried" : outcome);
    if (outcome !== "error") {
      if (workflow !== undefined) log.info({ event: id, namespace, binding, outcome, workflow });
      continue;
    }
    log.warn({ event: id, namespace, binding, transient, reason: message }, "event not dispatched");
    if (transient === true) continue;
    await events.report(aboutBinding(namespace, binding, settings.naming), {
      id: message,
      at: clock.now(),
      type: "Warning",
      reason: "WorkflowEventBindingError",
      message: `failed to dispatch event: ${message}`,
    });
  }
}

function aboutBinding(namespace: string, name: string, naming: Naming): About {
  return {
    apiVersion: apiVersionOf(naming),
    kind: "WorkflowEventBinding",
    namespace,
    name,
    component: "workflow-server",
  };
}

/** What a binding would make of an event. */
export interface BindingPreview {
  binding: string;
  outcome: "not-matched" | "submit" | "resume" | "stop" | "error";
  /** The workflow that would be made. */
  workflow?: Workflow;
  /** The steps that would be called back. */
  callback?: CallbackRequest;
  message?: string;
}

/** Says what each binding would make of an event; nothing is done. */
export async function previewEvent(
  deps: ServiceDeps,
  caller: Caller,
  bindings: readonly EventBinding[],
  event: QueuedEvent,
  envelope: EventEnvelope,
): Promise<BindingPreview[]> {
  const work: Work = { deps, event, envelope, caller, isRepeat: false };
  const previews: BindingPreview[] = [];
  for (const one of bindings) {
    const binding = one.metadata.name ?? "";
    if (one.unreadable === true) {
      previews.push({ binding, outcome: "error", message: UNREADABLE_BINDING });
      continue;
    }
    try {
      const bound = bind(work, one);
      if (!bound.isSelected()) {
        previews.push({ binding, outcome: "not-matched" });
        continue;
      }
      if (one.spec.submit !== undefined) {
        const { namespace } = event;
        await inWords(
          "failed to create workflow",
          () => requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace }),
        );
        const workflow = await workflowOf(deps, event, caller, one, bound);
        previews.push({ binding, outcome: "submit", workflow });
      }
      for (const callback of bound.callbacks()) {
        previews.push({ binding, outcome: callback.action, callback });
      }
    } catch (error) {
      const { message = "" } = failed(work, binding, error);
      previews.push({ binding, outcome: "error", message });
    }
  }
  return previews;
}
