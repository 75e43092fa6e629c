/**
 * The phase of each task for the verdict on its DAG. A task that ran counts with its own phase. One that was skipped or
 * omitted inherits the phase of what came before it; failures win.
 */
import type { NodePhase } from "../../spec/manifest.ts";
import { getOwner, nodeByName } from "../tree.ts";
import { dependenciesOf } from "../scope/dag_plan.ts";
import { outboundOf } from "./graph.ts";
import type { Frame } from "../live.ts";
import { isCompleted, isFulfilled, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** A function that gives the phase of a task by name; undefined while the task has no node or has not ended. */
export function branchPhases(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
): (task: string) => NodePhase | undefined {
  const known = new Map<string, NodePhase | undefined>();
  const phaseOf = (task: string): NodePhase | undefined => {
    if (known.has(task)) return known.get(task);
    known.set(task, undefined);
    const phase = judge(task);
    known.set(task, phase);
    return phase;
  };
  const judge = (task: string): NodePhase | undefined => {
    const node = nodeByName(turn, `${boundary.name}.${task}`);
    if (node === undefined || !isFulfilled(node)) return undefined;
    if (isCompleted(node.phase)) return node.phase;
    if (node.phase === "Running") return "Succeeded";
    let phase: NodePhase = "Succeeded";
    for (const name of dependenciesOf(frame, task)) {
      const inherited = inheritedFrom(name);
      if (inherited === "Failed" || inherited === "Error") phase = inherited;
    }
    return phase;
  };
  const inheritedFrom = (task: string): NodePhase => {
    const node = nodeByName(turn, `${boundary.name}.${task}`);
    let phase: NodePhase = "Succeeded";
    const last = node === undefined ? [] : outboundOf(turn.state, node);
    // A template that failFast or an error has ended has no last nodes, but a phase.
    if (last.length === 0) return phaseOf(task) ?? phase;
    for (const id of last) {
      const outbound = turn.state.nodes.get(id);
      if (outbound === undefined) continue;
      const { phase: ended } = decisive(turn, outbound);
      const own = isCompleted(ended) ? ended : phaseOf(task);
      if (own === "Failed" || own === "Error") phase = own;
    }
    return phase;
  };
  return phaseOf;
}

/** The node whose phase counts: behind an attempt, or a hook that is the last child of a retry node, the retry node itself. */
function decisive(turn: Turn, outbound: NodeRecord): NodeRecord {
  if (outbound.role === "attempt") return getOwner(turn, outbound);
  if (outbound.role !== "hook") return outbound;
  const owner = getOwner(turn, outbound);
  return owner.type === "Retry" ? owner : outbound;
}
