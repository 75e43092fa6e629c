/**
 * What the engine holds of one workflow. `Header` and `NodeRecord` are stored; everything under `Runtime` is derived from
 * them and lives in memory only, so that a finished child costs its parent one counter and no bytes.
 */
import type {
  Condition,
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
import type { Effect, LockKey } from "./effect.ts";
import type { EngineEnv, ManifestRef } from "./engine.ts";
import type { PartSizes, TurnBudget } from "./limits.ts";
import type { Order } from "./orders.ts";
import type { RetryPlan } from "./retry_plan.ts";
import type { Runtime } from "./runtime.ts";

/** What a node is to the one that waits for it. */
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

/** One node as it is stored. Times are epoch ms. Absent = zero. */
export interface NodeRecord {
  id: string;
  name: string;
  displayName: string;
  type: NodeType;
  phase: NodePhase;
  role: Role;
  /** Creation order within the workflow. */
  order: number;
  /** The node that waits for this one; absent for the root and for hooks of the workflow. */
  owner?: string;
  /** Enclosing Steps or DAG node (for containers their pod). */
  boundary?: string;
  /** Step or task in the boundary's template that this node runs, is an element of, or is an attempt of. */
  step?: string;
  /** Index of a loop element, an attempt or a step group. */
  index?: number;
  /** Name of the hook; `exit` for exit handlers. */
  hook?: string;
  /** Parents in the graph, as far as they are not derived: ids that list this node among their children. */
  parents?: string[];
  /** Instead of `parents`: the outbound nodes of these nodes are the parents. */
  after?: string[];
  /** Outbound nodes that survived a manual retry, or came with an import. */
  outbound?: string[];
  /** Of an ended DAG node: ids of its targets. */
  targets?: string[];
  templateName?: string;
  templateRef?: TemplateRef;
  templateScope?: string;
  message?: string;
  startedAt?: number;
  finishedAt?: number;
  progress?: string;
  resourcesDuration?: Record<string, number>;
  podIP?: string;
  hostNodeName?: string;
  daemoned?: boolean;
  nodeFlag?: { hooked?: boolean; retried?: boolean };
  inputs?: Inputs;
  outputs?: Outputs;
  memoizationStatus?: { hit: boolean; key: string; cacheName: string };
  synchronizationStatus?: { waiting?: string };
  taskResultSynced?: boolean;
  /** Tasks started for this node so far; the number of the present one. */
  starts?: number;
  /** Locks: asked for, or held until the node ends. */
  lock?: LockNote;
  /** Epoch ms at which a timer of this node is due. */
  dueAt?: number;
  /** Latest end of the present task, and its message. */
  deadline?: number;
  deadlineMessage?: string;
  /** Ended because the engine could not carry it out. */
  isErrored?: boolean;
  /** Was never started within its time. */
  isTimedOut?: boolean;
  /** A daemon that left by itself while it was needed. */
  isLostDaemon?: boolean;
  /** Came with a status from elsewhere. */
  isImported?: boolean;
  /** Part of an exit handler or hook: survives Stop and deadlines. */
  isExit?: boolean;
}

/** Everything of a workflow but its nodes and specs. */
export interface Header {
  metadata: ObjectMeta;
  apiVersion?: string;
  kind?: string;
  phase: WorkflowPhase;
  /** `done/total` as of the last stored change: for views without nodes. */
  progress?: string;
  message?: string;
  startedAt?: number;
  finishedAt?: number;
  outputs?: Outputs;
  conditions?: Condition[];
  resourcesDuration?: Record<string, number>;
  /** Locks of the workflow as a whole. */
  lock?: LockNote;
  /** The manifest was checked and its metadata applied: not done again after a manual retry. */
  isPrepared?: boolean;
  /** What whoever stopped the workflow said. */
  stopMessage?: string;
  /** Shutdown or deadline was carried out for everything that was active. */
  shutdownDone?: string;
  /** Creation order of the node that wrote each global output. */
  outputWriters?: Record<string, number>;
  /** The last turn was over before all was done: what it began last is gone on with first. */
  isCut?: true;
  /** It could not be carried on and was ended by its header alone: its nodes are as they were. */
  isAside?: true;
  /** How it ends, while its nodes are being ended. */
  closing?: { phase: WorkflowPhase; message?: string };
  /** Next `order`. */
  sequence: number;
  /** Members of an imported status that nothing here keeps up to date. */
  imported?: Record<string, unknown>;
  /** The engine has gone on with an imported workflow. */
  hasMoved?: boolean;
  /** Host's own: state value of the life cycle machine. */
  machine?: unknown;
}

/** Locks of one holder. */
export interface LockNote {
  isHeld: boolean;
  keys: LockKey[];
  /** Which request of the workflow as a whole this is; nodes ask once each, so theirs is told by the node's order. */
  round?: number;
  /** Key waited for, and who has it. */
  waiting?: string;
  holders?: string[];
}

/** Stored apart, because it changes rarely and can be large. */
export interface StoredSpecs {
  spec: WorkflowSpec;
  storedTemplates?: Record<string, Template>;
  storedWorkflowTemplateSpec?: WorkflowSpec;
  /** Values of arguments that come from ConfigMaps, read once. */
  parameterValues?: Record<string, string>;
  /** Starts of removed nodes by node id, so that a task id is never used twice. */
  pastStarts?: Record<string, number>;
}

/** A workflow in memory. Owned by one caller and changed in place. */
export interface WorkflowState {
  header: Header;
  specs: StoredSpecs;
  nodes: Map<string, NodeRecord>;
  runtime: Runtime;
  pending: Pending;
  sizes: PartSizes;
  /** A retry that was begun: nothing goes on before all of it is done. */
  retrying?: Retrying;
  /** Requests about many nodes: nothing goes on before all of them are carried out. */
  orders?: Order[];
}

/** A retry that takes several turns. */
export interface Retrying {
  plan: RetryPlan;
  /** What is left to do, the next thing last; absent: to be found out. */
  work?: Deed[];
}

/** What a retry does to a node. */
export type Deed = readonly [
  run: (turn: Turn, node: NodeRecord, plan: RetryPlan) => void,
  node: string,
];

/** Changes since the last `takeChanges`. */
export interface Pending {
  header: boolean;
  specs: boolean;
  index: boolean;
  /** The retry has begun, or is over. */
  retrying: boolean;
  /** Requests about many nodes have come, or were gone on with. */
  orders: boolean;
  nodes: Set<string>;
  dropped: Set<string>;
  effects: Effect[];
  /** Nodes whose phase changed and whose metrics were not looked at since. */
  phased: Set<string>;
  needs: Map<string, ManifestRef>;
}

/** A state and what surrounds the present call. First parameter of everything that decides. */
export interface Turn {
  state: WorkflowState;
  env: EngineEnv;
  /** Looks at a new group at once, so that what is in it takes its places before its neighbours do. */
  visit?: (node: NodeRecord) => void;
  /** Absent: what is decided now is not to be left to another turn. */
  budget?: TurnBudget;
}

export function isCompleted(phase: NodePhase | WorkflowPhase): boolean {
  return phase === "Succeeded" || phase === "Failed" || phase === "Error";
}

export function isFailedOrError(node: Pick<NodeRecord, "phase">): boolean {
  return node.phase === "Failed" || node.phase === "Error";
}

/** Ended for those who wait for it: a daemon that runs counts as ended. */
export function isFulfilled(node: Pick<NodeRecord, "phase" | "daemoned">): boolean {
  return isCompleted(node.phase) || node.phase === "Skipped" || node.phase === "Omitted" ||
    (node.daemoned === true && node.phase !== "Pending");
}

/** Ended for good. */
export function hasEnded(node: Pick<NodeRecord, "phase">): boolean {
  return isCompleted(node.phase) || node.phase === "Skipped" || node.phase === "Omitted";
}

/** Node types whose progress is their own and not the sum of their children. */
export function isExecutable(type: NodeType): boolean {
  return type === "Pod" || type === "HTTP" || type === "Plugin" || type === "Container" ||
    type === "Suspend";
}

/** Node types whose work is a task of an executor. */
export function isTask(type: NodeType): boolean {
  return type === "Pod" || type === "HTTP" || type === "Plugin";
}

export function workflowName(state: WorkflowState): string {
  return state.header.metadata.name ?? "";
}

export function workflowNamespace(state: WorkflowState): string {
  return state.header.metadata.namespace ?? "";
}

/** The spec that is carried out: the merged one when a workflow template is referred to. */
export function executedSpec(state: WorkflowState): WorkflowSpec {
  return state.specs.storedWorkflowTemplateSpec ?? state.specs.spec;
}

export function rootOf(state: WorkflowState): NodeRecord | undefined {
  return state.nodes.get(workflowName(state));
}
