/** Makes callback URLs for users. */
import type { Caller } from "../../auth/port.ts";
import type { JsonObject } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { callbackSteps, secondsOf } from "../../engine/orders/callback_targets.ts";
import { Turns } from "../../platform/turns.ts";
import type { ServiceDeps } from "../deps.ts";
import { engineEnv } from "../engine_env.ts";
import { stateForCaller, type WorkflowRef } from "../workflows/reads.ts";

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
  const { workflow, state } = await stateForCaller(deps, caller, ref);
  const { callbacks } = deps;
  if (callbacks === undefined) {
    throw new Problem(ProblemCode.Unimplemented, "this server makes no callback URLs");
  }
  const { name = "", uid = "" } = workflow.metadata;
  const found = callbackSteps(state, nodeFieldSelector, engineEnv(deps));
  const steps = await new Turns().run(found);
  const items: JsonObject[] = [];
  for (const step of steps) {
    const seconds = secondsOf(step, expires === "" ? undefined : expires);
    const target = { namespace: ref.namespace, workflow: name, uid, node: step.name, seconds };
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
