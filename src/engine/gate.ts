/**
 * Parallelism and fail-fast: whether a new node may be created now, and who is looked at again when a place is free.
 * A closed gate is no error: nothing is created, and whoever asked waits.
 */
import { boundaryCount, setMember, wake } from "./runtime.ts";
import { executedSpec, type NodeRecord, type Turn } from "./state.ts";
import { frameOf } from "./call.ts";

/** May the boundary get a new child? Otherwise `waiter` is looked at again when it may. */
export function isGateOpen(turn: Turn, boundary: NodeRecord | undefined, waiter: string): boolean {
  const { runtime } = turn.state;
  if (!isPlaceFree(turn, waiter)) return false;
  if (boundary === undefined) return true;
  const { template } = frameOf(turn, boundary);
  const count = boundaryCount(runtime, boundary.id);
  if (template.failFast === true && count.unsuccessful > 0) return false;
  if (template.parallelism !== undefined && count.activeChildren >= template.parallelism) {
    setMember(runtime.gatedIn, boundary.id, waiter, true);
    return false;
  }
  return true;
}

/** Does the workflow's parallelism allow one more pod? Otherwise `waiter` is looked at again when it does. */
export function isPlaceFree(turn: Turn, waiter: string): boolean {
  if (!isWorkflowFull(turn)) return true;
  turn.state.runtime.gated.add(waiter);
  return false;
}

/** May a retry node start its next attempt? */
export function isAttemptGateOpen(
  turn: Turn,
  boundary: NodeRecord | undefined,
  wrapper: string,
): boolean {
  const { runtime } = turn.state;
  if (isWorkflowFull(turn)) {
    runtime.gated.add(wrapper);
    return false;
  }
  if (boundary === undefined) return true;
  const { template } = frameOf(turn, boundary);
  const count = boundaryCount(runtime, boundary.id);
  if (template.failFast === true && count.unsuccessful > 0) return false;
  if (template.parallelism !== undefined && count.activePods >= template.parallelism) {
    setMember(runtime.gatedIn, boundary.id, wrapper, true);
    return false;
  }
  return true;
}

function isWorkflowFull(turn: Turn): boolean {
  const { parallelism } = executedSpec(turn.state);
  return parallelism !== undefined && turn.state.runtime.activePods >= parallelism;
}

/** Wakes one waiter for whom there is a place now, and adds it to those already tried. False when there is none. */
export function wakeGated(turn: Turn, tried: Set<string>): boolean {
  const { runtime, nodes } = turn.state;
  if (runtime.gated.size > 0 && !isWorkflowFull(turn)) {
    const first = firstInTree(turn, runtime.gated, tried);
    if (first !== undefined) {
      tried.add(first);
      runtime.gated.delete(first);
      wake(runtime, first);
      return true;
    }
  }
  for (const [id, waiters] of runtime.gatedIn) {
    const boundary = nodes.get(id);
    if (boundary === undefined) {
      runtime.gatedIn.delete(id);
      continue;
    }
    const limit = frameOf(turn, boundary).template.parallelism ?? Infinity;
    const count = boundaryCount(runtime, id);
    if (Math.min(count.activeChildren, count.activePods) >= limit) continue;
    // A further attempt is no new child: for it only active pods count.
    const isAttemptOnly = count.activeChildren >= limit;
    const first = firstInTree(turn, waiters, tried, isAttemptOnly ? "Retry" : undefined);
    if (first === undefined) continue;
    tried.add(first);
    setMember(runtime.gatedIn, id, first, false);
    wake(runtime, first);
    return true;
  }
  return false;
}

/** The waiter (of a type, if one is given) that comes first in the order of the tree, but for those already tried. */
function firstInTree(
  turn: Turn,
  waiters: Set<string>,
  tried: ReadonlySet<string>,
  type?: NodeRecord["type"],
): string | undefined {
  let best: { id: string; path: number[] } | undefined;
  for (const id of waiters) {
    const node = turn.state.nodes.get(id);
    if (node === undefined) {
      waiters.delete(id);
      continue;
    }
    if (tried.has(id) || (type !== undefined && node.type !== type)) continue;
    const path = pathOf(turn, node);
    if (best === undefined || isBefore(path, best.path)) best = { id, path };
  }
  return best?.id;
}

function pathOf(turn: Turn, node: NodeRecord): number[] {
  const path: number[] = [];
  for (
    let at: NodeRecord | undefined = node;
    at !== undefined;
    at = at.owner === undefined ? undefined : turn.state.nodes.get(at.owner)
  ) path.unshift(at.order);
  return path;
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  for (const [at, order] of a.entries()) {
    const other = b[at];
    if (other === undefined) return false;
    if (order !== other) return order < other;
  }
  return a.length < b.length;
}
