/**
 * The phase each task stands for when a DAG is judged: its own when it ran; a task that was skipped or omitted inherits
 * what came before it, failures first.
 */
import type { NodePhase } from "../spec/manifest.ts";
import { nodeByName } from "./call.ts";
import { dependenciesOf } from "./dag_calls.ts";
import { outboundOf } from "./graph.ts";
import type { Frame } from "./runtime.ts";
import { isCompleted, isFulfilled, type NodeRecord, type Turn } from "./state.ts";

/** Gives the phase of a task by name; undefined while the task has no node or has not ended. */
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
    for (const id of node === undefined ? [] : outboundOf(turn.state, node)) {
      const outbound = turn.state.nodes.get(id);
      if (outbound === undefined) continue;
      const own = isCompleted(outbound.phase) ? outbound.phase : phaseOf(task);
      if (own === "Failed" || own === "Error") phase = own;
    }
    return phase;
  };
  return phaseOf;
}
