/** The workflow as clients see it. */
import { eachInSteps, runToEnd, STEP_SIZE, type Steps } from "../base/steps.ts";
import { newTable } from "../base/table.ts";
import type { NodeStatus, Workflow, WorkflowStatus } from "../spec/manifest.ts";
import { claimVolumes } from "./cleanup/volume_claims.ts";
import { viewLocks } from "./locks/view_locks.ts";
import { edgeSteps, type KnownOutbound, nothingKnown, ownOutbound } from "./nodes/graph.ts";
import { addResources, SumsBelow } from "./nodes/progress.ts";
import type { WorkflowState } from "./state.ts";
import { hasEnded, type Header, isExecutable, type NodeRecord } from "./records.ts";
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
  const { header, specs, nodes } = state;
  const show = options.exactTimes === true ? rfc3339WithMs : rfc3339;
  const status = headStatus(state, show);
  if (nodes.size > STEP_SIZE) yield;
  if (isOwn(header)) {
    const resources = yield* totalResources(state);
    if (resources !== undefined) status.resourcesDuration = resources;
  }
  if (options.withoutNodes !== true && nodes.size > 0) yield* addNodes(status, state, show);
  const workflow = {} as Workflow;
  if (header.apiVersion !== undefined) workflow.apiVersion = header.apiVersion;
  if (header.kind !== undefined) workflow.kind = header.kind;
  workflow.metadata = header.metadata;
  workflow.spec = specs.spec;
  workflow.status = status;
  return workflow;
}

/** The status without nodes and without what follows from all of them. */
function headStatus(state: WorkflowState, show: Show): WorkflowStatus {
  const { header, specs, runtime } = state;
  const status = shownImport(header);
  status.phase = header.phase;
  status.startedAt = timeText(header.startedAt, show);
  status.finishedAt = timeText(header.finishedAt, show);
  if (header.phase !== "" && isOwn(header)) {
    status.progress = state.nodes.size === 0 && header.progress !== undefined
      ? header.progress
      : `${runtime.progressDone}/${runtime.progressTotal}`;
    status.artifactRepositoryRef ??= {};
    status.artifactGCStatus ??= { notSpecified: true };
    const claims = claimVolumes(state);
    if (claims !== undefined) status.persistentVolumeClaims = claims;
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
  return status;
}

/** Tells whether its sums are made here. An import that has not moved shows what came with it. */
function isOwn({ imported, hasMoved }: Header): boolean {
  return imported === undefined || hasMoved === true;
}

/** A copy of what was imported. The estimate is made before the start, but shown from the start on. */
function shownImport({ imported, startedAt }: Header): WorkflowStatus {
  if (imported === undefined) return {} as WorkflowStatus;
  if (startedAt !== undefined) return { ...imported } as unknown as WorkflowStatus;
  const { estimatedDuration: _, ...shown } = imported;
  return shown as unknown as WorkflowStatus;
}

/** How a time is written. */
type Show = (at: number) => string;

function timeText(at: number | undefined, show: Show): string | null {
  return at === undefined ? null : show(at);
}

function* totalResources(state: WorkflowState): Steps<Record<string, number> | undefined> {
  let sum: Record<string, number> | undefined;
  yield* eachInSteps(state.nodes.values(), ({ type, resourcesDuration }) => {
    if (resourcesDuration !== undefined && isExecutable(type)) {
      addResources(sum ??= {}, resourcesDuration);
    }
  });
  return sum === undefined || Object.keys(sum).length === 0 ? undefined : sum;
}

function* addNodes(status: WorkflowStatus, state: WorkflowState, show: Show): Steps<void> {
  if (state.nodes.size > STEP_SIZE) yield;
  const known = nothingKnown();
  const edges = yield* edgeSteps(state, known);
  if (state.nodes.size > STEP_SIZE) yield;
  const sums = yield* SumsBelow.over(state, edges, known);
  const derived: Derived = { state, sums, known, show };
  const nodes = status.nodes = newTable<NodeStatus>();
  let synced: Record<string, boolean> | undefined;
  let count = 0;
  for (const node of state.nodes.values()) {
    const { id } = node;
    nodes[id] = viewNode(derived, node, edges.children.get(id));
    if (node.type === "Pod" && (node.starts ?? 0) > 0 && node.isImported !== true) {
      (synced ??= newTable())[id] = node.taskResultSynced === true;
    }
    if (++count % STEP_SIZE === 0) yield;
  }
  if (synced !== undefined) status.taskResultsCompletionStatus = synced;
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
  const isEndedGroup = (node.type === "Steps" || node.type === "DAG") && hasEnded(node);
  const outbound = isEndedGroup ? ownOutbound(state, node, known) : node.outbound;
  if (outbound !== undefined && outbound.length > 0) view.outboundNodes = outbound as string[];
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
