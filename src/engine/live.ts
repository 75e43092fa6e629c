/** What is kept in memory beside the record of a node. It is derived from what is stored, and never stored itself. */
import type { Json } from "../base/json.ts";
import type { StepLike, Template } from "../spec/manifest.ts";
import type { NodeRecord } from "./records.ts";
import type { GivenArguments } from "./scope/arguments.ts";

/** Where a record has it: JSON leaves out what has no name. */
export const LIVE = Symbol("live");

export interface Live {
  /** Key of its stored part, once it has one. To make it for each commit would cost as much as all other work on it. */
  key: string | undefined;
  /** Characters of its stored part. */
  size: number;
  /** It has to be stored. */
  isChanged: boolean;
  /** How many nodes are around it, each the owner of the next. */
  depth: number;
  /** It is among the nodes to look at. */
  isQueued: boolean;
  /** It is done for its owner. */
  isDone: boolean;
  /** It is a daemon that has ended by itself, and its owner knows. */
  isLost: boolean;
  /** Its owner and its boundary, once somebody has asked: each look into a large map of nodes misses the processor's caches. */
  owner: NodeRecord | undefined;
  boundary: NodeRecord | undefined;
  /** Of a node that owns others. */
  group: GroupMemory | undefined;
}

/** What is kept beside the record of a new node, or of one that was just read. */
export function newLive(): Live {
  return {
    key: undefined,
    size: 0,
    isChanged: false,
    depth: 0,
    isQueued: false,
    isDone: false,
    isLost: false,
    owner: undefined,
    boundary: undefined,
    group: undefined,
  };
}

/** Where the names of templates are looked up. */
export interface TemplateContext {
  kind: "local" | "namespaced" | "cluster";
  name: string;
  /** Both, as nodes show them: `local/<workflow>`, `namespaced/<template>`, `cluster/<template>`. */
  text: string;
}

/**
 * What is known of the end of the workflow. True for its exit handler and its hooks: `workflow.status` and `workflow.failures` have
 * values. In hooks of steps only the status has one.
 */
export type KnownEnd = boolean | "running";

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
  /** What its steps may use of `workflow.status` and `workflow.failures`. */
  hasEnd: KnownEnd;
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
  /** Since when. */
  at: number;
  items: readonly Json[];
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

/** What is kept in memory about a node that owns others: a Steps, DAG or retry node, a step group, the group of a loop. */
export interface GroupMemory {
  /** Nodes that it owns, in the order of creation. Undefined: none. */
  members: NodeRecord[] | undefined;
  /** How many of them are not hooks. */
  memberCount: number;
  /** How many of them are done. */
  doneCount: number;
  /** All that it began at first has been looked at; noted only where a step has hooks. */
  hasSettled: boolean;
  /** Of all nodes inside a Steps or DAG node: pods that are pending or running. */
  activePods: number;
  /** Pods, Steps and DAG nodes that are pending or running. */
  activeChildren: number;
  /** Pods, Steps, DAG and retry nodes that failed, but for attempts. */
  unsuccessful: number;
  /** Of a Steps or DAG node: what waits inside it knows that nothing more begins, and nothing is at work. */
  isToldIdle: boolean;
  frame: Frame | undefined;
  /** Of a Steps node: the last group that somebody has looked at. */
  group: NodeRecord | undefined;
  /** All calls of a step group, or of the group of a loop. */
  calls: ExpandedCall[] | undefined;
  /** Characters of the calls' arguments, until all calls have begun. */
  callCharacters: number;
  /** Index of the first call that was not checked for whether it runs at all. Undefined: nobody has opened the group yet. */
  unmade: number | undefined;
  /** Index of the first call that has not begun. */
  cursor: number;
  /** Members of a DAG node that were done since the last look at it. */
  news: NodeRecord[] | undefined;
  /** The oldest member whose failure is not tolerated. */
  firstFailed: NodeRecord | undefined;
  /** A hook of a member that could not be carried out. */
  brokenHook: NodeRecord | undefined;
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
  /** The named targets in their order, or the tasks on which no other task depends, sorted. */
  targets: readonly string[];
  /** For each task those that wait for it and that the targets need. */
  dependents: readonly (readonly number[] | undefined)[];
  /** Number of dependencies of each task that the targets need; -1 for others. */
  counts: Int32Array;
  /** What the targets need, in the order in which ready tasks begin, and the place of each task in it. */
  order: readonly number[];
  rank: Int32Array;
  /** Why tasks would wait forever. */
  fault: string | undefined;
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
  /** Nodes of the tasks, by number: a look into the map of all nodes costs more, and so does the id that it needs. */
  nodes: (NodeRecord | undefined)[];
  /** What is wrong with the results of loops that are done, by number. */
  faults: Map<number, string> | undefined;
  /** What is wrong with the results that a target could have: no other task begins, and the node ends with it. */
  fault: string | undefined;
}

/** What is kept in memory about a node that owns others. */
export function memoryOf(node: NodeRecord): GroupMemory {
  return node[LIVE].group ??= {
    members: undefined,
    memberCount: 0,
    doneCount: 0,
    hasSettled: false,
    activePods: 0,
    activeChildren: 0,
    unsuccessful: 0,
    isToldIdle: false,
    frame: undefined,
    group: undefined,
    calls: undefined,
    callCharacters: 0,
    unmade: undefined,
    cursor: 0,
    news: undefined,
    firstFailed: undefined,
    brokenHook: undefined,
    dag: undefined,
    aggregates: undefined,
    callsByName: undefined,
  };
}

/** Nodes by id. */
export type Nodes = ReadonlyMap<string, NodeRecord>;

/** The node that waits for a node. */
export function ownerOf(nodes: Nodes, node: NodeRecord): NodeRecord | undefined {
  return node.owner === undefined ? undefined : node[LIVE].owner ??= nodes.get(node.owner);
}

/** The Steps or DAG node around a node; of a container its pod. */
export function boundaryOf(nodes: Nodes, node: NodeRecord): NodeRecord | undefined {
  return node.boundary === undefined ? undefined : node[LIVE].boundary ??= nodes.get(node.boundary);
}

const NOBODY: readonly NodeRecord[] = [];

/** The nodes that a node owns, in the order of creation. */
export function membersOf(node: NodeRecord): readonly NodeRecord[] {
  return node[LIVE].group?.members ?? NOBODY;
}
