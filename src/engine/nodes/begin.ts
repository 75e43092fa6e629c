/** Begins the work of a node that exists. From then on the node runs, or waits. */
import type { NodeType } from "../../spec/manifest.ts";
import { change, end, type NodePatch } from "../change.ts";
import { isExecutable, type NodeRecord } from "../records.ts";
import { keepFrame, type Work } from "../scope/call.ts";
import { planOf } from "../scope/template_plan.ts";
import type { Turn } from "../turn.ts";
import { takeEarly } from "./callback.ts";
import { publishGlobals } from "./global_outputs.ts";
import type { MemoLookup } from "./memo.ts";
import { startSuspend } from "./suspend.ts";
import { startTask } from "./task.ts";

/** Begins the work of a node, or ends the node with the outputs that were memoized. @throws {NodeFailure} */
export function begin(
  turn: Turn,
  node: NodeRecord,
  work: Work,
  memo: MemoLookup | undefined,
): void {
  if (memo?.outputs !== undefined) return endWithMemo(turn, node, work, memo.status, memo.outputs);
  // A node of an imported status may have an unknown type.
  const start = Object.hasOwn(STARTS, node.type) ? STARTS[node.type] : undefined;
  start?.(turn, node, work, memo === undefined ? {} : { memoizationStatus: memo.status });
}

function endWithMemo(
  turn: Turn,
  node: NodeRecord,
  { written }: Work,
  memoizationStatus: MemoLookup["status"],
  outputs: NonNullable<MemoLookup["outputs"]>,
): void {
  const type = planOf(written).type ?? node.type;
  change(turn, node, {
    memoizationStatus,
    type,
    startedAt: turn.env.now,
    ...(isExecutable(type) ? { progress: "0/1" } : {}),
    ...(Object.keys(outputs).length === 0 ? {} : { outputs }),
  });
  end(turn, node, "Succeeded");
  publishGlobals(turn, node, outputs);
}

type Start = (turn: Turn, node: NodeRecord, work: Work, status: NodePatch) => void;

/** How each type of node starts; the other types run no template. */
const STARTS: Readonly<Partial<Record<NodeType, Start>>> = {
  Steps: startBoundary,
  DAG: startBoundary,
  Retry: startRetry,
  Suspend(turn, node, { template }, status) {
    change(turn, node, { ...status, startedAt: turn.env.now });
    startSuspend(turn, node, template);
    takeEarly(turn, node);
  },
  Pod: startTask,
  HTTP: startTask,
  Plugin: startTask,
};

/** One of a copied tree keeps its phase until it ends. */
function startBoundary(turn: Turn, node: NodeRecord, work: Work, status: NodePatch): void {
  keepFrame(node, work);
  const begun: NodePatch = node.isImported === true ? { hasBegun: true } : { phase: "Running" };
  change(turn, node, { ...status, ...begun, startedAt: turn.env.now });
  turn.state.runtime.opened.push(node);
}

/** The retry node of a hook has the same flag as its attempts. */
function startRetry(
  turn: Turn,
  node: NodeRecord,
  { call: { flag } }: Work,
  status: NodePatch,
): void {
  change(turn, node, {
    ...status,
    phase: "Running",
    startedAt: turn.env.now,
    ...(flag?.hooked === true ? { nodeFlag: { ...flag, retried: true } } : {}),
  });
  turn.state.runtime.opened.push(node);
}
