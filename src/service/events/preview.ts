/** What an event would lead to. Nothing is queued and nothing is done. */
import type { Caller } from "../../auth/port.ts";
import type { CallbackRequest } from "../../events/match.ts";
import type { ConditionPart } from "../../expr/templates/explain.ts";
import { ExpressionError } from "../../expr/templates/contexts.ts";
import { ExprCompileError, ExprRuntimeError } from "../../expr/values/error.ts";
import { Turns } from "../../platform/turns.ts";
import { ManifestKind, type Workflow, type WorkflowEventBinding } from "../../spec/manifest.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES, WORKFLOW } from "../kinds.ts";
import { lintManifest } from "../manifests/checked_writes.ts";
import { getManifest } from "../manifests/reads.ts";
import { storeWorkflow } from "../workflows/create.ts";
import {
  bindEvent,
  type EventDispatch,
  eventWorkflow,
  failedOutcome,
  idleOutcome,
  prefixed,
  UNREADABLE_BINDING,
} from "./binding_runs.ts";
import { BindingSource, type EventBinding } from "./binding_source.ts";
import { explanationOf } from "./explained_event.ts";
import { type EventRequest, payloadText } from "./intake.ts";

/** What a binding would do with an event. */
export interface BindingPreview {
  binding: string;
  outcome: "not-matched" | "submit" | "resume" | "stop" | "error";
  /** The workflow that would be made. */
  workflow?: Workflow;
  /** The steps that would be called back. */
  callback?: CallbackRequest;
  message?: string;
  /** Where the error is, if an expression of the binding has it. */
  place?: ExpressionPlace;
  /** The parts of the selector, in the first preview of a binding, where they were asked for. */
  selector?: ConditionPart;
}

export interface ExpressionPlace {
  expression: string;
  /** From 1. */
  line: number;
  /** From 1, in code points. */
  column: number;
}

/** Says what each binding would do with an event. */
export async function testEvent(
  deps: ServiceDeps,
  caller: Caller,
  request: EventRequest,
): Promise<BindingPreview[]> {
  await requireSending(caller, request);
  const { namespace } = request;
  const bindings = await new BindingSource(deps.store.manifests, deps.log).of({ namespace });
  return await previewAll(dispatchOf(deps, caller, request), bindings, false);
}

/**
 * Says what one binding would do with an event, and explains its selector.
 *
 * @param tested a binding that need not be stored, which needs the right to create it, or the name of a stored one
 * @throws {Problem} InvalidArgument when the binding is not valid, NotFound when there is none of that name
 */
export async function testBinding(
  deps: ServiceDeps,
  caller: Caller,
  request: EventRequest,
  tested: { binding?: WorkflowEventBinding; name?: string },
): Promise<BindingPreview[]> {
  await requireSending(caller, request);
  const kind = ManifestKind.WorkflowEventBinding;
  const { namespace } = request;
  const binding = tested.name === undefined
    ? await lintManifest(deps, caller, kind, namespace, tested.binding)
    : await getManifest<WorkflowEventBinding>(deps, caller, kind, namespace, tested.name);
  const placed = { ...binding, metadata: { ...binding.metadata, namespace } };
  return await previewAll(dispatchOf(deps, caller, request), [placed], true);
}

/** Refuses what would be refused if it were sent. */
async function requireSending(
  caller: Caller,
  { namespace, payload }: EventRequest,
): Promise<void> {
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  await requireAccess(caller, { verb: "list", resource, namespace });
  payloadText(payload);
}

function dispatchOf(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, discriminator, payload, metadata }: EventRequest,
): EventDispatch {
  const receivedAt = deps.clock.now();
  const id = deps.ids.uuid();
  return {
    deps,
    event: { id, namespace, discriminator, text: "", receivedAt, attempts: 0 },
    envelope: { payload, metadata, sender: caller.identity },
    caller,
    isRepeat: false,
  };
}

async function previewAll(
  dispatch: EventDispatch,
  bindings: readonly EventBinding[],
  isExplained: boolean,
): Promise<BindingPreview[]> {
  const previews: BindingPreview[] = [];
  const turns = new Turns();
  for (const binding of bindings) {
    const first = previews.length;
    try {
      for await (const preview of previewsOf(dispatch, binding)) previews.push(preview);
    } catch (error) {
      const name = binding.metadata.name ?? "";
      const { message = "" } = failedOutcome(dispatch, name, error);
      const place = placeOf(error);
      previews.push({ binding: name, outcome: "error", message, ...(place && { place }) });
    }
    const selector = isExplained ? explanationOf(dispatch, binding) : undefined;
    const preview = previews[first];
    if (preview !== undefined && selector !== undefined) preview.selector = selector;
    await turns.pause();
  }
  return previews;
}

function placeOf(error: unknown): ExpressionPlace | undefined {
  const cause = error instanceof ExpressionError ? error.cause : undefined;
  if (!(cause instanceof ExprCompileError || cause instanceof ExprRuntimeError)) return undefined;
  const { source, line, column } = cause;
  return { expression: source, line, column };
}

/** Yields one by one, so that those before an error are shown too. */
async function* previewsOf(
  dispatch: EventDispatch,
  one: EventBinding,
): AsyncGenerator<BindingPreview> {
  const binding = one.metadata.name ?? "";
  if (one.unreadable === true) {
    yield { binding, outcome: "error", message: UNREADABLE_BINDING };
    return;
  }
  const bound = bindEvent(dispatch, one);
  if (!bound.isSelected()) {
    yield { binding, outcome: "not-matched" };
    return;
  }
  if (one.spec.submit !== undefined) {
    const { caller, event: { namespace } } = dispatch;
    await prefixed(
      "failed to create workflow",
      async () => {
        await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
      },
    );
    const { workflow } = await eventWorkflow(dispatch, one, bound);
    await asIfCreated(dispatch, workflow);
    yield { binding, outcome: "submit", workflow };
  }
  const callbacks = bound.callbacks();
  for (const callback of callbacks) yield { binding, outcome: callback.action, callback };
  if (one.spec.submit === undefined && callbacks.length === 0) yield idleOutcome(binding);
}

/** Refuses what the creation would refuse, such as a label that is none or a name that is taken. */
async function asIfCreated({ deps, caller, event }: EventDispatch, workflow: Workflow) {
  const { namespace } = event;
  await prefixed(
    "failed to create workflow",
    () => storeWorkflow(deps, caller, { namespace, workflow, serverDryRun: true }),
  );
}
