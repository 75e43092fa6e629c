/**
 * Retry of a workflow that has ended: failed nodes are removed, the groups around them are opened again, everything else
 * stays as it is. Ids do not change. A failed suspend node is attempted again, the steps before it are not.
 */
import { invalid, notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { NodeType, Parameter } from "../spec/manifest.ts";
import { cancelTask, dropNode, emit, markIndex } from "./change.ts";
import type { ControlRequest } from "./command.ts";
import { matchesNode, parseNodeFieldSelector } from "./expressions.ts";
import { setCondition } from "./finish.ts";
import { allChildren, ownOutbound } from "./graph.ts";
import { buildRuntime } from "./runtime.ts";
import {
  isFailedOrError,
  type NodeRecord,
  rootOf,
  type Turn,
  workflowName,
  type WorkflowState,
} from "./state.ts";

type RetryRequest = Extract<ControlRequest, { type: "retry" }>;

/** Nodes of these types are attempted again when they failed. */
const RETRIED: ReadonlySet<NodeType> = new Set<NodeType>([
  "Pod",
  "Container",
  "HTTP",
  "Plugin",
  "Suspend",
]);
/** Ancestors of these types are opened again. */
const GROUPS: ReadonlySet<NodeType> = new Set<NodeType>(["Steps", "StepGroup", "DAG", "TaskGroup"]);

/**
 * Makes a finished workflow ready to go on.
 * @throws {Problem} when its phase does not allow it, or the request is malformed; nothing has changed then
 */
export function retryWorkflow(turn: Turn, request: RetryRequest): void {
  const { state } = turn;
  checkPhase(state, request);
  const graph = new Graph(state);
  const plan = planRetry(state, graph, request);
  const parameters = parseParameters(request.parameters ?? []);
  if (parameters.length > 0) {
    for (const id of plan.reset) {
      const type = state.nodes.get(id)?.type;
      if (type === "TaskGroup" || type === "StepGroup") {
        for (const below of graph.below(id)) plan.remove.add(below);
      }
    }
  }
  const handler = `${workflowName(state)}.onExit`;
  for (const node of state.nodes.values()) {
    if (node.name.startsWith(handler)) plan.remove.add(node.id);
  }
  carryOut(turn, plan, graph);
  resetWorkflow(turn, parameters);
  state.runtime = buildRuntime(state.nodes.values());
}

function checkPhase({ header }: WorkflowState, request: RetryRequest): void {
  if (header.phase === "Failed" || header.phase === "Error") return;
  if (header.phase !== "Succeeded") {
    throw new Problem(
      ProblemCode.InvalidArgument,
      `Cannot retry a workflow in phase ${header.phase}`,
    );
  }
  if (request.restartSuccessful !== true || (request.nodeFieldSelector ?? "") === "") {
    throw invalid(
      "To retry a succeeded workflow, set the options restartSuccessful and nodeFieldSelector",
    );
  }
}

interface RetryPlan {
  remove: Set<string>;
  reset: Set<string>;
}

function planRetry(state: WorkflowState, graph: Graph, request: RetryRequest): RetryPlan {
  const seeds = new Set<string>();
  const selector = request.nodeFieldSelector ?? "";
  const terms = parseNodeFieldSelector(selector);
  if (request.restartSuccessful === true && selector !== "") {
    for (const node of state.nodes.values()) if (matchesNode(terms, node)) seeds.add(node.id);
  }
  const wanted = new Set(seeds);
  for (const node of state.nodes.values()) {
    if (isFailedOrError(node) && RETRIED.has(node.type) && !graph.hasSucceededBelow(node, seeds)) {
      wanted.add(node.id);
    }
  }
  const plan: RetryPlan = { remove: new Set(), reset: new Set() };
  for (const id of graph.breadthFirst()) {
    if (wanted.has(id) && !plan.remove.has(id)) removeWithAncestors(state, graph, plan, id);
  }
  for (const id of plan.remove) plan.reset.delete(id);
  return plan;
}

/** Removes a node and all below it, and opens the groups around it. */
function removeWithAncestors(
  state: WorkflowState,
  graph: Graph,
  plan: RetryPlan,
  id: string,
): void {
  plan.remove.add(id);
  for (const below of graph.below(id)) plan.remove.add(below);
  let current: NodeRecord | undefined = state.nodes.get(id);
  if (current === rootOf(state)) return;
  while (current !== undefined) {
    if (GROUPS.has(current.type) && current.id !== id) {
      plan.reset.add(current.id);
      current = climb(graph, plan, current);
    } else if (GROUPS.has(current.type)) {
      current = climb(graph, plan, current);
    } else if (current.type === "Retry" && isFailedOrError(current)) {
      plan.reset.add(current.id);
      current = graph.parent(current);
    } else if (current.type === "Container") {
      let pod: NodeRecord | undefined = graph.parent(current);
      while (pod !== undefined && pod.type !== "Pod") pod = graph.parent(pod);
      if (pod !== undefined) {
        plan.remove.add(pod.id);
        for (const below of graph.below(pod.id)) plan.remove.add(below);
        pod = graph.parent(pod);
      }
      current = pod;
    } else {
      current = graph.parent(current);
    }
  }
}

/** From a group to the next one above it that is opened as well. */
function climb(graph: Graph, plan: RetryPlan, from: NodeRecord): NodeRecord | undefined {
  let current = from;
  while (true) {
    let parent = graph.parent(current);
    if (parent?.type === "Retry") {
      plan.reset.add(parent.id);
      current = parent;
      parent = graph.parent(current);
    }
    if (parent !== undefined && (parent.type === "StepGroup" || parent.type === "TaskGroup")) {
      plan.reset.add(parent.id);
    }
    const { boundary } = current;
    if (boundary === undefined) return parent;
    let at: NodeRecord | undefined = current;
    while (at !== undefined && at.id !== boundary) at = graph.parent(at);
    if (at === undefined) return undefined;
    plan.reset.add(at.id);
    current = at;
  }
}

function carryOut(turn: Turn, plan: RetryPlan, graph: Graph): void {
  const { state, env } = turn;
  const outbound = new Map<string, string[]>();
  for (const id of plan.reset) {
    const node = state.nodes.get(id);
    if (node !== undefined && (node.type === "Steps" || node.type === "DAG")) {
      outbound.set(id, ownOutbound(state, node).filter((other) => !plan.remove.has(other)));
    }
  }
  // Survivors keep the parents they had, since what stood between may be gone.
  for (const [id, node] of state.nodes) {
    if (plan.remove.has(id) || node.after === undefined) continue;
    const parents = graph.parentsOf(id).filter((parent) => !plan.remove.has(parent));
    const { after: _after, ...rest } = node;
    state.nodes.set(id, { ...rest, parents });
    state.pending.nodes.add(id);
  }
  const pastStarts: Record<string, number> = { ...state.specs.pastStarts };
  for (const id of plan.remove) {
    const node = state.nodes.get(id);
    if (node === undefined) continue;
    if (node.starts !== undefined) {
      pastStarts[id] = node.starts;
      cancelTask(turn, node, "the node is attempted again");
    }
    if (node.lock !== undefined || node.dueAt !== undefined) {
      emit(turn, { type: "clear-timer", id: `node/${id}` });
    }
    dropNode(turn, node);
  }
  for (const id of plan.reset) {
    const node = state.nodes.get(id);
    if (node === undefined || node.phase === "Skipped") continue;
    const {
      message: _message,
      finishedAt: _finishedAt,
      isErrored: _isErrored,
      targets: _targets,
      ...rest
    } = node;
    const kept = outbound.get(id);
    state.nodes.set(id, {
      ...rest,
      phase: "Running",
      startedAt: env.now,
      ...(kept === undefined ? {} : { outbound: kept }),
    });
    state.pending.nodes.add(id);
  }
  if (Object.keys(pastStarts).length > 0) state.specs.pastStarts = pastStarts;
}

function resetWorkflow(turn: Turn, parameters: readonly Parameter[]): void {
  const { header, specs, pending } = turn.state;
  const { labelPrefix } = turn.env;
  const labels = { ...header.metadata.labels };
  delete labels[`${labelPrefix}completed`];
  delete labels[`${labelPrefix}workflow-archiving-status`];
  header.metadata = { ...header.metadata, labels };
  header.phase = "";
  delete header.message;
  delete header.stopMessage;
  delete header.finishedAt;
  header.startedAt = turn.env.now;
  if (header.imported !== undefined) {
    // The claims are made again, or found again, when the first pod needs them.
    const { persistentVolumeClaims: _claims, ...imported } = header.imported;
    header.imported = imported;
  }
  setCondition(turn, "Completed", "False");
  const { shutdown: _shutdown, ...spec } = specs.spec;
  if (spec.activeDeadlineSeconds === 0) delete spec.activeDeadlineSeconds;
  specs.spec = parameters.length === 0 ? spec : {
    ...spec,
    arguments: {
      ...spec.arguments,
      parameters: override(spec.arguments?.parameters, parameters),
    },
  };
  const stored = specs.storedWorkflowTemplateSpec;
  if (stored !== undefined) {
    const { shutdown: _stored, ...rest } = stored;
    specs.storedWorkflowTemplateSpec = parameters.length === 0 ? rest : {
      ...rest,
      arguments: {
        ...rest.arguments,
        parameters: override(rest.arguments?.parameters, parameters),
      },
    };
  }
  pending.specs = true;
  emit(turn, { type: "clear-timer", id: "ttl" });
  markIndex(turn);
}

/** Parameters with the given ones in place of those of the same name. */
export function override(
  known: readonly Parameter[] | undefined,
  given: readonly Parameter[],
): Parameter[] {
  const names = new Set(given.map(({ name }) => name));
  return [...given, ...(known ?? []).filter(({ name }) => !names.has(name))];
}

/** `name=value` texts. @throws {Problem} */
export function parseParameters(texts: readonly string[]): Parameter[] {
  return texts.map((text) => {
    const at = text.indexOf("=");
    if (at < 0) throw invalid(`expected parameter of the form: NAME=VALUE. Received: ${text}`);
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });
}

/** Edges of the workflow as clients see them, in both directions. */
class Graph {
  readonly #state: WorkflowState;
  readonly #children: Map<string, string[]>;
  readonly #parents = new Map<string, string[]>();

  constructor(state: WorkflowState) {
    this.#state = state;
    this.#children = allChildren(state);
    for (const [id, children] of this.#children) {
      for (const child of children) {
        const parents = this.#parents.get(child);
        if (parents === undefined) this.#parents.set(child, [id]);
        else parents.push(id);
      }
    }
    const root = workflowName(state);
    for (const node of state.nodes.values()) {
      const isFree = node.id === root || node.name.startsWith(`${root}.onExit`);
      if (!isFree && !this.#parents.has(node.id)) {
        throw notFound(`couldn't find parent node for ${node.id}`);
      }
    }
  }

  parentsOf(id: string): readonly string[] {
    return this.#parents.get(id) ?? [];
  }

  /** Of several parents the one with the greatest id. */
  parent(node: NodeRecord): NodeRecord | undefined {
    const id = this.parentsOf(node.id).reduce<string | undefined>(
      (best, next) => best === undefined || next > best ? next : best,
      undefined,
    );
    return id === undefined ? undefined : this.#state.nodes.get(id);
  }

  /** Everything below a node, without itself. */
  below(id: string): Set<string> {
    const found = new Set(this.#children.get(id) ?? []);
    for (const one of found) for (const child of this.#children.get(one) ?? []) found.add(child);
    return found;
  }

  breadthFirst(): Set<string> {
    const root = workflowName(this.#state);
    const order = this.#state.nodes.has(root) ? new Set([root]) : new Set<string>();
    for (const one of order) for (const child of this.#children.get(one) ?? []) order.add(child);
    return order;
  }

  /** Work that depends on the node's failure has been done. */
  hasSucceededBelow(node: NodeRecord, seeds: ReadonlySet<string>): boolean {
    const from = node.nodeFlag?.retried === true ? this.parent(node) ?? node : node;
    for (const id of this.below(from.id)) {
      if (!seeds.has(id) && this.#state.nodes.get(id)?.phase === "Succeeded") return true;
    }
    return false;
  }
}
