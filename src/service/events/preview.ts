/** What an event would lead to. Nothing is queued and nothing is done. */
import type { Caller } from "../../auth/port.ts";
import type { CallbackRequest } from "../../events/match.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES, WORKFLOW } from "../kinds.ts";
import {
  bindEvent,
  type EventDispatch,
  eventWorkflow,
  failedOutcome,
  prefixed,
  UNREADABLE_BINDING,
} from "./binding_runs.ts";
import { BindingSource, type EventBinding } from "./binding_source.ts";
import type { EventRequest } from "./intake.ts";

/** What a binding would do with an event. */
export interface BindingPreview {
  binding: string;
  outcome: "not-matched" | "submit" | "resume" | "stop" | "error";
  /** The workflow that would be made. */
  workflow?: Workflow;
  /** The steps that would be called back. */
  callback?: CallbackRequest;
  message?: string;
}

/** Says what each binding would do with an event. */
export async function testEvent(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, discriminator, payload, metadata }: EventRequest,
): Promise<BindingPreview[]> {
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  await requireAccess(caller, { verb: "list", resource, namespace });
  const bindings = await new BindingSource(deps.store.manifests, deps.log).of({ namespace });
  const receivedAt = deps.clock.now();
  const id = deps.ids.uuid();
  const dispatch: EventDispatch = {
    deps,
    event: { id, namespace, discriminator, text: "", receivedAt, attempts: 0 },
    envelope: { payload, metadata, sender: caller.identity },
    caller,
    isRepeat: false,
  };
  const previews: BindingPreview[] = [];
  for (const binding of bindings) {
    try {
      for await (const preview of previewsOf(dispatch, binding)) previews.push(preview);
    } catch (error) {
      const name = binding.metadata.name ?? "";
      const { message = "" } = failedOutcome(dispatch, name, error);
      previews.push({ binding: name, outcome: "error", message });
    }
  }
  return previews;
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
      () => requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace }),
    );
    const workflow = await eventWorkflow(dispatch, one, bound);
    yield { binding, outcome: "submit", workflow };
  }
  for (const callback of bound.callbacks()) {
    yield { binding, outcome: callback.action, callback };
  }
}
