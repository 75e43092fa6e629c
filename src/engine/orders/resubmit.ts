/** Makes a new workflow from one that has run: with the same spec, and on request with the results of what succeeded. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { eachInSteps, type Steps } from "../../base/steps.ts";
import { addTo, newTable } from "../../base/table.ts";
import type { NodeStatus, ObjectMeta, Outputs, Workflow } from "../../spec/manifest.ts";
import type { EngineEnv } from "../engine.ts";
import { globalsOf, withGlobals } from "../nodes/global_outputs.ts";
import { parseParameters, withParameters } from "./parameters.ts";
import { freeId, nodeId } from "../scope/names.ts";
import { rfc3339 } from "../scope/time_text.ts";

export interface ResubmitOptions {
  /** Keeps the results of nodes that did not fail. */
  memoized?: boolean;
  /** Texts `name=value`. */
  parameters?: string[];
}

/** Labels of the old run: how it went, and what was last done to it. */
const OLD_LABELS = ["phase", "completed", "workflow-archiving-status", "action"];

/** What the name of a new workflow begins with that is made from this one. */
export function nameBaseOf({ generateName = "", name = "" }: ObjectMeta): string {
  return generateName === "" ? `${name}-` : generateName;
}

/**
 * The object to submit, step by step. It has a name only with `memoized`, because its nodes are named after it. Otherwise the name is made
 * from its generateName when it is submitted.
 * @throws {Problem} when the workflow did not fail and `memoized` is asked for, or a parameter is malformed
 */
export function* resubmitSteps(
  workflow: Workflow,
  options: ResubmitOptions,
  env: EngineEnv,
): Steps<Workflow> {
  const { metadata, spec, status } = workflow;
  if (options.memoized === true && status?.phase !== "Failed" && status?.phase !== "Error") {
    throw new Problem(
      ProblemCode.InvalidArgument,
      "workflow must be Failed/Error to resubmit in memoized mode",
    );
  }
  const oldName = metadata.name ?? "";
  const generateName = nameBaseOf(metadata);
  const labels: Record<string, string> = {};
  for (const [key, value] of Object.entries(metadata.labels ?? {})) {
    const own = key.startsWith(env.labelPrefix) ? key.slice(env.labelPrefix.length) : undefined;
    if (own !== undefined && (own.startsWith("creator") || OLD_LABELS.includes(own))) continue;
    labels[key] = value;
  }
  labels[`${env.labelPrefix}resubmitted-from-workflow`] = oldName;
  const { shutdown: _shutdown, ...newSpec } = structuredClone(spec);
  if (newSpec.activeDeadlineSeconds === 0) delete newSpec.activeDeadlineSeconds;
  const parameters = parseParameters(options.parameters ?? []);
  const name = options.memoized === true ? generateName + env.randomSuffix(5) : undefined;
  const copy: Workflow = {
    ...(workflow.apiVersion === undefined ? {} : { apiVersion: workflow.apiVersion }),
    ...(workflow.kind === undefined ? {} : { kind: workflow.kind }),
    metadata: {
      ...(name === undefined ? {} : { name }),
      generateName,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels,
      ...(metadata.annotations === undefined ? {} : { annotations: { ...metadata.annotations } }),
      ...(metadata.ownerReferences === undefined
        ? {}
        : { ownerReferences: metadata.ownerReferences }),
    },
    spec: withParameters(newSpec, parameters),
  };
  return name === undefined ? copy : yield* resultSteps(copy, workflow, name, env);
}

/** Copies the tree under the new name. What did not fail counts as done; the rest runs again. */
export function* resultSteps(
  copy: Workflow,
  from: Workflow,
  name: string,
  env: EngineEnv,
): Steps<Workflow> {
  const oldName = from.metadata.name ?? "";
  const nodes: NodeStatus[] = [];
  const { nodes: old = {} } = from.status ?? {};
  yield* eachInSteps(Object.keys(old), (id) => void nodes.push(old[id] as NodeStatus));
  const newName = (old: string) => old === oldName ? name : name + old.slice(oldName.length);
  const ids = yield* newIds(nodes, name, newName);
  const newId = (id: string) => ids.get(id) ?? id;
  const above = yield* aboveSuccess(nodes);
  const leftOut = new Set<string>();
  // Skipped, and nothing after it has succeeded.
  yield* eachInSteps(nodes, (node) => {
    if (node.type === "Skipped" && !above.has(node.id)) leftOut.add(node.name);
  });
  const kept = new Map<string, NodeStatus>();
  yield* eachInSteps(nodes, (node) => {
    if (node.name.startsWith(`${oldName}.onExit`)) return;
    if (leftOut.has(node.name) || isInHookOf(leftOut, node.name)) return;
    const id = newId(node.id);
    kept.set(id, {
      ...renew(node, env),
      id,
      name: newName(node.name),
      ...(node.children === undefined ? {} : { children: node.children.map(newId) }),
      ...(node.outboundNodes === undefined ? {} : { outboundNodes: node.outboundNodes.map(newId) }),
      ...(node.boundaryID === undefined ? {} : { boundaryID: newId(node.boundaryID) }),
    });
  });
  const shown = newTable<NodeStatus>();
  yield* eachInSteps(kept, ([id, node]) => {
    if (node.children !== undefined) node.children = node.children.filter((one) => kept.has(one));
    shown[id] = node;
  });
  yield;
  const { storedTemplates } = from.status ?? {};
  const outputs = publishedBy([...kept.values()]);
  return {
    ...copy,
    status: {
      phase: "",
      startedAt: null,
      finishedAt: null,
      nodes: shown,
      conditions: [{ type: "Completed", status: "False" }],
      ...(storedTemplates === undefined ? {} : { storedTemplates }),
      ...(outputs === undefined ? {} : { outputs }),
    },
  };
}

/** What the nodes that are not repeated have published for the whole workflow: the others may read it. */
function publishedBy(nodes: NodeStatus[]): Outputs | undefined {
  const kept = nodes.filter(({ phase }) => phase === "Skipped");
  const globals = kept.map(({ outputs = {} }) => globalsOf(outputs));
  const found = withGlobals({}, {
    parameters: globals.flatMap(({ parameters }) => parameters),
    artifacts: globals.flatMap(({ artifacts }) => artifacts),
  });
  return Object.keys(found).length === 0 ? undefined : found;
}

const PODS = new Set(["Pod", "HTTP", "Plugin", "Container"]);

/** Tells whether a node is in a hook or exit handler of one of these nodes: it would be nobody's, and begins anew with them. */
function isInHookOf(names: ReadonlySet<string>, name: string): boolean {
  for (const { index } of name.matchAll(/\.(?:onExit|hooks\.)/g)) {
    if (names.has(name.slice(0, index))) return true;
  }
  return false;
}

/** A node for the new tree. */
function renew(node: NodeStatus, env: EngineEnv): NodeStatus {
  const isFailed = node.phase === "Failed" || node.phase === "Error";
  const now = rfc3339(env.now);
  const { message: _message, ...rest } = node;
  if (node.type === "Pod" && !isFailed) {
    return {
      ...rest,
      type: "Skipped",
      phase: "Skipped",
      message: `original pod: ${node.id}`,
      startedAt: now,
      finishedAt: now,
    };
  }
  const isPod = PODS.has(node.type);
  return {
    ...rest,
    phase: "Pending",
    startedAt: isPod && isFailed ? null : now,
    finishedAt: isPod && isFailed ? null : now,
  };
}

/** Ids of the nodes below which one has succeeded. */
function* aboveSuccess(nodes: readonly NodeStatus[]): Steps<ReadonlySet<string>> {
  const parents = new Map<string, string[]>();
  yield* eachInSteps(nodes, ({ id, children = [] }) => {
    for (const child of children) addTo(parents, child, id);
  });
  const above = new Set<string>();
  const addParents = (id: string) => parents.get(id)?.forEach((parent) => above.add(parent));
  yield* eachInSteps(nodes, ({ id, phase }) => {
    if (phase === "Succeeded") addParents(id);
  });
  // What is added meanwhile comes later in the same walk.
  yield* eachInSteps(above, addParents);
  return above;
}

/** Ids under another name of the workflow, by the old ones. */
function* newIds(
  nodes: readonly NodeStatus[],
  workflow: string,
  newName: (old: string) => string,
): Steps<ReadonlyMap<string, string>> {
  const ids = new Map<string, string>();
  const taken = new Set<string>();
  yield* eachInSteps(nodes, (node) => {
    const name = newName(node.name);
    const usual = nodeId(workflow, name);
    const id = taken.has(usual) ? freeId(workflow, name, (one) => taken.has(one)) : usual;
    taken.add(id);
    ids.set(node.id, id);
  });
  return ids;
}
