/**
 * Makes, changes and drops node records; nothing else does. Keeps the counters up to date, tracks what must be stored, and
 * wakes the nodes that wait. A node that ends costs its owner one look.
 */
import { boundedMessage } from "../base/bounded_message.ts";
import type { NodePhase } from "../spec/manifest.ts";
import type { Effect, LockKey } from "./effect.ts";
import { checkNodeCount } from "./limits.ts";
import { checkTurn, mayChangeMore, noteNotice, noteReplaced, noteWork } from "./turn_budget.ts";
import { LIVE, membersOf, ownerOf } from "./live.ts";
import { textSize } from "./part_sizes.ts";
import { lockHolder } from "./locks/holder.ts";
import { setId } from "./member_sets.ts";
import { latestAttempt } from "./scope/attempts.ts";
import { freeId } from "./scope/names.ts";
import { account, attach, isCounted, noteRenamed, releaseCalls, wake } from "./runtime.ts";
import {
  hasEnded,
  isExecutable,
  isFulfilled,
  type NodeRecord,
  noticedChange,
  parseProgress,
} from "./records.ts";
import { executedSpec, workflowName } from "./state.ts";
import { timerId } from "./timers.ts";
import { taskId } from "./tree.ts";
import { createdAt, type Turn } from "./turn.ts";

/** Members to change; those that are undefined become so. */
export type NodePatch = Partial<NodeRecord>;

/**
 * Adds a new node, and gives it its order; if another one has its id, also another id. A node with its name must not exist.
 * @throws {LimitExceeded} when the workflow already has as many nodes as it may have
 * @throws {TurnOver} when the turn is over
 */
export function addNode(turn: Turn, node: NodeRecord): NodeRecord {
  checkNodeCount(turn);
  // A node and its containers are made together.
  if (node.type !== "Container") checkTurn(turn);
  noteWork(turn, textSize(node.inputs));
  const { state } = turn;
  node.order = state.header.sequence++;
  markHeader(turn);
  if (state.nodes.has(node.id)) {
    node.id = freeId(workflowName(state), node.name, (id) => state.nodes.has(id));
    noteRenamed(state.runtime, node);
  }
  state.nodes.set(node.id, node);
  state.runtime.revision++;
  attach(state.nodes, node);
  account(state.runtime, state.nodes, node, 1);
  const former = state.pending.dropped?.get(node.id);
  if (former !== undefined) {
    node[LIVE].size = former[LIVE].size;
    state.pending.dropped?.delete(node.id);
  }
  note(turn, node);
  wake(state.runtime, node);
  notePhase(turn, node);
  return node;
}

/** Changes a node in place. */
export function change(turn: Turn, node: NodeRecord, patch: NodePatch): void {
  if (patch.inputs !== undefined || patch.outputs !== undefined) {
    noteWork(turn, textSize(patch.inputs) + textSize(patch.outputs));
  }
  const { runtime, nodes } = turn.state;
  const before = node.phase;
  const counts = isCounted(patch);
  if (counts) account(runtime, nodes, node, -1);
  Object.assign(node, patch);
  if (counts) account(runtime, nodes, node, 1);
  tellOfChange(turn, node, before);
}

/** What follows every change of a node. @param before its phase until now */
function tellOfChange(turn: Turn, node: NodeRecord, before: NodePhase): void {
  const { runtime } = turn.state;
  runtime.revision++;
  note(turn, node);
  wake(runtime, node);
  if (node.phase !== before) {
    notePhase(turn, node);
    // Before the owner: their hooks still begin when this end is the last that it waits for.
    wakeWatchers(turn, node);
  }
  // Nobody waits for anything else. A member wakes its group itself when its hooks have ended too, so the group sees all that
  // has ended in this turn, as after a restart.
  if (isFulfilled(node) && node.role !== "member" && node.role !== "loop") wakeOwner(turn, node);
}

/** Notes that a node has to be stored. */
function note({ state: { pending } }: Turn, node: NodeRecord): void {
  if (node[LIVE].isChanged) return;
  node[LIVE].isChanged = true;
  pending.nodes.push(node);
}

function wakeOwner({ state: { runtime, nodes } }: Turn, node: NodeRecord): void {
  const above = ownerOf(nodes, node);
  if (above !== undefined) wake(runtime, above);
}

/** Removes a node for good. The caller builds the runtime anew afterwards. */
export function dropNode(turn: Turn, node: NodeRecord): void {
  const { state } = turn;
  state.nodes.delete(node.id);
  node[LIVE].isChanged = false;
  (state.pending.dropped ??= new Map()).set(node.id, node);
}

/** Changes what a node shows of earlier runs. The caller builds the runtime anew afterwards. */
export function rewrite(turn: Turn, node: NodeRecord, patch: NodePatch): void {
  Object.assign(node, patch);
  note(turn, node);
}

/** The manual retry is done, or is given up. */
export function dropRetrying(state: Turn["state"]): void {
  if (state.retrying === undefined) return;
  delete state.retrying;
  state.pending.retrying = true;
}

const UNNEEDED_DAEMON = "daemon is not needed any more";

/** Members that a node has only until it ends. */
const UNTIL_END = [
  ...["synchronizationStatus", "lock", "dueAt", "deadline", "deadlineMessage", "daemoned"],
  "hasBegun",
] as const;

/**
 * Ends a node, with its locks and timers and the daemons inside it. Ending a node that has ended changes nothing.
 * @param message bounded, unless it is a user's
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
  const isFull = isExecutable(node.type) && isDone && options.isByUser !== true &&
    hasProgress(node);
  const isGroup = node.type === "Steps" || node.type === "DAG";
  const { lock, dueAt, phase: before } = node;
  const { runtime, nodes } = turn.state;
  account(runtime, nodes, node, -1);
  node.phase = phase;
  node.message = messageOf(message, options.isByUser);
  node.finishedAt = turn.env.now;
  if (isFull) node.progress = fullProgress(node.progress);
  if (isGroup && node.outbound !== undefined) node.outbound = undefined;
  for (const member of UNTIL_END) if (node[member] !== undefined) node[member] = undefined;
  account(runtime, nodes, node, 1);
  tellOfChange(turn, node, before);
  if (runtime.callCharacters > 0) releaseCalls(runtime, node[LIVE].group);
  if (lock !== undefined) releaseLocks(turn, holderOf(turn, node));
  if (dueAt !== undefined) clearTimer(turn, node);
  if (isGroup) stopDaemons(turn, node.id);
}

function messageOf(message = "", isByUser = false): string | undefined {
  if (message === "") return undefined;
  return isByUser ? message : boundedMessage(message);
}

/**
 * Brings progress up to date after a round that changed something, for as long as the turn lasts. True when nothing is left.
 * Until then a node that a user has ended shows its old progress, as in the reference.
 */
export function refreshProgress(turn: Turn): boolean {
  const { runtime, nodes, specs } = turn.state;
  if (runtime.revision !== runtime.seenRevision && specs.spec.suspend !== true) {
    let changed = 0;
    for (const id of runtime.stale === undefined ? [] : [...runtime.stale]) {
      if (!mayChangeMore(turn, changed++)) return false;
      const node = nodes.get(id);
      if (node !== undefined) change(turn, node, { progress: fullProgress(node.progress) });
      noteReplaced(turn, node?.[LIVE].size ?? 0);
    }
  }
  runtime.seenRevision = runtime.revision;
  return true;
}

/** Ends the daemons inside a boundary, which are no longer needed. "": those without a boundary. */
export function stopDaemons(turn: Turn, boundary: string): void {
  const daemons = turn.state.runtime.daemons?.get(boundary);
  for (const id of daemons === undefined ? [] : [...daemons]) {
    const daemon = turn.state.nodes.get(id);
    if (daemon === undefined) continue;
    cancelTask(turn, daemon, UNNEEDED_DAEMON);
    // Not `end`: a daemon already counts as ended, and keeps what it reported.
    change(turn, daemon, {
      daemoned: undefined,
      phase: "Succeeded",
      finishedAt: turn.env.now,
      progress: fullProgress(daemon.progress),
    });
    // One that got ready in an earlier version has its locks still.
    releaseLocksOfDaemon(turn, daemon);
    endNextAttempt(turn, daemon);
    for (const member of membersOf(daemon)) {
      if (member.type === "Container") end(turn, member, "Succeeded");
    }
  }
}

/** Ends the wait of a daemon for its next attempt, or that attempt, which is no daemon before it is ready. */
function endNextAttempt(turn: Turn, daemon: NodeRecord): void {
  if (daemon.type !== "Retry") return;
  if (daemon.dueAt !== undefined) clearTimer(turn, daemon);
  change(turn, daemon, { dueAt: undefined, message: undefined });
  const attempt = latestAttempt(daemon);
  if (attempt === undefined || hasEnded(attempt) || attempt.daemoned === true) return;
  cancelTask(turn, attempt, UNNEEDED_DAEMON);
  end(turn, attempt, "Succeeded");
}

/** Asks for something to be done outside. */
export function emit(turn: Turn, effect: Effect): void {
  turn.state.pending.effects.push(effect);
}

/** Marks the header as changed. */
export function markHeader(turn: Turn): void {
  turn.state.pending.header = true;
}

/** Marks the header, and what lists show, as changed. */
export function markIndex(turn: Turn): void {
  turn.state.pending.header = true;
  turn.state.pending.index = true;
}

/** Cancels the present task of a node, if it has one. */
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

/** The effect that sets the timer of a node; repeating it is harmless. @param at epoch ms */
export function setTimerEffect(node: NodeRecord, at: number): Effect {
  return { type: "set-timer", id: timerId(node), at };
}

function clearTimer(turn: Turn, node: NodeRecord): void {
  emit(turn, { type: "clear-timer", id: timerId(node) });
}

/** Name under which a node holds its locks. */
export function holderOf(turn: Turn, node: NodeRecord): string {
  return lockHolder(turn.state, node.order, node.id);
}

/** Asks for locks; the answer comes as a fact. */
export function askForLocks(turn: Turn, holder: string, keys: LockKey[]): void {
  emit(turn, lockRequest(turn, holder, keys));
}

/** The request for locks; repeating it is harmless. */
export function lockRequest(turn: Turn, holder: string, keys: LockKey[]): Effect {
  return {
    type: "acquire-locks",
    id: `acquire/${holder}`,
    holder,
    keys,
    priority: executedSpec(turn.state).priority ?? 0,
    createdAt: createdAt(turn),
  };
}

/** Gives locks back. */
export function releaseLocks(turn: Turn, holder: string): void {
  emit(turn, { type: "release-locks", id: `release/${holder}`, holder });
}

/** Gives the locks of a daemon back: once it is ready it counts as done for all that wait, as in the reference. */
export function releaseLocksOfDaemon(turn: Turn, daemon: NodeRecord): void {
  if (daemon.lock === undefined) return;
  change(turn, daemon, { lock: undefined });
  releaseLocks(turn, holderOf(turn, daemon));
}

/** An imported node may have no progress; then it shows none. */
function hasProgress(node: NodeRecord): boolean {
  return node.progress !== undefined || node.isImported !== true;
}

/** `3/5` → `5/5`. */
function fullProgress(progress: string | undefined): string {
  // One text for most nodes.
  if (progress === undefined || progress === "0/1") return "1/1";
  const [, total] = parseProgress(progress);
  return `${total}/${total}`;
}

/** Wakes the nodes whose hooks read other steps of the same boundary. */
function wakeWatchers(turn: Turn, node: NodeRecord): void {
  if (node.boundary === undefined) return;
  const { runtime, nodes } = turn.state;
  if (runtime.watching === undefined) return;
  for (const id of runtime.watching.get(node.boundary) ?? []) {
    const watcher = nodes.get(id);
    if (watcher !== undefined) wake(runtime, watcher);
  }
}

/** Notes whether a node has hooks that wait for other steps. */
export function watch(turn: Turn, node: NodeRecord, isWatching: boolean): void {
  const { runtime } = turn.state;
  if (node.boundary === undefined || (!isWatching && runtime.watching === undefined)) return;
  setId(runtime.watching ??= new Map(), node.boundary, node.id, isWatching);
}

/** Tells whether a node has hooks that wait for other steps. */
export function isWatching({ state: { runtime } }: Turn, { boundary, id }: NodeRecord): boolean {
  return boundary !== undefined && runtime.watching?.get(boundary)?.has(id) === true;
}

const MEASURED: ReadonlySet<NodePhase> = new Set<NodePhase>([
  "Running",
  "Succeeded",
  "Failed",
  "Error",
]);

/** Notes a node with a new phase; its metrics are observed, and its change is told, at the end of the turn. */
function notePhase(turn: Turn, node: NodeRecord): void {
  if (!MEASURED.has(node.phase)) return;
  turn.state.pending.phased.push(node.id);
  if (turn.env.areChangesNoted === true && noticedChange(node) !== undefined) noteNotice(turn);
}
