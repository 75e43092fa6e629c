/**
 * What is derived from the stored nodes and kept in memory: who waits for whom, counters, and which nodes are to be
 * looked at. Built once when a workflow is loaded, then kept up to date node by node; never stored.
 */
import type { Json } from "../base/json.ts";
import type { StepLike, Template } from "../spec/manifest.ts";
import type { GivenArguments } from "./arguments.ts";
import type { LoopOutputs } from "./scope.ts";
import { isExecutable, type NodeRecord } from "./state.ts";

/** Counters of the nodes inside one Steps or DAG node. */
export interface BoundaryCount {
  activePods: number;
  /** Pods, Steps and DAG nodes that are pending or running. */
  activeChildren: number;
  /** Pods, Steps and DAG nodes that failed. */
  unsuccessful: number;
}

/** Where the templates that a template names are looked up. */
export interface TemplateContext {
  kind: "local" | "namespaced" | "cluster";
  name: string;
}

/** A Steps or DAG node's template with its inputs filled in, and where it came from. */
export interface Frame {
  template: Template;
  /** The template before its inputs were filled in: workflows of one manifest may share it. */
  written: Template;
  context: TemplateContext;
  /** `workflow.status` and `workflow.failures` may be used inside. */
  hasEnd: boolean;
}

/** One step or task ready to be started: references resolved, loops expanded. */
export interface ExpandedCall {
  step: StepLike;
  /** Full node name. */
  name: string;
  /** Set for elements of a loop. */
  index?: number;
  item?: Json;
  /** Why it does not run: message of its Skipped node. */
  skip?: string;
  /** The loop has no elements. */
  isEmptyLoop?: boolean;
  /** Error found when its `when` was evaluated. */
  error?: string;
  arguments: GivenArguments;
}

/** A loop whose calls are being worked out. */
export interface Expansion {
  items: readonly { item: Json; label: Json }[];
  calls: ExpandedCall[];
  characters: number;
}

/** Memory of one group-like node. */
export interface Unit {
  frame?: Frame;
  /** All calls of a step group, or of a loop group. */
  calls?: ExpandedCall[];
  /** Characters of the calls' arguments, until all calls were started. */
  callCharacters: number;
  /** First call that was not looked at for a node that does not run. */
  unmade?: number;
  /** First call that was not started yet. */
  cursor: number;
  /** Members that are done. */
  done: Set<string>;
  /** Members that became done since the node was last looked at. */
  news: string[];
  /** Lowest order among members that failed without being tolerated. */
  firstFailed?: NodeRecord;
  /** Phase of the last loop element that failed. */
  failedPhase?: "Failed" | "Error";
  dag?: DagUnit;
  /** Outputs of ended loops by step. */
  aggregates?: Map<string, LoopOutputs>;
  /** Calls by node name. */
  callsByName?: Map<string, ExpandedCall>;
}

/** Memory of a DAG node. */
export interface DagUnit {
  targets: readonly string[];
  dependents: ReadonlyMap<string, readonly string[]>;
  /** Dependencies of a task that are not done. */
  waitingFor: Map<string, number>;
  /** Tasks whose dependencies are done and that are not begun, in their order from `firstReady` on. */
  ready: string[];
  firstReady: number;
  begun: Set<string>;
  /** Order in which ready tasks begin. */
  rank: ReadonlyMap<string, number>;
}

export interface Runtime {
  /** The manifest is known to be valid, and is not checked again. */
  isChecked: boolean;
  /** Structural children by owner, in creation order. */
  members: Map<string, string[]>;
  /** How many of them are not hooks. */
  memberCounts: Map<string, number>;
  boundaries: Map<string, BoundaryCount>;
  units: Map<string, Unit>;
  activePods: number;
  progressDone: number;
  progressTotal: number;
  /** Running daemons by boundary ("" = none). */
  daemons: Map<string, Set<string>>;
  /** Daemons that left by themselves, by boundary. */
  lostDaemons: Map<string, Set<string>>;
  /** Nodes that hold or wait for locks, tasks that are active, suspended nodes: all that a shutdown has to end. */
  active: Set<string>;
  /** Those of them that a shutdown is about to end, next last. */
  toEnd?: string[];
  /** Done nodes that still show less than full progress, because nothing has happened since a user ended them. */
  stale: Set<string>;
  /** Grows with every change of a node. */
  revision: number;
  /** `revision` after the last round or request. */
  seenRevision: number;
  /** Memoized results saved by this workflow, which the store may not show yet. */
  memos: Map<string, string>;
  /** Nodes with locks, held or waited for. */
  lockers: Set<string>;
  /** To be looked at. */
  queue: string[];
  queued: Set<string>;
  /** Nodes that a turn left in the middle of their work, innermost first: gone on with before all others. */
  cut: string[];
  /** Calls of long loops that are being worked out, by the name of the step's node. */
  expansions: Map<string, Expansion>;
  /** Characters of arguments that wait for their nodes. */
  callCharacters: number;
  /** Characters that tags brought in since the filled templates were last forgotten. */
  filledCharacters: number;
  /** Waiters for a free place that had their chance, as of this revision. */
  tried: Set<string>;
  triedAt: number;
  /** Group-like nodes that wait for a free slot of the workflow's parallelism. */
  gated: Set<string>;
  /** The same for the parallelism of one boundary. */
  gatedIn: Map<string, Set<string>>;
  /** Whether any template defines metrics, and of which templates that is known. */
  measures?: {
    templates: readonly Template[] | undefined;
    stored: Readonly<Record<string, Template>> | undefined;
    any: boolean;
  };
  /** Nodes with hooks that read other steps, by boundary: looked at whenever something there changes. */
  watching: Map<string, Set<string>>;
}

function emptyRuntime(): Runtime {
  return {
    isChecked: false,
    members: new Map(),
    memberCounts: new Map(),
    boundaries: new Map(),
    units: new Map(),
    activePods: 0,
    progressDone: 0,
    progressTotal: 0,
    daemons: new Map(),
    lostDaemons: new Map(),
    active: new Set(),
    lockers: new Set(),
    stale: new Set(),
    revision: 0,
    seenRevision: 0,
    memos: new Map(),
    queue: [],
    queued: new Set(),
    cut: [],
    expansions: new Map(),
    callCharacters: 0,
    filledCharacters: 0,
    tried: new Set(),
    triedAt: -1,
    gated: new Set(),
    gatedIn: new Map(),
    watching: new Map(),
  };
}

/**
 * Derives everything from the stored nodes. Every group that has not ended is to be looked at.
 * @param isCut the last turn was cut short: it was at work around the node that was made last
 */
export function buildRuntime(nodes: Iterable<NodeRecord>, isCut = false): Runtime {
  const runtime = emptyRuntime();
  const ordered = [...nodes].sort((a, b) => a.order - b.order);
  for (const node of ordered) {
    attach(runtime, node);
    account(runtime, node, 1);
  }
  for (const node of ordered) wake(runtime, node.id);
  if (isCut) {
    runtime.cut = ownersOf(ordered);
    // Something had happened, and progress may not be up to date yet.
    runtime.seenRevision = -1;
  }
  return runtime;
}

/** The last node and those around it, innermost first. */
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

/** Enters a node under its owner. */
export function attach(runtime: Runtime, node: NodeRecord): void {
  if (node.owner !== undefined) {
    const members = runtime.members.get(node.owner);
    if (members === undefined) runtime.members.set(node.owner, [node.id]);
    else members.push(node.id);
    if (node.role !== "hook") {
      runtime.memberCounts.set(node.owner, (runtime.memberCounts.get(node.owner) ?? 0) + 1);
    }
  }
}

/** Adds a node to the counters, or takes it out again before it changes. */
export function account(runtime: Runtime, node: NodeRecord, sign: 1 | -1): void {
  const isOpen = node.phase === "Pending" || node.phase === "Running";
  const isWaiting = node.synchronizationStatus?.waiting !== undefined;
  const isPod = node.type === "Pod";
  const counts = isPod || node.type === "Steps" || node.type === "DAG";
  if (isPod && isOpen && !isWaiting) runtime.activePods += sign;
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
    if (sign === 1 && node.phase === "Succeeded" && done < total) runtime.stale.add(node.id);
    else runtime.stale.delete(node.id);
  }
  if (node.isLostDaemon === true) {
    setMember(runtime.lostDaemons, node.boundary ?? "", node.id, sign === 1);
  }
  if (node.daemoned === true) setMember(runtime.daemons, node.boundary ?? "", node.id, sign === 1);
  if (node.lock !== undefined && sign === 1) runtime.lockers.add(node.id);
  else runtime.lockers.delete(node.id);
  const isActive = isOpen &&
    (isExecutable(node.type) || node.type === "Retry" || isWaiting);
  if (isActive && sign === 1) runtime.active.add(node.id);
  else runtime.active.delete(node.id);
}

export function boundaryCount(runtime: Runtime, id: string): BoundaryCount {
  let count = runtime.boundaries.get(id);
  if (count === undefined) {
    count = { activePods: 0, activeChildren: 0, unsuccessful: 0 };
    runtime.boundaries.set(id, count);
  }
  return count;
}

/** Puts a node on the list of those to be looked at; once is enough. */
export function wake(runtime: Runtime, id: string): void {
  if (runtime.queued.has(id)) return;
  runtime.queued.add(id);
  runtime.queue.push(id);
}

/** The calls of a group have been started, or will not be. */
export function releaseCalls(runtime: Runtime, unit: Unit | undefined): void {
  if (unit === undefined) return;
  runtime.callCharacters -= unit.callCharacters;
  unit.callCharacters = 0;
}

export function unitOf(runtime: Runtime, id: string): Unit {
  let unit = runtime.units.get(id);
  if (unit === undefined) {
    unit = { callCharacters: 0, cursor: 0, done: new Set(), news: [] };
    runtime.units.set(id, unit);
  }
  return unit;
}

/** Adds to or removes from a set in a map of sets. */
export function setMember(
  sets: Map<string, Set<string>>,
  key: string,
  id: string,
  isIn: boolean,
): void {
  const set = sets.get(key);
  if (isIn) {
    if (set === undefined) sets.set(key, new Set([id]));
    else set.add(id);
  } else if (set !== undefined) {
    set.delete(id);
    if (set.size === 0) sets.delete(key);
  }
}

/** Reads `n/m`; anything else is 0/0. */
export function parseProgress(text: string): [number, number] {
  const match = /^(\d+)\/(\d+)$/.exec(text);
  return match === null ? [0, 0] : [Number(match[1]), Number(match[2])];
}
