/** The workflow as clients see it. */
import type { JsonObject } from "../base/json.ts";
import { runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import { newTable } from "../base/table.ts";
import type { NodeStatus, Workflow, WorkflowStatus } from "../spec/manifest.ts";
import { edgeSteps, type KnownOutbound, nothingKnown, ownOutbound } from "./nodes/graph.ts";
import { addResources, SumsBelow } from "./nodes/progress.ts";
import type { WorkflowState } from "./state.ts";
import { hasEnded, isExecutable, type LockNote, type NodeRecord } from "./records.ts";
import { rfc3339, rfc3339WithMs } from "./scope/time_text.ts";

export interface ViewOptions {
  /** Leaves out `status.nodes`: for lists, and for workflows that would be too large. */
  withoutNodes?: boolean;
  /** Shows when the workflow and its nodes started and finished in milliseconds, not in whole seconds. */
  exactTimes?: boolean;
}

/** The object as the API shows it. It shares parts with the state, so it must not be changed. */
export function viewWorkflow(state: WorkflowState, options: ViewOptions = {}): Workflow {
  return runToEnd(viewSteps(state, options));
}

/** The same, step by step, for a workflow with many nodes. */
export function* viewSteps(state: WorkflowState, options: ViewOptions = {}): Steps<Workflow> {
  const { header, specs } = state;
  return {
    ...(header.apiVersion === undefined ? {} : { apiVersion: header.apiVersion }),
    ...(header.kind === undefined ? {} : { kind: header.kind }),
    metadata: header.metadata,
    spec: specs.spec,
    status: yield* viewStatus(state, options),
  };
}

function* viewStatus(state: WorkflowState, options: ViewOptions): Steps<WorkflowStatus> {
  const { header, specs, runtime } = state;
  const show = options.exactTimes === true ? rfc3339WithMs : rfc3339;
  const status: WorkflowStatus = {
    ...header.imported,
    phase: header.phase,
    startedAt: timeText(header.startedAt, show),
    finishedAt: timeText(header.finishedAt, show),
  };
  // The estimate is made before the start, but shown from the start on.
  if (header.startedAt === undefined) delete status.estimatedDuration;
  if (header.phase !== "" && (header.imported === undefined || header.hasMoved === true)) {
    status.progress = state.nodes.size === 0 && header.progress !== undefined
      ? header.progress
      : `${runtime.progressDone}/${runtime.progressTotal}`;
    status.artifactRepositoryRef ??= {};
    status.artifactGCStatus ??= { notSpecified: true };
  }
  if (header.message !== undefined) status.message = header.message;
  if (header.conditions !== undefined) status.conditions = header.conditions;
  if (header.outputs !== undefined) status.outputs = header.outputs;
  if (specs.storedTemplates !== undefined) status.storedTemplates = specs.storedTemplates;
  if (specs.storedWorkflowTemplateSpec !== undefined) {
    status.storedWorkflowTemplateSpec = specs.storedWorkflowTemplateSpec;
  }
  const locks = viewLocks(state);
  if (locks !== undefined) status.synchronization = locks;
  if (state.nodes.size > STEP_SIZE) yield;
  const resources = totalResources(state);
  if (resources !== undefined) status.resourcesDuration = resources;
  if (options.withoutNodes !== true && state.nodes.size > 0) {
    status.nodes = yield* viewNodes(state, show);
    const synced = yield* taskResults(state);
    if (synced !== undefined) status.taskResultsCompletionStatus = synced;
  }
  return status;
}

/** How a time is written. */
type Show = (at: number) => string;

function timeText(at: number | undefined, show: Show): string | null {
  return at === undefined ? null : show(at);
}

function totalResources(state: WorkflowState): Record<string, number> | undefined {
  const sum: Record<string, number> = {};
  for (const node of state.nodes.values()) {
    if (isExecutable(node.type)) addResources(sum, node.resourcesDuration);
  }
  if (Object.keys(sum).length > 0) return sum;
  return undefined;
}

function* taskResults(state: WorkflowState): Steps<Record<string, boolean> | undefined> {
  const results = newTable<boolean>();
  let count = 0;
  for (const node of state.nodes.values()) {
    if (node.type !== "Pod" || (node.starts ?? 0) === 0 || node.isImported === true) continue;
    results[node.id] = node.taskResultSynced === true;
    if (++count % STEP_SIZE === 0) yield;
  }
  return count === 0 ? undefined : results;
}

function* viewNodes(state: WorkflowState, show: Show): Steps<Record<string, NodeStatus>> {
  if (state.nodes.size > STEP_SIZE) yield;
  const known = nothingKnown();
  const { children } = yield* edgeSteps(state, known);
  if (state.nodes.size > STEP_SIZE) yield;
  const nodes = newTable<NodeStatus>();
  const sums = yield* SumsBelow.over(state, children, known);
  let count = 0;
  for (const node of state.nodes.values()) {
    nodes[node.id] = viewNode({ state, sums, known, show }, node, children.get(node.id));
    if (++count % STEP_SIZE === 0) yield;
  }
  return nodes;
}

/** What the views of nodes are derived from, and how they show times. */
interface Derived {
  state: WorkflowState;
  sums: SumsBelow;
  known: KnownOutbound;
  show: Show;
}

function viewNode(
  { state, sums, known, show }: Derived,
  node: NodeRecord,
  children: string[] | undefined,
): NodeStatus {
  const view = ownMembers(node, show);
  if (children !== undefined && children.length > 0) view.children = children;
  const isGroup = node.type === "Steps" || node.type === "DAG";
  const outbound = isGroup && (hasEnded(node) || node.outbound !== undefined)
    ? ownOutbound(state, node, known)
    : node.outbound ?? [];
  if (outbound.length > 0) view.outboundNodes = outbound as string[];
  if (isExecutable(node.type) || (node.isImported === true && state.header.hasMoved !== true)) {
    if (node.progress !== undefined) view.progress = node.progress;
    if (node.resourcesDuration !== undefined) view.resourcesDuration = node.resourcesDuration;
  } else {
    const sum = sums.of(node);
    if (sum.total > 0) view.progress = `${sum.done}/${sum.total}`;
    else if (node.progress !== undefined) view.progress = node.progress;
    if (sum.resources !== undefined && Object.keys(sum.resources).length > 0) {
      view.resourcesDuration = sum.resources;
    }
  }
  return view;
}

/** What a node shows as it is stored. Written out member by member: this is much of the work of an answer. */
function ownMembers(node: NodeRecord, show: Show): NodeStatus {
  const { id, name, displayName, type } = node;
  const view = { id, name, displayName, type } as NodeStatus;
  if (node.templateName !== undefined) view.templateName = node.templateName;
  if (node.templateRef !== undefined) view.templateRef = node.templateRef;
  if (node.templateScope !== undefined) view.templateScope = node.templateScope;
  view.phase = node.phase;
  if (node.message !== undefined) view.message = node.message;
  if (node.podIP !== undefined) view.podIP = node.podIP;
  if (node.hostNodeName !== undefined) view.hostNodeName = node.hostNodeName;
  if (node.daemoned !== undefined) view.daemoned = node.daemoned;
  if (node.nodeFlag !== undefined) view.nodeFlag = node.nodeFlag;
  if (node.inputs !== undefined) view.inputs = node.inputs;
  if (node.outputs !== undefined) view.outputs = node.outputs;
  if (node.memoizationStatus !== undefined) view.memoizationStatus = node.memoizationStatus;
  if (node.synchronizationStatus !== undefined) {
    view.synchronizationStatus = node.synchronizationStatus;
  }
  if (node.taskResultSynced !== undefined) view.taskResultSynced = node.taskResultSynced;
  if (node.boundary !== undefined) view.boundaryID = node.boundary;
  view.startedAt = timeText(node.startedAt, show);
  view.finishedAt = timeText(node.finishedAt, show);
  return view;
}

interface Holding {
  semaphore?: string;
  mutex?: string;
  holders?: string[];
  holder?: string;
}

/** `status.synchronization`: who holds and who waits, while the workflow runs. */
function viewLocks(state: WorkflowState): JsonObject | undefined {
  if (state.header.finishedAt !== undefined) return undefined;
  if (state.header.lock === undefined && state.runtime.lockers === undefined) return undefined;
  const { namespace, name } = state.header.metadata;
  const own = `${namespace ?? ""}/${name ?? ""}`;
  const kinds: Record<
    "semaphore" | "mutex",
    { holding: Map<string, string[]>; waiting: Map<string, string[]> }
  > = {
    semaphore: { holding: new Map(), waiting: new Map() },
    mutex: { holding: new Map(), waiting: new Map() },
  };
  const add = (holder: string, lock: LockNote) => {
    for (const { kind, key } of lock.keys) {
      if (lock.isHeld) {
        const list = kinds[kind].holding.get(key) ?? [];
        kinds[kind].holding.set(key, [...list, holder]);
      } else if (key === lock.waiting) kinds[kind].waiting.set(key, lock.holders ?? []);
    }
  };
  if (state.header.lock !== undefined) add(own, state.header.lock);
  for (const id of state.runtime.lockers ?? []) {
    const node = state.nodes.get(id);
    if (node?.lock !== undefined) add(`${own}/${node.id}`, node.lock);
  }
  const view: Record<string, { holding?: Holding[]; waiting?: Holding[] }> = {};
  for (const kind of ["semaphore", "mutex"] as const) {
    const holding = entries(kind, kinds[kind].holding);
    const waiting = entries(kind, kinds[kind].waiting);
    if (holding.length + waiting.length === 0) continue;
    view[kind] = {
      ...(holding.length === 0 ? {} : { holding }),
      ...(waiting.length === 0 ? {} : { waiting }),
    };
  }
  return Object.keys(view).length === 0 ? undefined : view as unknown as JsonObject;
}

function entries(kind: "semaphore" | "mutex", locks: Map<string, string[]>): Holding[] {
  return [...locks].map(([key, holders]) =>
    kind === "semaphore"
      ? { semaphore: key, ...(holders.length === 0 ? {} : { holders }) }
      : { mutex: key, ...(holders[0] === undefined ? {} : { holder: holders[0] }) }
  );
}
