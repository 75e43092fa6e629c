/** What a retry would do, for whoever wants to know before. */
import type { Caller } from "../../auth/port.ts";
import type { ControlRequest } from "../../engine/command.ts";
import { stateAfter } from "../../engine/life/life.ts";
import { prepareRetry } from "../../engine/orders/manual_retry.ts";
import type { NodeRecord } from "../../engine/records.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { Turns } from "../../platform/turns.ts";
import type { JsonObject } from "../../base/json.ts";
import type { NodeType } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { engineEnv } from "../engine_env.ts";
import { requireTemplates } from "../manifests/template_access.ts";
import { stateForCaller, type WorkflowRef } from "./reads.ts";

type RetryRequest = Extract<ControlRequest, { type: "retry" }>;

/** More nodes are counted, but not named. */
const MOST_NAMED = 500;
/** They only hold others, and begin again with them. */
const GROUPS: ReadonlySet<NodeType> = new Set<NodeType>([
  "Steps",
  "StepGroup",
  "DAG",
  "TaskGroup",
  "Retry",
]);

/**
 * The steps that a retry would run again: nodes that do something, in the order in which they were made; attempts of a retry
 * strategy as the one step that they are. By the same rules as the retry itself. Changes nothing.
 *
 * @throws {Problem} what the retry would be refused with
 */
export async function planRetry(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: RetryRequest,
): Promise<JsonObject> {
  const { workflow, state } = await stateForCaller(deps, caller, ref);
  await requireTemplates(deps, caller, workflow.spec, ref.namespace);
  stateAfter(state, request, engineEnv(deps));
  const { plan } = await new Turns().run(prepareRetry(state, request));
  const again = stepsAgain(state, plan.remove);
  return {
    count: again.length,
    nodes: again.slice(0, MOST_NAMED).map(({ id, displayName, name: path, type, phase }) => ({
      id,
      displayName: displayName || path,
      type,
      phase,
    })),
  };
}

function stepsAgain({ nodes }: WorkflowState, removed: ReadonlySet<string>): NodeRecord[] {
  const retries = new Map(
    [...nodes.values()].filter(({ type }) => type === "Retry").map((node) => [node.name, node]),
  );
  const again = new Set<NodeRecord>();
  for (const id of removed) {
    const node = nodes.get(id);
    if (node === undefined) continue;
    const isAttempt = node.nodeFlag?.retried === true;
    const step = isAttempt ? retries.get(node.name.replace(/\(\d+\)$/, "")) ?? node : node;
    if (isAttempt || !GROUPS.has(step.type)) again.add(step);
  }
  return [...again].sort((a, b) => a.order - b.order);
}
