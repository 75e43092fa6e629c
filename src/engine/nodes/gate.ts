/**
 * Parallelism and fail-fast: whether a new node may be created now, and which node is looked at again when a place is free.
 * A closed gate is no error: nothing is created, and the node that asked waits.
 */
import { setId } from "../member_sets.ts";
import { memoryOf, ownerOf } from "../live.ts";
import { wake } from "../runtime.ts";
import { executedSpec } from "../state.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { frameOf } from "../scope/call.ts";

/**
 * Tells whether a boundary may get one more child. If not, `waiter` is looked at again when it may.
 * @param counted what the parallelism of the boundary bounds: for a further attempt, which is no new child, active pods only
 */
export function isGateOpen(
  turn: Turn,
  boundary: NodeRecord | undefined,
  waiter: string,
  counted: "activeChildren" | "activePods" = "activeChildren",
): boolean {
  const { runtime } = turn.state;
  if (!isPlaceFree(turn, waiter)) return false;
  if (boundary === undefined) return true;
  if (isShut(turn, boundary)) {
    // This may have been the last thing that it waited for.
    if (!isAnyAtWork(turn, boundary)) wake(runtime, boundary);
    return false;
  }
  const { parallelism } = frameOf(turn, boundary).template;
  if (parallelism !== undefined && memoryOf(boundary)[counted] >= parallelism) {
    setId(runtime.gatedIn ??= new Map(), boundary.id, waiter, true);
    return false;
  }
  return true;
}

export const FAIL_FAST_TEXT = "template has failed or errored children and failFast enabled";

/** Tells whether nothing more will begin inside a boundary, because something has failed there. */
export function isShut(turn: Turn, boundary: NodeRecord | undefined): boolean {
  return boundary !== undefined && frameOf(turn, boundary).template.failFast === true &&
    memoryOf(boundary).unsuccessful > 0;
}

/** Tells whether pods, Steps or DAG nodes inside a boundary are pending or running; a daemon that runs ends only with it. */
export function isAnyAtWork({ state }: Turn, boundary: NodeRecord): boolean {
  const { activeChildren } = memoryOf(boundary);
  if (activeChildren === 0) return false;
  let daemons = 0;
  for (const id of state.runtime.daemons?.get(boundary.id) ?? []) {
    if (state.nodes.get(id)?.type === "Pod") daemons++;
  }
  return activeChildren > daemons;
}

/** Tells whether the workflow's parallelism allows one more pod. If not, `waiter` is looked at again when it does. */
export function isPlaceFree(turn: Turn, waiter: string): boolean {
  if (!isWorkflowFull(turn)) return true;
  (turn.state.runtime.gated ??= new Set()).add(waiter);
  return false;
}

function isWorkflowFull(turn: Turn): boolean {
  const { parallelism } = executedSpec(turn.state);
  return parallelism !== undefined && turn.state.runtime.activePods >= parallelism;
}

/** Wakes a waiter that now has a place, and adds it to those that were tried. False when there is none. */
export function wakeGated(turn: Turn): boolean {
  const { runtime, nodes } = turn.state;
  const { gated, gatedIn } = runtime;
  if (gated === undefined && gatedIn === undefined) return false;
  const tried = runtime.tried ??= new Set();
  if (gated !== undefined && gated.size > 0 && !isWorkflowFull(turn)) {
    const first = firstInTree(turn, gated, tried);
    if (first !== undefined) {
      tried.add(first.id);
      gated.delete(first.id);
      wake(runtime, first);
      return true;
    }
  }
  for (const [id, waiters] of gatedIn ?? []) {
    const boundary = nodes.get(id);
    if (boundary === undefined) {
      gatedIn?.delete(id);
      continue;
    }
    const limit = frameOf(turn, boundary).template.parallelism ?? Infinity;
    const count = memoryOf(boundary);
    if (Math.min(count.activeChildren, count.activePods) >= limit) continue;
    // A further attempt is no new child, so only active pods count for it.
    const isAttemptOnly = count.activeChildren >= limit;
    const first = firstInTree(turn, waiters, tried, isAttemptOnly ? "Retry" : undefined);
    if (first === undefined) continue;
    tried.add(first.id);
    waiters.delete(first.id);
    if (waiters.size === 0) gatedIn?.delete(id);
    wake(runtime, first);
    return true;
  }
  return false;
}

/** The first waiter in the order of the tree that was not tried yet. @param type of the waiter, if it matters */
function firstInTree(
  turn: Turn,
  waiters: Set<string>,
  tried: ReadonlySet<string>,
  type?: NodeRecord["type"],
): NodeRecord | undefined {
  let best: { node: NodeRecord; path: number[] } | undefined;
  for (const id of waiters) {
    const node = turn.state.nodes.get(id);
    if (node === undefined) {
      waiters.delete(id);
      continue;
    }
    if (tried.has(id) || (type !== undefined && node.type !== type)) continue;
    const path = pathOf(turn, node);
    if (best === undefined || isBefore(path, best.path)) best = { node, path };
  }
  return best?.node;
}

function pathOf(turn: Turn, node: NodeRecord): number[] {
  const path: number[] = [];
  for (
    let at: NodeRecord | undefined = node;
    at !== undefined;
    at = ownerOf(turn.state.nodes, at)
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
