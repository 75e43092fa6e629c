/**
 * The only place where node records are made, changed and dropped. Keeps the counters true, tracks what must be stored,
 * and wakes those who wait: a node that ends costs its owner one look.
 */
import type { NodePhase } from "../spec/manifest.ts";
import type { Effect } from "./effect.ts";
import { claimNode, noteWork, textSize } from "./limits.ts";
import { lockHolder } from "./lock_holder.ts";
import { account, attach, parseProgress, releaseCalls, setMember, wake } from "./runtime.ts";
import { hasEnded, isExecutable, isTask, type NodeRecord, type Turn } from "./state.ts";

/** A patch: members set to undefined are removed. */
export type NodePatch = { [K in keyof NodeRecord]?: NodeRecord[K] | undefined };

/**
 * Enters a new node. A node of this id must not exist.
 * @throws {LimitExceeded} when the workflow has as many nodes as it may have
 * @throws {TurnOver} when it is to be made in a later turn
 */
export function addNode(turn: Turn, fields: Omit<NodeRecord, "order">): NodeRecord {
  claimNode(turn, fields.type === "Container");
  noteWork(turn, textSize(fields.inputs));
  const { state } = turn;
  const node: NodeRecord = { ...fields, order: state.header.sequence++ };
  markHeader(turn);
  state.nodes.set(node.id, node);
  state.runtime.revision++;
  attach(state.runtime, node);
  account(state.runtime, node, 1);
  state.pending.nodes.add(node.id);
  state.pending.dropped.delete(node.id);
  wake(state.runtime, node.id);
  if (node.owner !== undefined) wake(state.runtime, node.owner);
  notePhase(turn, node);
  return node;
}

/** Changes a node in place. */
export function change(turn: Turn, node: NodeRecord, patch: NodePatch): void {
  if (patch.inputs !== undefined || patch.outputs !== undefined) {
    noteWork(turn, textSize(patch.inputs) + textSize(patch.outputs));
  }
  const { state } = turn;
  const before = node.phase;
  state.runtime.revision++;
  account(state.runtime, node, -1);
  const members = node as unknown as Record<string, unknown>;
  for (const key in patch) {
    const value = patch[key as keyof NodePatch];
    if (value !== undefined) members[key] = value;
    else if (key in members) delete members[key];
  }
  account(state.runtime, node, 1);
  state.pending.nodes.add(node.id);
  wake(state.runtime, node.id);
  if (node.owner !== undefined) wake(state.runtime, node.owner);
  if (node.phase !== before) {
    notePhase(turn, node);
    wakeWatchers(turn, node);
  }
}

/** Removes a node for good; the runtime is to be built anew afterwards. */
export function dropNode(turn: Turn, node: NodeRecord): void {
  const { state } = turn;
  state.nodes.delete(node.id);
  state.pending.nodes.delete(node.id);
  state.pending.dropped.add(node.id);
}

/** Nothing of a retry is left, or will be done. */
export function dropRetrying(state: Turn["state"]): void {
  if (state.retrying === undefined) return;
  delete state.retrying;
  state.pending.retrying = true;
}

/**
 * Ends a node: time, progress, its locks and timers, and the daemons inside it. Ending an ended node changes nothing.
 */
export function end(
  turn: Turn,
  node: NodeRecord,
  phase: NodePhase,
  message?: string,
  options: { isByUser?: boolean } = {},
): void {
  if (hasEnded(node)) return;
  const isDone = phase === "Succeeded" || phase === "Skipped" || phase === "Omitted";
  const { lock, dueAt } = node;
  const wasTask = isTask(node.type) && (node.starts ?? 0) > 0;
  change(turn, node, {
    phase,
    message: message === "" ? undefined : message,
    finishedAt: turn.env.now,
    ...(isExecutable(node.type) && isDone && options.isByUser !== true && hasProgress(node)
      ? { progress: fullProgress(node.progress) }
      : {}),
    ...(node.type === "Steps" || node.type === "DAG" ? { outbound: undefined } : {}),
    synchronizationStatus: undefined,
    lock: undefined,
    dueAt: undefined,
    deadline: undefined,
    deadlineMessage: undefined,
    daemoned: undefined,
  });
  const { runtime } = turn.state;
  if (runtime.callCharacters > 0) releaseCalls(runtime, runtime.units.get(node.id));
  if (lock !== undefined) releaseLocks(turn, holderOf(turn, node));
  if (dueAt !== undefined || wasTask) clearTimer(turn, node);
  if (node.type === "Steps" || node.type === "DAG") stopDaemons(turn, node.id);
}

/** Nodes whose progress a turn brings up to date: each is also a record of its commit. */
const MAX_STALE_IN_TURN = 1_000;

/**
 * Brings progress up to date after a round in which something happened, as far as the turn goes; true when nothing is left.
 * A node that a user has ended shows its old progress until then, as in the reference.
 */
export function refreshProgress(turn: Turn): boolean {
  const { budget, state: { runtime, nodes, specs } } = turn;
  if (runtime.revision !== runtime.seenRevision && specs.spec.suspend !== true) {
    let changed = 0;
    for (const id of [...runtime.stale]) {
      if (budget !== undefined && (budget.isOver || changed++ >= MAX_STALE_IN_TURN)) {
        budget.isOver = budget.isCut = true;
        return false;
      }
      const node = nodes.get(id);
      if (node !== undefined) change(turn, node, { progress: fullProgress(node.progress) });
      noteWork(turn);
    }
  }
  runtime.seenRevision = runtime.revision;
  return true;
}

/** Ends the daemons inside a boundary ("" = those without one): they have done their duty. */
export function stopDaemons(turn: Turn, boundary: string): void {
  for (const id of [...turn.state.runtime.daemons.get(boundary) ?? []]) {
    const daemon = turn.state.nodes.get(id);
    if (daemon === undefined) continue;
    cancelTask(turn, daemon, "daemon is not needed any more");
    // Not `end`: a daemon counts as ended already, and keeps what it reported.
    change(turn, daemon, {
      daemoned: undefined,
      phase: "Succeeded",
      finishedAt: turn.env.now,
      progress: fullProgress(daemon.progress),
    });
  }
}

export function emit(turn: Turn, effect: Effect): void {
  turn.state.pending.effects.push(effect);
}

export function markHeader(turn: Turn): void {
  turn.state.pending.header = true;
}

/** Marks the header and what lists show. */
export function markIndex(turn: Turn): void {
  turn.state.pending.header = true;
  turn.state.pending.index = true;
}

/** Id of the present task of a node. */
export function taskId(turn: Turn, node: NodeRecord): string {
  return `${turn.state.header.metadata.uid ?? ""}/${node.id}/${node.starts ?? 0}`;
}

export function cancelTask(turn: Turn, node: NodeRecord, reason: string): void {
  if ((node.starts ?? 0) === 0) return;
  const task = taskId(turn, node);
  emit(turn, { type: "cancel-task", id: `cancel/${task}`, task, reason });
}

/** Sets the one timer of a node. */
export function setTimer(turn: Turn, node: NodeRecord, at: number): void {
  if (node.dueAt === at) return;
  change(turn, node, { dueAt: at });
  emit(turn, setTimerEffect(node, at));
}

export function setTimerEffect(node: NodeRecord, at: number): Effect {
  return { type: "set-timer", id: timerId(node), at };
}

function clearTimer(turn: Turn, node: NodeRecord): void {
  emit(turn, { type: "clear-timer", id: timerId(node) });
}

/** Name of a node's timer. */
export function timerId(node: NodeRecord): string {
  return `node/${node.id}`;
}

/** Holder of the locks that a node asks for. */
export function holderOf(turn: Turn, node: NodeRecord): string {
  return lockHolder(turn.state, node.order, node.id);
}

export function releaseLocks(turn: Turn, holder: string): void {
  emit(turn, { type: "release-locks", id: `release/${holder}`, holder });
}

/** Imported nodes may have none, and then show none. */
function hasProgress(node: NodeRecord): boolean {
  return node.progress !== undefined || node.isImported !== true;
}

/** `3/5` → `5/5`. */
function fullProgress(progress: string | undefined): string {
  const [, total] = parseProgress(progress ?? "0/1");
  return `${total}/${total}`;
}

/** Hooks that read other steps are looked at again when one of those changes. */
function wakeWatchers(turn: Turn, node: NodeRecord): void {
  if (node.boundary === undefined) return;
  for (const id of turn.state.runtime.watching.get(node.boundary) ?? []) {
    wake(turn.state.runtime, id);
  }
}

/** Enters or removes a node whose hooks read other steps. */
export function watch(turn: Turn, node: NodeRecord, isWatching: boolean): void {
  if (node.boundary === undefined) return;
  setMember(turn.state.runtime.watching, node.boundary, node.id, isWatching);
}

const NOTED: ReadonlySet<NodePhase> = new Set<NodePhase>([
  "Running",
  "Succeeded",
  "Failed",
  "Error",
]);

/** Notes a node whose phase is new, for those who look at such nodes at the end of the turn. */
function notePhase(turn: Turn, node: NodeRecord): void {
  if (NOTED.has(node.phase)) turn.state.pending.phased.add(node.id);
}
