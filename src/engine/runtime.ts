/**
 * What is derived from the stored nodes and kept in memory: who waits for whom, counters, and which nodes to look at. It is
 * built when a workflow is loaded and then kept up to date node by node. It is never stored.
 */
import type { Json } from "../base/json.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import type { StepLike, Template, WorkflowSpec } from "../spec/manifest.ts";
import type { GivenArguments } from "./scope/arguments.ts";
import { isExecutable, isTask, type NodeRecord, parseProgress } from "./records.ts";
import { setMember } from "./member_sets.ts";
import { countWait, noWaits, type Waits } from "./waits.ts";

/** Counters of the nodes inside one Steps or DAG node. */
export interface BoundaryCount {
  activePods: number;
  /** Pods, Steps and DAG nodes that are pending or running. */
  activeChildren: number;
  /** Pods, Steps and DAG nodes that failed. */
  unsuccessful: number;
}

/** Where the names of templates are looked up. */
export interface TemplateContext {
  kind: "local" | "namespaced" | "cluster";
  name: string;
  /** Both, as nodes show them: `local/<workflow>`, `namespaced/<template>`, `cluster/<template>`. */
  text: string;
}

/** A Steps or DAG node's template with its inputs filled in, and where it came from. */
export interface Frame {
  template: Template;
  /** The template before its inputs were filled in. Workflows of one manifest may share it. */
  written: Template;
  /** Its steps or tasks may contain tags. */
  isTagged: boolean;
  /** Its steps or tasks may have hooks. */
  hasHooks: boolean;
  context: TemplateContext;
  /** `workflow.status` and `workflow.failures` may be used inside. */
  hasEnd: boolean;
  /** Its steps or tasks by name, once somebody has asked for one. */
  steps: ReadonlyMap<string, PlacedStep> | undefined;
  /** Steps and tasks whose result a text refers to, once somebody has asked. */
  wantedResults: ReadonlySet<string> | undefined;
}

/** A step, and the index of its group; for a task of a DAG the index is 0. */
export interface PlacedStep {
  step: StepLike;
  group: number;
}

/** One step, task or loop element that is ready to begin, with its references resolved. */
export interface ExpandedCall {
  step: StepLike;
  /** Full node name. */
  name: string;
  /** Set for elements of a loop. */
  index?: number;
  item?: Json;
  /** Why it does not run: the message of its Skipped node. */
  skip?: string;
  /** What is wrong with its `when`. */
  error?: string;
  /** Undefined once its node has its inputs. */
  arguments: GivenArguments | undefined;
}

/** A loop whose calls are being worked out. */
export interface Expansion {
  items: readonly { item: Json; label: Json }[];
  calls: ExpandedCall[];
  characters: number;
}

/** What the elements of a loop left, in the order of the loop. */
export interface LoopOutputs {
  result: string;
  /** JSON list of `{name: value}` objects. */
  all: string;
  parameters: Map<string, string>;
}

/** What is kept in memory about a Steps or DAG node, a step group or the group of a loop. */
export interface GroupMemory {
  frame: Frame | undefined;
  /** All calls of a step group, or of the group of a loop. */
  calls: ExpandedCall[] | undefined;
  /** Characters of the calls' arguments, until all calls have begun. */
  callCharacters: number;
  /** Index of the first call that was not checked for whether it runs at all. */
  unmade: number | undefined;
  /** Index of the first call that has not begun. */
  cursor: number;
  /** Members that are done. */
  done: Set<string>;
  /** Members that were done since the last look at this node. */
  news: string[];
  /** The oldest member whose failure is not tolerated. */
  firstFailed: NodeRecord | undefined;
  dag: DagMemory | undefined;
  /** Outputs of loops that have ended, by step. */
  aggregates: Map<string, LoopOutputs> | undefined;
  /** Calls by node name. */
  callsByName: Map<string, ExpandedCall> | undefined;
}

/** What follows from the names and conditions of the tasks of a DAG. Tasks have numbers: their places in the template. */
export interface DagPlan {
  names: readonly string[];
  numbers: ReadonlyMap<string, number>;
  dependencies: readonly (readonly number[])[];
  /** The named targets, or the tasks on which no other task depends; sorted. */
  targets: readonly string[];
  /** For each task those that wait for it and that the targets need. */
  dependents: readonly (readonly number[] | undefined)[];
  /** Number of dependencies of each task that the targets need; -1 for others. */
  counts: Int32Array;
  /** What the targets need, in the order in which ready tasks begin, and the place of each task in it. */
  order: readonly number[];
  rank: Int32Array;
}

/** What is kept in memory about the tasks of a DAG node. */
export interface DagMemory {
  plan: DagPlan;
  /** For each task the number of dependencies that are not done. */
  waitingFor: Int32Array;
  /** Tasks that may begin, in their order; those before `firstReady` have begun. */
  ready: number[];
  firstReady: number;
  /** 1 for each task that has begun. */
  begun: Uint8Array;
}

/** A node in the middle of its work. */
export interface Interrupted {
  id: string;
  /** What is left to do: the whole look, the calls that have not begun, or the look at the node as a member of its group. */
  rest: "look" | "calls" | "member";
}

/** Collections that most workflows never need are made when the first of their members comes. */
export interface Runtime {
  /** The manifest is known to be valid and is not checked again. */
  isChecked: boolean;
  /** Members of each owner, in creation order. */
  members: Map<string, string[]>;
  /** How many of them are not hooks. */
  memberCounts: Map<string, number>;
  boundaries: Map<string, BoundaryCount>;
  memories: Map<string, GroupMemory>;
  activePods: number;
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
  /** The revision after the last round or request. */
  seenRevision: number;
  /** Results that this workflow has memoized, which the store may not show yet. */
  memos: Map<string, string> | undefined;
  /** Nodes that hold locks or wait for them. */
  lockers: Set<string> | undefined;
  /** Nodes to look at, in order; the set is to find them. */
  queue: string[];
  queued: Set<string>;
  /** Nodes in the middle of their work, innermost last. They go on before all others. */
  cut: Interrupted[];
  /** Groups that have just begun, in order. They are looked at before their neighbours begin, so they fill up first. */
  opened: string[];
  /** Loops whose calls are being worked out, by the name of the step's node. */
  expansions: Map<string, Expansion> | undefined;
  /** Characters of the arguments of calls that have not begun. */
  callCharacters: number;
  /** Characters that tags have brought into templates since these were last forgotten. */
  filledCharacters: number;
  /** Waiters for a free place that have had their chance since this revision. */
  tried: Set<string> | undefined;
  triedAt: number;
  /** Nodes that wait for a free place in the workflow's parallelism. */
  gated: Set<string> | undefined;
  /** The same for the parallelism of each boundary. */
  gatedIn: Map<string, Set<string>> | undefined;
  /** The spec without its templates, as tasks get it, and the spec from which it was made. */
  podSpec: { of: WorkflowSpec; value: Omit<WorkflowSpec, "templates"> } | undefined;
  /** Whether any template defines metrics, and which templates were checked for that. */
  measures: {
    templates: readonly Template[] | undefined;
    stored: Readonly<Record<string, Template>> | undefined;
    any: boolean;
  } | undefined;
  /** Nodes whose hooks read other steps, by boundary. They are looked at whenever a phase there changes. */
  watching: Map<string, Set<string>> | undefined;
}

function emptyRuntime(): Runtime {
  return {
    isChecked: false,
    members: new Map(),
    memberCounts: new Map(),
    boundaries: new Map(),
    memories: new Map(),
    activePods: 0,
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
    seenRevision: 0,
    memos: undefined,
    queue: [],
    queued: new Set(),
    cut: [],
    opened: [],
    expansions: undefined,
    callCharacters: 0,
    filledCharacters: 0,
    tried: undefined,
    triedAt: -1,
    gated: undefined,
    gatedIn: undefined,
    measures: undefined,
    watching: undefined,
    podSpec: undefined,
  };
}

/**
 * Derives everything from the stored nodes. Every node is to be looked at.
 * @param isCut the last turn was cut short while it was at work on the node that was made last
 */
export function buildRuntime(nodes: Iterable<NodeRecord>, isCut = false): Runtime {
  return runToEnd(runtimeSteps(nodes, isCut));
}

/** The same for many nodes, step by step. */
export function* runtimeSteps(nodes: Iterable<NodeRecord>, isCut = false): Steps<Runtime> {
  const runtime = emptyRuntime();
  const ordered = [...nodes].sort((a, b) => a.order - b.order);
  let done = 0;
  for (const node of ordered) {
    attach(runtime, node);
    account(runtime, node, 1);
    if (++done % STEP_SIZE === 0) yield;
  }
  for (const node of ordered) {
    wake(runtime, node.id);
    if (++done % STEP_SIZE === 0) yield;
  }
  if (isCut) {
    runtime.cut = ownersOf(ordered).reverse().map((id) => ({ id, rest: "look" }));
    // Something happened in that turn, and progress may not be up to date.
    runtime.seenRevision = -1;
  }
  return runtime;
}

/** Ids of the last node and of those around it, innermost first. */
function ownersOf(ordered: readonly NodeRecord[]): string[] {
  const byId = new Map(ordered.map((node) => [node.id, node]));
  const owners: string[] = [];
  for (let at = ordered.at(-1); at !== undefined;) {
    owners.push(at.id);
    // Damaged nodes may own each other.
    byId.delete(at.id);
    at = at.owner === undefined ? undefined : byId.get(at.owner);
  }
  return owners;
}

/** Adds a node to the members of its owner. */
export function attach(runtime: Runtime, node: NodeRecord): void {
  const { id, owner, role } = node;
  if (owner === undefined) return;
  const members = runtime.members.get(owner);
  if (members === undefined) runtime.members.set(owner, [id]);
  else members.push(id);
  if (role === "hook") return;
  runtime.memberCounts.set(owner, (runtime.memberCounts.get(owner) ?? 0) + 1);
}

/** Adds a node to the counters, or takes it out before it changes. */
export function account(runtime: Runtime, node: NodeRecord, sign: 1 | -1): void {
  const isOpen = node.phase === "Pending" || node.phase === "Running";
  const isWaiting = node.synchronizationStatus?.waiting !== undefined;
  const isPod = node.type === "Pod";
  const counts = isPod || node.type === "Steps" || node.type === "DAG";
  if (isPod && isOpen && !isWaiting) runtime.activePods += sign;
  if (isOpen && !isWaiting && isTask(node.type)) runtime.activeTasks += sign;
  if (node.type === "Suspend" && node.phase === "Running") countWait(runtime.waits, node, sign);
  if (counts && node.boundary !== undefined) {
    const boundary = boundaryCount(runtime, node.boundary);
    if (isOpen) boundary.activeChildren += sign;
    if (isOpen && isPod && !isWaiting) boundary.activePods += sign;
    if (node.phase === "Failed" || node.phase === "Error") boundary.unsuccessful += sign;
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
    setMember(runtime.lostDaemons ??= new Map(), node.boundary ?? "", node.id, sign === 1);
  }
  if (node.daemoned === true) {
    setMember(runtime.daemons ??= new Map(), node.boundary ?? "", node.id, sign === 1);
  }
  if (node.lock !== undefined && sign === 1) (runtime.lockers ??= new Set()).add(node.id);
  else runtime.lockers?.delete(node.id);
  const isActive = isOpen &&
    (isExecutable(node.type) || node.type === "Retry" || isWaiting);
  // A node that stays active stays where it is: to take it out and in again would often renew the whole set.
  if (isActive) runtime.active.add(node.id);
  else if (sign === 1) runtime.active.delete(node.id);
}

/** Tells whether a change of a node may concern what `account` reads. */
export function isCounted(patch: Partial<NodeRecord>): boolean {
  return "phase" in patch || "type" in patch || "boundary" in patch || "progress" in patch ||
    "lock" in patch || "synchronizationStatus" in patch || "daemoned" in patch ||
    "isLostDaemon" in patch;
}

/** The counters of a Steps or DAG node. */
export function boundaryCount(runtime: Runtime, id: string): BoundaryCount {
  const known = runtime.boundaries.get(id);
  if (known !== undefined) return known;
  const count = { activePods: 0, activeChildren: 0, unsuccessful: 0 };
  runtime.boundaries.set(id, count);
  return count;
}

/** Puts a node into the queue of those to look at, unless it is there. */
export function wake(runtime: Runtime, id: string): void {
  if (runtime.queued.has(id)) return;
  runtime.queued.add(id);
  runtime.queue.push(id);
}

/** Leaves a node in the middle of its work until the groups that it has opened have been looked at. */
export function interrupt(runtime: Runtime, id: string, rest: Interrupted["rest"]): void {
  runtime.cut.push({ id, rest });
  stackOpened(runtime);
}

/** The groups that have just begun go on first, the first of them before the others. */
export function stackOpened({ cut, opened }: Runtime): void {
  for (let id = opened.pop(); id !== undefined; id = opened.pop()) cut.push({ id, rest: "look" });
}

/** Forgets how much the arguments of a group take: its calls have begun, or never will. */
export function releaseCalls(runtime: Runtime, memory: GroupMemory | undefined): void {
  if (memory === undefined) return;
  runtime.callCharacters -= memory.callCharacters;
  memory.callCharacters = 0;
}

/** What is kept in memory about a group. */
export function memoryOf(runtime: Runtime, id: string): GroupMemory {
  const known = runtime.memories.get(id);
  if (known !== undefined) return known;
  const memory: GroupMemory = {
    frame: undefined,
    calls: undefined,
    callCharacters: 0,
    unmade: undefined,
    cursor: 0,
    done: new Set(),
    news: [],
    firstFailed: undefined,
    dag: undefined,
    aggregates: undefined,
    callsByName: undefined,
  };
  runtime.memories.set(id, memory);
  return memory;
}
