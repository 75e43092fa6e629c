/**
 * The stored records of a workflow: its header, its specs, and one record for each node. They hold nothing that can be
 * derived, so a finished child costs its parent no bytes.
 */
import type {
  Condition,
  EndPhase,
  Inputs,
  NodePhase,
  NodeType,
  ObjectMeta,
  Outputs,
  Template,
  TemplateRef,
  WorkflowPhase,
  WorkflowSpec,
} from "../spec/manifest.ts";
import type { TraceOrigin } from "../base/trace_context.ts";
import type { LockKey } from "./effect.ts";
import { LIVE, type Live, newLive } from "./live.ts";
import type { LifeState } from "./life/statechart.ts";

/** Number of the stored form. In 1, arguments were in the specs. */
export const SCHEMA = 2;

/** What a node is to the node that waits for it. */
export type Role =
  /** Entrypoint of the workflow. */
  | "root"
  /** Step group of a steps node. */
  | "group"
  /** Step, task, or element of a loop. */
  | "member"
  /** Group of a loop in a DAG. */
  | "loop"
  /** Attempt of a retry node. */
  | "attempt"
  /** Lifecycle hook, exit handlers included. */
  | "hook"
  /** Container of a container set. */
  | "container";

/**
 * One node as it is stored. Times are epoch ms. Undefined means false, empty or zero. In memory the usual members of all
 * records stand in the same order ({@link blankNode}), so what reads them is fast. Its JSON is its stored part, without the
 * members that are undefined.
 */
export interface NodeRecord {
  /** In memory only, and no part of its JSON. */
  [LIVE]: Live;
  schema: number;
  id: string;
  name: string;
  displayName: string;
  type: NodeType;
  phase: NodePhase;
  role: Role;
  /** Creation order within the workflow. */
  order: number;
  /** The node that waits for this one; absent for the root and for hooks of the workflow. */
  owner?: string | undefined;
  /** Enclosing Steps or DAG node (for containers their pod). */
  boundary?: string | undefined;
  /** Step or task in the boundary's template to which this node belongs: as its node, as a loop element, or as an attempt. */
  step?: string | undefined;
  /** Index of a loop element, of an attempt or of a step group. */
  index?: number | undefined;
  /** Name of the hook; `exit` for exit handlers. */
  hook?: string | undefined;
  /** Ids of the nodes that list this one among their children, unless they are derived. */
  parents?: string[] | undefined;
  /** Instead of `parents`: this node is a child of the outbound nodes of these nodes. */
  after?: string[] | undefined;
  /** Outbound nodes that were kept by a manual retry, or came with an import. */
  outbound?: string[] | undefined;
  /** Of a DAG node that has ended: the ids of its targets. */
  targets?: string[] | undefined;
  templateName?: string | undefined;
  templateRef?: TemplateRef | undefined;
  templateScope?: string | undefined;
  message?: string | undefined;
  startedAt?: number | undefined;
  finishedAt?: number | undefined;
  progress?: string | undefined;
  resourcesDuration?: Record<string, number> | undefined;
  podIP?: string | undefined;
  hostNodeName?: string | undefined;
  daemoned?: boolean | undefined;
  nodeFlag?: { hooked?: boolean; retried?: boolean } | undefined;
  inputs?: Inputs | undefined;
  outputs?: Outputs | undefined;
  memoizationStatus?: { hit: boolean; key: string; cacheName: string } | undefined;
  synchronizationStatus?: { waiting?: string } | undefined;
  taskResultSynced?: boolean | undefined;
  /** How many tasks were started for this node; the number of the present task. */
  starts?: number | undefined;
  /** Locks that it waits for, or holds until it ends. */
  lock?: LockNote | undefined;
  /** When the timer of this node is due. */
  dueAt?: number | undefined;
  /** When the present task must have ended, and the message if it has not. */
  deadline?: number | undefined;
  deadlineMessage?: string | undefined;
  /** It ended because the engine could not carry it out. */
  isErrored?: boolean | undefined;
  /** It ended because its task was pending for too long. */
  isTimedOut?: boolean | undefined;
  /** Its template is that of a daemon. */
  isDaemon?: boolean | undefined;
  /** A daemon that ended by itself while it was needed. */
  isLostDaemon?: boolean | undefined;
  /** It came with a status that was imported. */
  isImported?: boolean | undefined;
  /** A manual retry has opened it again, and it begins only after a daemon that begins again. */
  isOpenedLate?: boolean | undefined;
  /** A Steps or DAG node of a copied tree that has begun. It stays pending until it ends. */
  hasBegun?: boolean | undefined;
  /** Part of an exit handler: survives a stop and the deadline of the workflow. */
  isExit?: boolean | undefined;
  /** What a callback has done to this suspend node. */
  callback?: CallbackNote | undefined;
}

/** A callback that was taken. */
export interface CallbackNote {
  verb: "resume" | "stop";
  /** Identifies the request, so that a repeat is known. */
  digest: string;
}

/** A callback that came before its step waits. */
export interface EarlyCallback extends CallbackNote {
  outputs?: Record<string, string>;
  message?: string;
}

/**
 * A node of which little is known yet, with room for the members that most nodes get. Its order comes when it is added. Stores
 * shorten texts with their members in this order.
 */
export function blankNode(
  id: string,
  name: string,
  displayName: string,
  role: Role,
  type: NodeType,
  phase: NodePhase,
): NodeRecord {
  return {
    schema: SCHEMA,
    id,
    name,
    displayName,
    role,
    order: 0,
    owner: undefined,
    boundary: undefined,
    step: undefined,
    index: undefined,
    parents: undefined,
    after: undefined,
    templateName: undefined,
    templateScope: undefined,
    inputs: undefined,
    type,
    phase,
    message: undefined,
    startedAt: undefined,
    finishedAt: undefined,
    progress: undefined,
    nodeFlag: undefined,
    outputs: undefined,
    taskResultSynced: undefined,
    starts: undefined,
    [LIVE]: newLive(),
  };
}

/** Everything of a workflow except its nodes and specs. Its JSON is its stored part. */
export interface Header {
  schema: number;
  metadata: ObjectMeta;
  apiVersion?: string | undefined;
  kind?: string | undefined;
  phase: WorkflowPhase;
  /** `done/total` at the last stored change, for views without nodes. */
  progress?: string | undefined;
  message?: string | undefined;
  startedAt?: number | undefined;
  finishedAt?: number | undefined;
  outputs?: Outputs;
  conditions?: Condition[] | undefined;
  resourcesDuration?: Record<string, number>;
  /** Locks of the workflow as a whole. */
  lock?: LockNote;
  /** The manifest was checked and its metadata applied. A manual retry does not repeat that. */
  isPrepared?: boolean | undefined;
  /** The message that came with the request to stop. */
  stopMessage?: string;
  /** For each global output the creation order of the node that wrote it. */
  outputWriters?: Record<string, number>;
  /** The last turn was cut short. The next one continues first with what that turn began last. */
  isCut?: true;
  /** It could not continue and was ended by its header alone. Its nodes are as they were. */
  isAside?: true;
  /** How it will end, while its open nodes are being ended. */
  closing?: { phase: EndPhase; message?: string };
  /** The next creation order. */
  sequence: number;
  /** Members of an imported status that the engine does not keep up to date. */
  imported?: Record<string, unknown> | undefined;
  /** An imported workflow has continued here. */
  hasMoved?: boolean | undefined;
  /** Seals the marks of this workflow. Never shown. Absent: no step was given a URL of a callback. */
  callbackSecret?: string;
  /** Callbacks that came before their step waits, by the name of its node. */
  earlyCallbacks?: Record<string, EarlyCallback>;
  /** What its spans belong to. Kept up to date by whoever traces it; the engine does not look at it. */
  trace?: TraceOrigin;
  /** How often it was retried by hand. Absent: never. */
  retries?: number;
  /** State of its life. Changed by `life/` only. */
  machine: LifeState;
}

/** A header with room for the members that most headers get. Stores shorten texts with their members in this order. */
export function blankHeader(
  metadata: ObjectMeta,
  phase: WorkflowPhase,
  machine: LifeState,
): Header {
  return {
    schema: SCHEMA,
    metadata,
    apiVersion: undefined,
    kind: undefined,
    phase,
    machine,
    sequence: 0,
    isPrepared: undefined,
    startedAt: undefined,
    hasMoved: undefined,
    conditions: undefined,
    progress: undefined,
    message: undefined,
    finishedAt: undefined,
    imported: undefined,
  };
}

/** Locks of one holder. */
export interface LockNote {
  isHeld: boolean;
  keys: LockKey[];
  /** Which request of the workflow as a whole this is. A node asks only once; its order identifies its request. */
  round?: number;
  /** A step must have ended by then, if it has to wait. */
  until?: number;
  /** The first key that is not free. */
  waiting?: string;
  /** Who held each key when it began to wait. Older programs noted only those of the key that is waited for. */
  holders?: Record<string, string[]> | string[];
}

/** The specs are stored apart, because they rarely change and can be large. */
export interface StoredSpecs {
  spec: WorkflowSpec;
  storedTemplates?: Record<string, Template>;
  storedWorkflowTemplateSpec?: WorkflowSpec;
  /** Values of arguments that come from ConfigMaps, which are read once. */
  parameterValues?: Record<string, string>;
  /** How often removed nodes were started, so that a task id is never used twice; see `PastStarts`. */
  pastStarts?: Record<string, number>;
}

/** Compares nodes by the order in which they were created. */
export function byOrder(a: NodeRecord, b: NodeRecord): number {
  return a.order - b.order;
}

/** Tells whether a phase of a workflow or a node is an end. Skipped and omitted nodes never began. */
export function isCompleted(phase: string | undefined): phase is EndPhase {
  return phase === "Succeeded" || phase === "Failed" || phase === "Error";
}

/** Tells whether a node has ended badly, or could not be run. */
export function isFailedOrError(node: Pick<NodeRecord, "phase">): boolean {
  return node.phase === "Failed" || node.phase === "Error";
}

/** Tells whether a node has ended for those who wait for it: a daemon that runs counts as ended. */
export function isFulfilled(node: Pick<NodeRecord, "phase" | "daemoned">): boolean {
  return isCompleted(node.phase) || node.phase === "Skipped" || node.phase === "Omitted" ||
    (node.daemoned === true && node.phase !== "Pending");
}

/** Tells whether a node has ended for good. */
export function hasEnded(node: Pick<NodeRecord, "phase">): boolean {
  return isCompleted(node.phase) || node.phase === "Skipped" || node.phase === "Omitted";
}

/**
 * Tells whether a node was copied from another workflow and has not begun in this one, or was opened again by a retry and has
 * not begun since.
 */
export function isUntouched(node: NodeRecord): boolean {
  return node.phase === "Pending" && (node.isImported === true || node.isOpenedLate === true) &&
    node.lock === undefined && node.starts === undefined && node.hasBegun !== true &&
    node.type !== "Container";
}

/** Tells whether a Steps or DAG node is at work. */
export function isBoundaryAtWork(node: NodeRecord): boolean {
  return node.phase === "Running" || (node.phase === "Pending" && node.hasBegun === true);
}

/** Tells whether nodes of a type have a progress of their own, and not the sum of their children. */
export function isExecutable(type: NodeType): boolean {
  return type === "Pod" || type === "HTTP" || type === "Plugin" || type === "Container" ||
    type === "Suspend";
}

/** Tells whether the work of nodes of a type is a task of an executor. */
export function isTask(type: NodeType): boolean {
  return type === "Pod" || type === "HTTP" || type === "Plugin";
}

type Progress = readonly [done: number, total: number];

// Most nodes have one of these.
const NOTHING_DONE: Progress = [0, 1];
const ALL_DONE: Progress = [1, 1];

/** Reads `done/total`; anything else counts as 0/0. */
export function parseProgress(text: string): Progress {
  if (text === "0/1") return NOTHING_DONE;
  if (text === "1/1") return ALL_DONE;
  const match = /^(\d+)\/(\d+)$/.exec(text);
  return match === null ? [0, 0] : [Number(match[1]), Number(match[2])];
}

/** What has happened to a node that has a new phase. Attempts are told of as the step that they belong to. */
export function noticedChange(node: NodeRecord): "Suspended" | "NodeFailed" | undefined {
  if (node.type === "Suspend" && node.phase === "Running") return "Suspended";
  const isStep = node.role === "member" || node.role === "hook";
  return isStep && isFailedOrError(node) ? "NodeFailed" : undefined;
}
