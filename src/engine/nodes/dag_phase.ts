/**
 * The phase of each task for the verdict on its DAG. A task that ran counts with its own phase. One that was skipped or
 * omitted, and a daemon that runs, inherit the phase of what came before them; failures win, and of several the one that is
 * nearest to the beginning.
 */
import type { NodePhase } from "../../spec/manifest.ts";
import { getOwner } from "../tree.ts";
import { dependenciesOf } from "../scope/dag_plan.ts";
import { outboundOf } from "./graph.ts";
import { boundaryOf, type DagMemory, type DagPlan, type Frame } from "../live.ts";
import { isCompleted, isFulfilled, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** A function that gives the phase of a task by name; undefined while the task has no node or has not ended. */
export function branchPhases(
  turn: Turn,
  frame: Frame,
  { plan, nodes }: DagMemory,
): (task: string) => NodePhase | undefined {
  const known = new Map<string, NodePhase | undefined>();
  let nearest: ((tasks: readonly string[]) => string | undefined) | undefined;
  const nodeOf = (task: string) => nodes[plan.numbers.get(task) ?? -1];
  const phaseOf = (task: string): NodePhase | undefined => {
    if (known.has(task)) return known.get(task);
    known.set(task, undefined);
    const phase = judge(task);
    known.set(task, phase);
    return phase;
  };
  const judge = (task: string): NodePhase | undefined => {
    const node = nodeOf(task);
    if (!isHeir(node)) return ownPhase(node);
    const failed = new Map<string, NodePhase>();
    for (const name of dependenciesOf(frame, task)) {
      const inherited = inheritedFrom(name);
      if (isFailure(inherited)) failed.set(name, inherited);
    }
    const [first = "Succeeded", ...others] = failed.values();
    if (others.every((phase) => phase === first)) return first;
    nearest ??= nearestOf(plan);
    return failed.get(nearest([...failed.keys()]) ?? "") ?? first;
  };
  const inheritedFrom = (task: string): NodePhase => {
    const node = nodeOf(task);
    const last = node === undefined ? [] : outboundOf(turn.state, node);
    // A template that failFast or an error has ended has no last nodes, but a phase.
    if (last.length === 0) return phaseOf(task) ?? "Succeeded";
    for (const id of last) {
      const outbound = turn.state.nodes.get(id);
      if (outbound === undefined) continue;
      const own = endOf(turn, outbound, node) ?? phaseOf(task);
      if (isFailure(own)) return own;
    }
    return "Succeeded";
  };
  return (target) => {
    const node = nodeOf(target);
    if (!isHeir(node)) return ownPhase(node);
    // What a task inherits from comes first: chains can be long, and are not to be a deep recursion.
    const stack = [target];
    for (let task = stack.at(-1); task !== undefined; task = stack.at(-1)) {
      const open = known.has(task) || !isHeir(nodeOf(task))
        ? []
        : dependenciesOf(frame, task).filter((name) => !known.has(name));
      if (open.length > 0) stack.push(...open);
      else phaseOf(stack.pop() ?? task);
    }
    return phaseOf(target);
  };
}

/** The phase in which a last node of a task ended. What was left out at the end of an inner template ends as that template did. */
function endOf(
  turn: Turn,
  last: NodeRecord,
  task: NodeRecord | undefined,
): NodePhase | undefined {
  const { phase } = decisive(turn, last);
  const inner = last.id === task?.id ? undefined : boundaryOf(turn.state.nodes, last)?.phase;
  return [phase, inner].find(isCompleted);
}

/** Tells whether a task is done without an end of its own, so that its phase is that of what came before it. */
function isHeir(node: NodeRecord | undefined): boolean {
  return node !== undefined && isFulfilled(node) && !isCompleted(node.phase);
}

/** The phase in which a task has ended. */
function ownPhase(node: NodeRecord | undefined): NodePhase | undefined {
  return node !== undefined && isCompleted(node.phase) ? node.phase : undefined;
}

function isFailure(phase: NodePhase | undefined): phase is "Failed" | "Error" {
  return phase === "Failed" || phase === "Error";
}

/** A function that tells which of some tasks a breadth-first walk through the DAG meets first. */
function nearestOf(
  { names, numbers, dependencies, dependents, rank }: DagPlan,
): (tasks: readonly string[]) => string | undefined {
  const byRank = (a: number, b: number) => (rank[a] ?? 0) - (rank[b] ?? 0);
  // A set keeps the order of the walk, and what is added during a loop is met too.
  const roots = [...names.keys()].filter((task) => (dependencies[task] ?? []).length === 0);
  const met = new Set(roots.sort(byRank));
  for (const task of met) {
    for (const next of [...dependents[task] ?? []].sort(byRank)) met.add(next);
  }
  const places = new Map([...met].map((task, place) => [task, place]));
  const placeOf = (task: string) => places.get(numbers.get(task) ?? -1) ?? Infinity;
  return (tasks) => [...tasks].sort((a, b) => placeOf(a) - placeOf(b))[0];
}

/**
 * The node whose phase counts: behind an attempt, or a hook that is the last child of a retry node, the retry node itself. A hook
 * may have attempts of its own.
 */
function decisive(turn: Turn, outbound: NodeRecord): NodeRecord {
  const node = outbound.role === "attempt" ? getOwner(turn, outbound) : outbound;
  if (node.role !== "hook") return node;
  const owner = getOwner(turn, node);
  return owner.type === "Retry" ? owner : node;
}
