/**
 * Parallelism and fail-fast: whether a new node may be created now, and which node is looked at again when a place is free.
 * A closed gate is no error: nothing is created, and the node that asked waits.
 */
import { setId } from "../member_sets.ts";
import { memoryOf, ownerOf } from "../live.ts";
import { wake, wakeBoundary } from "../runtime.ts";
import { refusal } from "../shutdown/refuse_start.ts";
import { stopReason } from "../shutdown/stop_reason.ts";
import { executedSpec, workflowName } from "../state.ts";
import { hasEnded, isUntouched, type NodeRecord } from "../records.ts";
import { latestAttempt } from "../scope/attempts.ts";
import type { Turn } from "../turn.ts";
import { frameOf } from "../scope/call.ts";

/** What asks for a place. */
export interface Asker {
  /** Id of the node to look at again when there is a place. */
  waiter: string;
  /** Bounded by the parallelism of the boundary: for a further attempt, which is no new child, active pods only. */
  counted?: "activeChildren" | "activePods";
  /** Part of an exit handler. */
  isExit?: boolean | undefined;
}

/** Tells whether a boundary may get one more child. If not, the waiter is looked at again when it may. */
export function isGateOpen(
  turn: Turn,
  boundary: NodeRecord | undefined,
  asker: Asker,
): boolean {
  const { runtime } = turn.state;
  const { waiter, counted = "activeChildren" } = asker;
  if (!isPlaceFree(turn, asker)) return false;
  if (boundary === undefined) return true;
  if (isShut(turn, boundary)) {
    wakeIdle(turn, boundary);
    return false;
  }
  const limit = limitOf(turn, boundary);
  if (limit === Infinity) return true;
  const isFull = memoryOf(boundary)[counted] >= limit && !isRefused(turn, asker);
  if (isFull || !isServed(turn, waiter)) {
    setId(runtime.gatedIn ??= new Map(), boundary.id, waiter, true);
    return false;
  }
  return true;
}

/** How many children of a boundary may be active. As in the reference, 0 sets no limit to a template, but lets no workflow begin. */
function limitOf(turn: Turn, boundary: NodeRecord): number {
  const { parallelism = 0 } = frameOf(turn, boundary).template;
  return parallelism > 0 ? parallelism : Infinity;
}

export const FAIL_FAST_TEXT = "template has failed or errored children and failFast enabled";

/** Tells whether nothing more will begin inside a boundary, because something has failed there. */
export function isShut(turn: Turn, boundary: NodeRecord | undefined): boolean {
  return boundary !== undefined && memoryOf(boundary).unsuccessful > 0 &&
    frameOf(turn, boundary).template.failFast === true;
}

/** Looks again at a boundary inside which nothing more begins and nothing is at work: it waits for nothing more. */
export function wakeIdle(turn: Turn, boundary: NodeRecord): void {
  if (isShut(turn, boundary) && !isAnyAtWork(turn, boundary)) {
    wakeBoundary(turn.state.runtime, boundary);
  }
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

/** Tells whether the workflow's parallelism allows one more pod. If not, the waiter is looked at again when it does. */
export function isPlaceFree(turn: Turn, asker: Asker): boolean {
  if (executedSpec(turn.state).parallelism === undefined) return true;
  const { waiter } = asker;
  const isFull = isWorkflowFull(turn) && !isRefused(turn, asker);
  if (!isFull && isServed(turn, waiter)) return true;
  (turn.state.runtime.gated ??= new Set()).add(waiter);
  return false;
}

/** What will end without a start needs no place: nothing may keep a stopped workflow from its end. */
function isRefused(turn: Turn, { isExit = false }: Asker): boolean {
  return refusal(turn, isExit) !== undefined;
}

/**
 * Tells whether a waiter may take a free place. What has happened in the meantime wakes nodes in any order, so first all of them
 * ask, and then they are served in the order of the tree. A waiter without a node is the first node of the workflow.
 */
function isServed({ state }: Turn, waiter: string): boolean {
  const { runtime: { serving }, nodes } = state;
  // The hooks of the workflow, for which its first node asks, are looked at in any case.
  return waiter === workflowName(state) ? !nodes.has(waiter) || serving === waiter : serving !== "";
}

function isWorkflowFull(turn: Turn): boolean {
  const { parallelism } = executedSpec(turn.state);
  return parallelism !== undefined && turn.state.runtime.activePods >= parallelism;
}

/**
 * Tells whether a node waits although there is a place: it will be served in this turn, unless others take all places. It is
 * then looked at again.
 * @param boundary the node in which it wants a place
 */
export function isNext(turn: Turn, node: NodeRecord, boundary: NodeRecord): boolean {
  const { runtime } = turn.state;
  if (runtime.serving === node.id || isWorkflowFull(turn)) return false;
  const isWaiting = runtime.gated?.has(node.id) === true ||
    (runtime.gatedIn?.get(boundary.id)?.has(node.id) === true &&
      memoryOf(boundary).activeChildren < limitOf(turn, boundary));
  if (isWaiting) (runtime.hopeful ??= new Set()).add(node.id);
  return isWaiting;
}

/** Serves whoever waits for a place, one after the other. False when there is nobody left to look at. */
export function serveGated(turn: Turn): boolean {
  return serveFirst(turn) || lookAtHopeful(turn);
}

/** Looks again at the nodes that hoped for a place, once after each change: others may have taken all places. */
function lookAtHopeful({ state: { runtime, nodes } }: Turn): boolean {
  const { hopeful } = runtime;
  if (hopeful === undefined || runtime.hopefulAt === runtime.revision) return false;
  runtime.hopeful = undefined;
  runtime.hopefulAt = runtime.revision;
  for (const id of hopeful) {
    const node = nodes.get(id);
    if (node !== undefined) wake(runtime, node);
  }
  return true;
}

/** Serves the first waiter in the order of the tree that now has a place, unless it was tried. False when there is none. */
function serveFirst(turn: Turn): boolean {
  const { runtime } = turn.state;
  if (runtime.gated === undefined && runtime.gatedIn === undefined) return false;
  const areAllServed = stopReason(turn) !== undefined;
  if (isWorkflowFull(turn) && !areAllServed) return false;
  const first = firstGated(turn, runtime.tried ??= new Set(), areAllServed);
  if (first === undefined) return false;
  const { id } = first;
  runtime.tried.add(id);
  runtime.gated?.delete(id);
  for (const [boundary, waiters] of runtime.gatedIn ?? []) {
    if (waiters.delete(id) && waiters.size === 0) runtime.gatedIn?.delete(boundary);
  }
  runtime.serving = id;
  wake(runtime, first);
  return true;
}

/** @param areAllServed the workflow has been stopped, so places do not matter any more */
function firstGated(
  turn: Turn,
  tried: ReadonlySet<string>,
  areAllServed: boolean,
): NodeRecord | undefined {
  const { runtime: { gated, gatedIn }, nodes } = turn.state;
  let best: Candidate | undefined;
  if (gated !== undefined) best = firstInTree(turn, gated, tried, best);
  for (const [id, waiters] of gatedIn ?? []) {
    const boundary = nodes.get(id);
    if (boundary === undefined) {
      gatedIn?.delete(id);
      continue;
    }
    const limit = limitOf(turn, boundary);
    const count = memoryOf(boundary);
    if (Math.min(count.activeChildren, count.activePods) >= limit && !areAllServed) continue;
    // A further attempt is no new child, so only active pods count for it.
    const type = count.activeChildren >= limit && !areAllServed ? "Retry" : undefined;
    best = firstInTree(turn, waiters, tried, best, type);
  }
  return best?.node;
}

interface Candidate {
  node: NodeRecord;
  path: number[];
}

/** The first of the waiters that were not tried yet, or one that comes before. @param type of the waiter, if it matters */
function firstInTree(
  turn: Turn,
  waiters: Set<string>,
  tried: ReadonlySet<string>,
  before: Candidate | undefined,
  type?: NodeRecord["type"],
): Candidate | undefined {
  let best = before;
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
  return best;
}

/**
 * Where in the tree the node begins what it waits for: its way from the root, with the order of the tasks in each DAG; then, for
 * a group, what comes after all that it has begun.
 */
function pathOf(turn: Turn, node: NodeRecord): number[] {
  const owner = ownerOf(turn.state.nodes, node);
  if (node.type === "StepGroup" || node.type === "TaskGroup") {
    return [...wayTo(turn, node), Infinity];
  }
  if (!hasEnded(node)) {
    const isWaitingForLocks = node.synchronizationStatus?.waiting !== undefined;
    if (isWaitingForLocks || awaitsAttempt(node)) return wayTo(turn, node);
    const { dag, brokenHook } = memoryOf(node);
    const beginsNothing = isShut(turn, node) || (brokenHook ?? dag?.fault) !== undefined;
    const next = beginsNothing ? undefined : dag?.ready[dag.firstReady];
    if (next !== undefined) return [...wayTo(turn, node), dag?.plan.rank[next] ?? Infinity];
  }
  // It begins hooks. Those of steps come after all steps of their group.
  return owner?.type === "StepGroup"
    ? [...wayTo(turn, owner), Infinity, node.order]
    : [...wayTo(turn, node), Infinity];
}

/** Tells whether a node is a retry node that wants to begin an attempt. While one goes on, it can only want to begin hooks. */
function awaitsAttempt(node: NodeRecord): boolean {
  if (node.type !== "Retry") return false;
  const last = latestAttempt(node);
  return last === undefined || hasEnded(last) || isUntouched(last);
}

function wayTo(turn: Turn, node: NodeRecord): number[] {
  const way: number[] = [];
  for (let at: NodeRecord | undefined = node; at !== undefined;) {
    const owner: NodeRecord | undefined = ownerOf(turn.state.nodes, at);
    way.push(placeIn(owner, at));
    at = owner;
  }
  return way.reverse();
}

/** The place of a node among those that its owner begins. */
function placeIn(owner: NodeRecord | undefined, node: NodeRecord): number {
  if (owner?.type !== "DAG" || node.role === "hook") return node.order;
  const plan = memoryOf(owner).dag?.plan;
  return plan?.rank[plan.numbers.get(node.step ?? "") ?? -1] ?? node.order;
}

function isBefore(a: readonly number[], b: readonly number[]): boolean {
  for (const [at, order] of a.entries()) {
    const other = b[at];
    if (other === undefined) return false;
    if (order !== other) return order < other;
  }
  return a.length < b.length;
}
