/**
 * What is derived from the stored nodes and kept in memory: who waits for whom, counters, and which nodes to look at. It is
 * built when a workflow is loaded and then kept up to date node by node. It is never stored.
 */
import { hasUsualId } from "./scope/names.ts";
import { noteTaskNode } from "./scope/dag_plan.ts";
import { runToEnd, sortSteps, STEP_SIZE, type Steps } from "../base/steps.ts";
import type { Template, WorkflowSpec } from "../spec/manifest.ts";
import {
  boundaryOf,
  type Expansion,
  type GroupMemory,
  LIVE,
  membersOf,
  memoryOf,
  type Nodes,
  ownerOf,
} from "./live.ts";
import {
  byOrder,
  hasEnded,
  isExecutable,
  isFailedOrError,
  isTask,
  isUntouched,
  type NodeRecord,
  parseProgress,
} from "./records.ts";
import { setId } from "./member_sets.ts";
import { WokenNodes } from "./woken.ts";
import { countWait, noWaits, type Waits } from "./waits.ts";

/** A node in the middle of its work. */
export interface Interrupted {
  node: NodeRecord;
  /** What is left to do: the whole look, the calls that have not begun, or the look at the node as a member of its group. */
  rest: "look" | "calls" | "member";
}

/** Collections that most workflows never need are made when the first of their members comes. */
export interface Runtime {
  /** The manifest is known to be valid and is not checked again. */
  isChecked: boolean;
  /** Pods that are pending or running. */
  activePods: number;
  runningPods: number;
  /** How many tasks are under way, without those that wait for a lock. */
  activeTasks: number;
  waits: Waits;
  progressDone: number;
  progressTotal: number;
  /** Running daemons by boundary; "": without one. */
  daemons: Map<string, Set<string>> | undefined;
  /** Daemons that ended by themselves, by boundary. */
  lostDaemons: Map<string, Set<string>> | undefined;
  /** All that a shutdown has to end: open tasks, retry nodes, suspend nodes, and nodes that wait for locks. */
  active: Set<string>;
  /** Those that a shutdown is about to end, the next one last. */
  toEnd: string[] | undefined;
  /** Nodes that succeeded but do not show full progress, because nothing has happened since a user ended them. */
  stale: Set<string> | undefined;
  /** Grows with every change of a node. */
  revision: number;
  /** Nodes that do not have the id that follows from their name, by name. */
  renamed: Map<string, NodeRecord> | undefined;
  /** The first node, once somebody has asked. */
  root: NodeRecord | undefined;
  /** The revision after the last round or request. */
  seenRevision: number;
  /** Results that this workflow has memoized, which the store may not show yet. */
  memos: Map<string, string> | undefined;
  /** Nodes that hold locks or wait for them. */
  lockers: Set<string> | undefined;
  /** Nodes to look at. */
  queue: WokenNodes;
  /** Nodes in the middle of their work, innermost last. They go on before all others. */
  cut: Interrupted[];
  /** Groups that have just begun, in order. They are looked at before their neighbours begin, so they fill up first. */
  opened: NodeRecord[];
  /** Loops whose calls are being worked out, by the name of the step's node. */
  expansions: Map<string, Expansion> | undefined;
  /** Characters of the arguments of calls that have not begun. */
  callCharacters: number;
  /** Characters that tags have brought into templates since these were last forgotten. */
  filledCharacters: number;
  /** Waiters for a free place that have had their chance since this revision. */
  tried: Set<string> | undefined;
  triedAt: number;
  /** The waiter that was last given a free place, in this turn. While it is "", who wants a place becomes a waiter. */
  serving: string;
  /** Nodes that have put off their end, because they may still get a place in this turn. */
  hopeful: Set<string> | undefined;
  /** The revision at which these were last looked at again. */
  hopefulAt: number;
  /** Nodes that wait for a free place in the workflow's parallelism. */
  gated: Set<string> | undefined;
  /** The same for the parallelism of each boundary. */
  gatedIn: Map<string, Set<string>> | undefined;
  /** The spec without its templates, as tasks get it, its members with tags, and the spec from which it was made. */
  podSpec: {
    of: WorkflowSpec;
    value: Omit<WorkflowSpec, "templates">;
    tagged?: Partial<WorkflowSpec>;
  } | undefined;
  /** Whether any template defines metrics, and which templates were checked for that. */
  measures: {
    templates: readonly Template[] | undefined;
    stored: Readonly<Record<string, Template>> | undefined;
    any: boolean;
  } | undefined;
  /** Nodes whose hooks read other steps, by boundary. They are looked at whenever a phase there changes. */
  watching: Map<string, Set<string>> | undefined;
}

export function emptyRuntime(): Runtime {
  return {
    isChecked: false,
    activePods: 0,
    runningPods: 0,
    activeTasks: 0,
    waits: noWaits(),
    progressDone: 0,
    progressTotal: 0,
    daemons: undefined,
    lostDaemons: undefined,
    active: new Set(),
    toEnd: undefined,
    lockers: undefined,
    stale: undefined,
    revision: 0,
    renamed: undefined,
    root: undefined,
    seenRevision: 0,
    memos: undefined,
    queue: new WokenNodes(),
    cut: [],
    opened: [],
    expansions: undefined,
    callCharacters: 0,
    filledCharacters: 0,
    tried: undefined,
    triedAt: -1,
    serving: "",
    hopeful: undefined,
    hopefulAt: -1,
    gated: undefined,
    gatedIn: undefined,
    measures: undefined,
    watching: undefined,
    podSpec: undefined,
  };
}

/** Derives everything from the stored nodes. Every node is to be looked at. */
export function buildRuntime(nodes: Nodes): Runtime {
  return runToEnd(runtimeSteps(nodes));
}

/**
 * The same for many nodes, step by step.
 * @param isCut the last turn was cut short while it was at work on the node that was made last
 */
export function* runtimeSteps(nodes: Nodes, isCut = false): Steps<Runtime> {
  const runtime = emptyRuntime();
  if (nodes.size === 0) return runtime;
  const ordered = yield* sortSteps(nodes.values(), byOrder);
  let done = 0;
  for (const node of ordered) {
    const live = node[LIVE];
    live.isDone = live.isLost = false;
    live.owner = live.boundary = live.group = undefined;
    live.depth = 0;
    live.isQueued = false;
    if (++done % STEP_SIZE === 0) yield;
  }
  for (const node of ordered) {
    attach(nodes, node);
    account(runtime, nodes, node, 1);
    if (!hasUsualId(node)) noteRenamed(runtime, node);
    if (++done % STEP_SIZE === 0) yield;
  }
  runtime.queue = new WokenNodes(ordered);
  if (!isCut) noteSettled(ordered);
  else {
    runtime.cut = ownersOf(ordered).reverse().map((node) => ({ node, rest: "look" }));
    // Something happened in that turn, and progress may not be up to date.
    runtime.seenRevision = -1;
  }
  return runtime;
}

/** Notes that the turn in which a loop began is over. */
function noteSettled(nodes: readonly NodeRecord[]): void {
  for (const node of nodes) {
    if (node.role !== "loop" || isUntouched(node)) continue;
    const { group } = node[LIVE];
    if (group !== undefined) group.hasSettled = true;
  }
}

/** The last node and those around it, innermost first. */
function ownersOf(ordered: readonly NodeRecord[]): NodeRecord[] {
  const byId = new Map(ordered.map((node) => [node.id, node]));
  const owners: NodeRecord[] = [];
  for (let at = ordered.at(-1); at !== undefined;) {
    owners.push(at);
    // Damaged nodes may own each other.
    byId.delete(at.id);
    at = at.owner === undefined ? undefined : byId.get(at.owner);
  }
  return owners;
}

/** Notes a node that does not have the id that follows from its name. */
export function noteRenamed(runtime: Runtime, node: NodeRecord): void {
  (runtime.renamed ??= new Map()).set(node.name, node);
}

/** Adds a node to the members of its owner. */
export function attach(nodes: Nodes, node: NodeRecord): void {
  const owner = ownerOf(nodes, node);
  if (owner === undefined) return;
  node[LIVE].depth = owner[LIVE].depth + 1;
  const memory = memoryOf(owner);
  if (memory.members === undefined) memory.members = [node];
  else memory.members.push(node);
  if (memory.dag !== undefined) noteTaskNode(memory.dag, node);
  if (node.role !== "hook") memory.memberCount++;
  else noteBrokenHook(nodes, node);
}

/**
 * Lets a group know of a hook of a member that could not be carried out: the group fails. A hook that ran and failed changes
 * nothing, and a DAG does without an exit handler.
 */
export function noteBrokenHook(nodes: Nodes, hook: NodeRecord): void {
  if (hook.isErrored !== true) return;
  const member = ownerOf(nodes, hook);
  const group = member && ownerOf(nodes, member);
  if (member === undefined || group === undefined) return;
  if (hook.hook === "exit" && boundaryOf(nodes, hook)?.type === "DAG") return;
  const memory = memoryOf(group);
  const { brokenHook: known } = memory;
  const first = known && ownerOf(nodes, known);
  // The first in the order of the steps counts, in whatever order they were looked at.
  const isFirst = known === undefined || first === undefined || member.order < first.order ||
    (member === first && hook.order < known.order);
  if (isFirst) memory.brokenHook = hook;
}

/** Lets a group know of a member whose failure is not tolerated. The first of them counts; before them, one that could not be carried out. */
export function noteFailure(memory: GroupMemory, member: NodeRecord): void {
  const { firstFailed: known } = memory;
  const isErrored = member.isErrored === true;
  const isFirst = known === undefined ||
    (isErrored === (known.isErrored === true) ? member.order < known.order : isErrored);
  if (isFirst) memory.firstFailed = member;
}

/** Adds a node to the counters, or takes it out before it changes. */
export function account(runtime: Runtime, nodes: Nodes, node: NodeRecord, sign: 1 | -1): void {
  const isOpen = node.phase === "Pending" || node.phase === "Running";
  // A copy that has not begun may never begin: it must not take a place from others, nor be waited for.
  const isAtWork = isOpen && !isUntouched(node);
  const wantsLocks = node.synchronizationStatus?.waiting !== undefined;
  const isWaiting = wantsLocks && !hasPlace(node);
  const isPod = node.type === "Pod";
  // The place of a retry node is for its first attempt.
  const takesPlace = isPod ? !isWaiting : node.type === "Retry" && wantsLocks && !isWaiting;
  const counts = isPod || node.type === "Steps" || node.type === "DAG";
  // An attempt that failed may be followed by another one. Its retry node fails when there is none.
  const canFail = node.type === "Retry" || (counts && node.role !== "attempt");
  if (isAtWork && takesPlace) runtime.activePods += sign;
  if (isPod && node.phase === "Running") runtime.runningPods += sign;
  if (isAtWork && !isWaiting && isTask(node.type)) runtime.activeTasks += sign;
  if (node.type === "Suspend" && node.phase === "Running") countWait(runtime.waits, node, sign);
  const around = counts || canFail ? boundaryOf(nodes, node) : undefined;
  if (around !== undefined) {
    const boundary = memoryOf(around);
    if (isAtWork && counts) boundary.activeChildren += sign;
    if (isAtWork && takesPlace) boundary.activePods += sign;
    if (canFail && isFailedOrError(node)) boundary.unsuccessful += sign;
  }
  if (isExecutable(node.type) && node.progress !== undefined) {
    const [done, total] = parseProgress(node.progress);
    runtime.progressDone += sign * done;
    runtime.progressTotal += sign * total;
    if (sign === 1 && node.phase === "Succeeded" && done < total) {
      (runtime.stale ??= new Set()).add(node.id);
    } else runtime.stale?.delete(node.id);
  }
  if (node.isLostDaemon === true) {
    setId(runtime.lostDaemons ??= new Map(), node.boundary ?? "", node.id, sign === 1);
  }
  if (node.daemoned === true) {
    setId(runtime.daemons ??= new Map(), node.boundary ?? "", node.id, sign === 1);
  }
  if (node.lock !== undefined && sign === 1) (runtime.lockers ??= new Set()).add(node.id);
  else runtime.lockers?.delete(node.id);
  const isActive = isOpen &&
    (isExecutable(node.type) || node.type === "Retry" || wantsLocks);
  // A node that stays active stays where it is: to take it out and in again would often renew the whole set.
  if (isActive) runtime.active.add(node.id);
  else if (sign === 1) runtime.active.delete(node.id);
}

/**
 * Tells whether a node that asks for locks has a place meanwhile: it has, until it hears that it must wait. Otherwise others
 * would take the place, and it would hold the locks without running.
 */
export function hasPlace({ lock }: NodeRecord): boolean {
  return lock?.waiting === undefined;
}

/** Tells whether a change of a node may concern what `account` reads. */
export function isCounted(patch: Partial<NodeRecord>): boolean {
  return "phase" in patch || "type" in patch || "boundary" in patch || "progress" in patch ||
    "lock" in patch || "synchronizationStatus" in patch || "daemoned" in patch ||
    "isLostDaemon" in patch || "starts" in patch || "hasBegun" in patch;
}

/** Has a node looked at. */
export function wake(runtime: Runtime, node: NodeRecord): void {
  runtime.queue.add(node);
}

/** Has everything looked at that is not done, because something has changed on which all of it depends. */
export function wakeOpen(runtime: Runtime, nodes: Nodes): void {
  for (const node of nodes.values()) if (!isSettled(node)) wake(runtime, node);
}

/** Has a Steps or DAG node looked at, and before it what is not done inside it. Until then more such calls change nothing. */
export function wakeBoundary(runtime: Runtime, boundary: NodeRecord): void {
  const memory = memoryOf(boundary);
  if (memory.isToldIdle) return;
  memory.isToldIdle = true;
  wake(runtime, boundary);
  wakeInside(runtime, boundary, boundary.id);
}

function wakeInside(runtime: Runtime, owner: NodeRecord, boundary: string): void {
  for (const member of membersOf(owner)) {
    if (member.boundary !== boundary || isSettled(member)) continue;
    wake(runtime, member);
    wakeInside(runtime, member, boundary);
  }
}

/** Tells whether a node is done for its owner. A step that has ended may still wait for its hooks. */
function isSettled(node: NodeRecord): boolean {
  const isAwaited = node.role === "member" || node.role === "loop";
  return isAwaited ? node[LIVE].isDone : hasEnded(node);
}

/** Leaves a node in the middle of its work until the groups that it has opened have been looked at. */
export function interrupt(runtime: Runtime, node: NodeRecord, rest: Interrupted["rest"]): void {
  runtime.cut.push({ node, rest });
  stackOpened(runtime);
}

/** The groups that have just begun go on first, the first of them before the others. */
export function stackOpened({ cut, opened }: Runtime): void {
  for (let node = opened.pop(); node !== undefined; node = opened.pop()) {
    cut.push({ node, rest: "look" });
  }
}

/** Forgets how much the arguments of a group take: its calls have begun, or never will. */
export function releaseCalls(runtime: Runtime, memory: GroupMemory | undefined): void {
  if (memory === undefined) return;
  runtime.callCharacters -= memory.callCharacters;
  memory.callCharacters = 0;
}
