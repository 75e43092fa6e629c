/** Makes the state of a workflow from a submitted object, or from one that has run before (imports, resubmits). */
import { inOnePiece } from "../base/flat_text.ts";
import { cloneJson } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { eachInSteps, runToEnd, sortSteps, type Steps } from "../base/steps.ts";
import { addTo, newTable } from "../base/table.ts";
import type { NodeStatus, Workflow, WorkflowStatus } from "../spec/manifest.ts";
import { emptyPending, type WorkflowState } from "./state.ts";
import type { EngineEnv } from "./engine.ts";
import { NODES_SETTING } from "./limits.ts";
import { noSizes } from "./part_sizes.ts";
import { adoptedLife } from "./life/life.ts";
import { emptyRuntime, type Runtime, runtimeSteps } from "./runtime.ts";
import { LIVE } from "./live.ts";
import {
  blankHeader,
  blankNode,
  hasEnded,
  type Header,
  type NodeRecord,
  type Role,
  SCHEMA,
  type StoredSpecs,
} from "./records.ts";

type NodeMap = WorkflowState["nodes"];

/**
 * A new workflow in memory, all of which has to be stored. A status is taken over as it is.
 * @param workflow With name, namespace, uid and creationTimestamp.
 * @param isChecked The manifest is known to be valid.
 * @throws {Problem} when its status has more nodes than a workflow may have
 */
export function createWorkflow(
  workflow: Workflow,
  env: EngineEnv,
  isChecked = false,
): WorkflowState {
  return runToEnd(createSteps(workflow, env, isChecked));
}

/** The same, step by step, for one whose status may have many nodes. */
export function* createSteps(
  workflow: Workflow,
  env: EngineEnv,
  isChecked = false,
): Steps<WorkflowState> {
  checkCount(workflow, env);
  const { status } = workflow;
  const given = status?.nodes;
  if (status === undefined || given === undefined) {
    return stateOf(cloneJson(workflow), new Map(), emptyRuntime(), isChecked);
  }
  const statuses = newTable<NodeStatus>();
  yield* eachInSteps(Object.keys(given), (id) => {
    statuses[id] = cloneJson(given[id] as NodeStatus);
  });
  const nodes = yield* importSteps(statuses);
  const { nodes: _given, ...head } = status;
  const own = cloneJson<Workflow>({ ...workflow, status: head });
  return stateOf(own, nodes, yield* runtimeSteps(nodes), isChecked);
}

/**
 * The same, step by step, for an object that was just read and that nobody else has.
 * @throws {Error} when it is no workflow
 */
export function* recreateSteps(workflow: Workflow): Steps<WorkflowState> {
  const statuses = workflow.status?.nodes;
  const nodes: NodeMap = statuses === undefined ? new Map() : yield* importSteps(statuses);
  return stateOf(workflow, nodes, yield* runtimeSteps(nodes), false);
}

function stateOf(
  { metadata, spec, status, apiVersion, kind }: Workflow,
  nodes: NodeMap,
  runtime: Runtime,
  isChecked: boolean,
): WorkflowState {
  if (metadata.name !== undefined) metadata.name = inOnePiece(metadata.name);
  const phase = status?.phase ?? "";
  const specs: StoredSpecs = {
    spec,
    ...(status?.storedTemplates === undefined ? {} : { storedTemplates: status.storedTemplates }),
    ...(status?.storedWorkflowTemplateSpec === undefined
      ? {}
      : { storedWorkflowTemplateSpec: status.storedWorkflowTemplateSpec }),
  };
  const header = blankHeader(metadata, phase, adoptedLife({ phase }, specs));
  header.apiVersion = apiVersion;
  header.kind = kind;
  header.sequence = nodes.size;
  Object.assign(header, importStatus(status));
  const pending = emptyPending();
  pending.header = pending.specs = pending.index = true;
  pending.nodes = [...nodes.values()];
  for (const node of pending.nodes) node[LIVE].isChanged = true;
  runtime.isChecked = isChecked;
  return {
    header,
    specs,
    nodes,
    runtime,
    pending,
    sizes: noSizes(),
    shownWait: undefined,
  };
}

function checkCount({ status }: Workflow, { limits }: EngineEnv): void {
  const count = Object.keys(status?.nodes ?? {}).length;
  if (limits === undefined || count <= limits.nodes) return;
  throw invalid(`status.nodes has ${count} nodes: ${NODES_SETTING} allows ${limits.nodes}`);
}

/** Members of a status for which the header has members of its own. */
const OWN = new Set([
  ...["phase", "message", "startedAt", "finishedAt", "nodes", "storedTemplates", "outputs"],
  ...["storedWorkflowTemplateSpec", "conditions"],
]);

function importStatus(status: WorkflowStatus | undefined): Partial<Header> {
  if (status === undefined) return {};
  const { message, outputs, conditions } = status;
  const others = Object.entries(status).filter(([member]) => !OWN.has(member));
  return {
    ...(message === undefined ? {} : { message }),
    ...timeOf("startedAt", status.startedAt),
    ...timeOf("finishedAt", status.finishedAt),
    ...(outputs === undefined ? {} : { outputs }),
    ...(conditions === undefined ? {} : { conditions }),
    ...(status.phase === undefined || status.phase === "" ? {} : { isPrepared: true }),
    ...(others.length === 0 && (status.phase ?? "") === ""
      ? {}
      : { imported: Object.fromEntries(others) }),
  };
}

function timeOf<K extends string>(
  key: K,
  text: string | null | undefined,
): { [key in K]?: number } {
  const at = text === undefined || text === null ? NaN : Date.parse(text);
  return Number.isNaN(at) ? {} : { [key]: at } as { [key in K]?: number };
}

/** Nodes to import, and their ids by name. */
interface Imported {
  statuses: Record<string, NodeStatus>;
  ids: ReadonlyMap<string | undefined, string>;
}

/** Records of nodes that clients have written. Names and edges tell their places in the tree. */
function* importSteps(statuses: Record<string, NodeStatus>): Steps<NodeMap> {
  const parents = new Map<string, string[]>();
  const ids = new Map<string | undefined, string>();
  const all = Object.keys(statuses);
  yield* eachInSteps(all, (key) => {
    const { children = [], id, name } = statuses[key] as NodeStatus;
    if (!ids.has(name)) ids.set(name, id);
    for (const child of children) addTo(parents, child, key);
  });
  const tree: Imported = { statuses, ids };
  const nodes: NodeMap = new Map();
  const order = yield* breadthFirst(statuses, yield* sortSteps(all, inOrder), parents);
  yield* eachInSteps(order, (id) => {
    nodes.set(id, importNode(tree, id, nodes.size, parents.get(id) ?? []));
  });
  return nodes;
}

function inOrder(a: string, b: string): number {
  return a < b ? -1 : 1;
}

/** Ids in the order in which the tree grows, then those that are not reached from the root. @param all ids, sorted */
function* breadthFirst(
  statuses: Record<string, NodeStatus>,
  all: readonly string[],
  parents: ReadonlyMap<string, unknown>,
): Steps<ReadonlySet<string>> {
  const seen = new Set<string>();
  const isInside = (id: string) => (statuses[id]?.boundaryID ?? "") !== "";
  // What comes after a step that was left out has no parent either, but is not the first of its template.
  for (const inside of [false, true]) {
    yield* eachInSteps(all, (id) => {
      if (!parents.has(id) && isInside(id) === inside) seen.add(id);
    });
    // What is added meanwhile comes later in the same walk.
    yield* eachInSteps(seen, (id) => {
      for (const child of statuses[id]?.children ?? []) if (statuses[child]) seen.add(child);
    });
  }
  yield* eachInSteps(all, (id) => void seen.add(id));
  return seen;
}

function importNode(
  tree: Imported,
  id: string,
  order: number,
  parents: string[],
): NodeRecord {
  const { statuses } = tree;
  const status = statuses[id] as NodeStatus;
  const { children: _children, outboundNodes, boundaryID, startedAt, finishedAt, ...rest } = status;
  const { type, phase = "Pending" } = status;
  const name = status.name ?? id;
  const boundary = boundaryID === undefined || boundaryID === "" ? undefined : statuses[boundaryID];
  const place = placeOf(tree, status, boundary, parents);
  const node = blankNode(id, name, status.displayName ?? name, place.role, type, phase);
  // A status may have members that are not known here; they are kept.
  Object.assign(node, rest, place);
  Object.assign(node, timeOf("startedAt", startedAt), timeOf("finishedAt", finishedAt));
  node.schema = SCHEMA;
  node.id = id;
  node.name = name;
  node.order = order;
  node.boundary = boundary?.id;
  if (parents.length > 0) node.parents = parents;
  // A group that has ended and shows none has none; elsewhere they would be worked out from the tree.
  const isEndedGroup = (type === "Steps" || type === "DAG") && hasEnded(node);
  node.outbound = outboundNodes ?? (isEndedGroup ? [] : undefined);
  if (type === "Pod" && phase !== "Pending") node.starts = 1;
  node.isImported = true;
  return node;
}

interface Place {
  role: Role;
  owner?: string;
  step?: string;
  index?: number;
  hook?: string;
}

function placeOf(
  tree: Imported,
  node: NodeStatus,
  boundary: NodeStatus | undefined,
  parents: readonly string[],
): Place {
  const { name = "" } = node;
  const hook = /^(.*)\.(?:onExit|hooks\.([^.]+))$/s.exec(name);
  const { statuses } = tree;
  const byName = (wanted: string) => tree.ids.get(wanted);
  if (node.type === "Container" && boundary !== undefined) {
    return { role: "container", owner: boundary.id };
  }
  // The retry node of a hook has the same flag as its attempts.
  if (node.nodeFlag?.retried === true && node.type !== "Retry") {
    const [, base = "", index] = /^(.*)\((\d+)\)$/s.exec(name) ?? [];
    const owner = byName(base);
    const outer = owner === undefined ? undefined : statuses[owner];
    const place = outer === undefined ? {} : placeOf(tree, outer, boundary, parents);
    const { step } = place as Partial<Place>;
    return {
      role: "attempt",
      index: Number(index ?? 0),
      ...(owner === undefined ? {} : { owner }),
      ...(step === undefined ? {} : { step }),
    };
  }
  if (node.nodeFlag?.hooked === true && hook !== null) {
    const owner = byName(hook[1] ?? "");
    const member = owner === undefined ? undefined : statuses[owner];
    const isOfWorkflow = member === undefined || member.boundaryID === undefined ||
      member.boundaryID === "";
    const step = isOfWorkflow || member === undefined
      ? undefined
      : placeOf(tree, member, boundary, []).step;
    return {
      role: "hook",
      hook: hook[2] ?? "exit",
      ...(isOfWorkflow || owner === undefined ? {} : { owner }),
      ...(step === undefined ? {} : { step }),
    };
  }
  if (boundary === undefined) return { role: "root" };
  const rest = name.slice((boundary.name ?? "").length);
  if (node.type === "StepGroup") {
    return { role: "group", owner: boundary.id, index: Number(/^\[(\d+)\]/.exec(rest)?.[1] ?? 0) };
  }
  const [, group, step = "", loop] = /^(\[\d+\])?\.([^.(]+)(?:\((\d+):.*\))?$/s.exec(rest) ?? [];
  const index = loop === undefined ? {} : { index: Number(loop) };
  if (group !== undefined) {
    const owner = byName(`${boundary.name}${group}`) ?? boundary.id;
    return { role: "member", owner, step, ...index };
  }
  if (node.type === "TaskGroup") return { role: "loop", owner: boundary.id, step };
  const owner = loop === undefined
    ? boundary.id
    : byName(`${boundary.name}.${step}`) ?? boundary.id;
  return { role: "member", owner, step, ...index };
}
