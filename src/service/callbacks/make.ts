/** Makes callback URLs for users. */
import type { Caller } from "../../auth/port.ts";
import type { JsonObject } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { loadSteps } from "../../engine/codec.ts";
import { callbackSteps, secondsOf } from "../../engine/orders/callback_targets.ts";
import { Turns } from "../../platform/turns.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { objectNotFound } from "../object_names.ts";
import { resolveName, type WorkflowRef } from "../workflows/reads.ts";
import { readStoredWorkflow, requireReadable } from "../workflows/stored_workflow.ts";

/** For which steps, and how long they are good. */
export interface CallbackRequest {
  nodeFieldSelector?: string;
  /** @default what the step's template says, or 24h */
  expires?: string;
}

/**
 * URLs for the steps that a selector chooses, for callers who may resume the workflow.
 * @throws {Problem} NotFound, InvalidArgument, PermissionDenied, Unavailable
 */
export async function makeCallbacks(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  { nodeFieldSelector = "", expires }: CallbackRequest,
): Promise<JsonObject> {
  const { callbacks, clock, ids, settings, workflows } = deps;
  const { namespace } = ref;
  const name = await resolveName(deps, caller, namespace, ref.name);
  for (const verb of ["get", "update"] as const) {
    await requireAccess(caller, { verb, resource: WORKFLOW.resource, namespace, name });
  }
  const stored = await workflows.find(namespace, name);
  if (stored === undefined) throw objectNotFound(deps, WORKFLOW, name);
  if (callbacks === undefined) {
    throw new Problem(ProblemCode.Unimplemented, "this server makes no callback URLs");
  }
  const turns = new Turns();
  requireReadable(await readStoredWorkflow(stored, deps, turns));
  const state = await turns.run(loadSteps(stored.parts));
  const uid = state.header.metadata.uid ?? "";
  const steps = await turns.run(callbackSteps(state, nodeFieldSelector, {
    now: clock.now(),
    randomSuffix: (length) => ids.suffix(length),
    findManifest: () => undefined,
    ...settings.naming,
  }));
  const items: JsonObject[] = [];
  for (const step of steps) {
    const seconds = secondsOf(step, expires === "" ? undefined : expires);
    const target = { namespace, workflow: name, uid, node: step.name, seconds };
    const { expiresAt, ...urls } = await callbacks.make(target);
    items.push({
      name: step.name,
      displayName: step.displayName,
      ...urls,
      expiresAt: new Date(expiresAt * 1_000).toISOString(),
    });
  }
  return { items };
}
