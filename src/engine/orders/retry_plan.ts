/**
 * Plans a manual retry: which nodes it removes, and which groups it opens again. Looks at every node and at every edge only a
 * few times, however many nodes have failed.
 */
import { defined } from "../../base/defined.ts";
import { notFound } from "../../base/problem.ts";
import { eachInSteps, STEP_SIZE, type Steps } from "../../base/steps.ts";
import { addTo } from "../../base/table.ts";
import type { NodeType } from "../../spec/manifest.ts";
import type { ControlRequest } from "../command.ts";
import { matchesNode, parseNodeFieldSelector } from "../scope/expressions.ts";
import { edgeSteps, nothingKnown } from "../nodes/graph.ts";
import type { EdgeLimit, RetryPlan } from "../ongoing.ts";
import { rootOf, workflowName, type WorkflowState } from "../state.ts";
import { isFailedOrError, type NodeRecord } from "../records.ts";
import {
  hooksIn,
  isCutOff,
  isInFailed,
  isOfDaemon,
  isUnbegun,
  supersededIn,
} from "./retried_nodes.ts";
import { beginDaemonsAgain } from "./retry_daemons.ts";

type RetryRequest = Extract<ControlRequest, { type: "retry" }>;

/** Nodes of these types run again when they have failed. */
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
 * Works out, step by step, what a retry does. Changes nothing.
 * @throws {Problem} NotFound when a node has no parent, InvalidArgument when the selector is malformed
 */
export function* planRetry(
  state: WorkflowState,
  { nodeFieldSelector: selector = "", restartSuccessful, parameters = [] }: RetryRequest,
): Steps<RetryPlan> {
  const graph = yield* Graph.of(state);
  const terms = parseNodeFieldSelector(selector);
  const seeds = new Set<string>();
  const isSuperseded = supersededIn(state);
  if (restartSuccessful === true && selector !== "") {
    yield* eachInSteps(state.nodes.values(), (node) => {
      if (matchesNode(terms, node) && !isSuperseded(node)) seeds.add(node.id);
    });
  }
  const isOfHook = hooksIn(state);
  // That a hook or an exit handler has succeeded says nothing of the step that it belongs to; nor does that of a daemon, which
  // was stopped, or that of the containers of a pod whose outputs were lost.
  const done = yield* graph.above((node) =>
    node.phase === "Succeeded" && node.type !== "Container" && !seeds.has(node.id) &&
    !isOfHook(node) && !isOfDaemon(state, node)
  );
  const wanted = new Set(seeds);
  // Daemons that failed after others had used them.
  const lost = new Set<string>();
  const cutOff = new Set<string>();
  yield* eachInSteps(state.nodes.values(), (node) => {
    if (!isFailedOrError(node) || isSuperseded(node)) return;
    if (isCutOff(state, node)) cutOff.add(node.id);
    if (!RETRIED.has(node.type) && !isUnbegun(node)) return;
    // Nodes that depend on the failure of all attempts may have succeeded.
    const from = node.nodeFlag?.retried === true ? graph.parent(node) ?? node : node;
    if (!done.has(from.id)) wanted.add(node.id);
    else if (node.isDaemon === true && isInFailed(state, from)) lost.add(from.id);
  });
  const plan = new Planner(state, graph);
  const order = yield* graph.breadthFirst();
  yield* eachInSteps(order, (id) => {
    if (wanted.has(id) && !plan.remove.has(id)) plan.attemptAgain(id);
    else if (lost.has(id) && !plan.remove.has(id)) plan.openAround(id);
    else if (cutOff.has(id) && !plan.remove.has(id)) plan.openAgain(id);
  });
  for (const id of plan.remove) plan.reset.delete(id);
  if (parameters.length > 0) plan.fillAnew();
  const { remove, reset } = plan;
  const late = yield* beginDaemonsAgain(state, {
    remove,
    reset,
    children: (id) => graph.children(id),
    isDone: (id) => done.has(id),
    isSuperseded,
  });
  if (late !== undefined) {
    for (const id of remove) reset.delete(id);
  }
  const handler = `${workflowName(state)}.onExit`;
  yield* eachInSteps(state.nodes.values(), (node) => {
    if (node.name.startsWith(handler)) remove.add(node.id);
  });
  return { remove, reset, ...defined({ late, limit: graph.limit }) };
}

class Planner {
  /** Nodes to remove; with a node also everything below it. */
  readonly remove = new Set<string>();
  readonly reset = new Set<string>();
  readonly #state: WorkflowState;
  readonly #graph: Graph;
  /** Nodes around which all groups are opened. */
  readonly #opened = new Set<string>();
  /** Groups from which all groups above were reached. */
  readonly #climbed = new Set<string>();

  /** Nodes between a container and its pod that were passed. */
  readonly #searched = new Set<string>();

  constructor(state: WorkflowState, graph: Graph) {
    this.#state = state;
    this.#graph = graph;
  }

  /** Removes a node and all below it, and opens the groups around it. */
  attemptAgain(id: string): void {
    this.#removeTree(id);
    this.#openRetry(id);
    this.openAround(id);
  }

  /** Opens the retry node of an attempt, also one that has succeeded: only it makes the attempt again. */
  #openRetry(id: string): void {
    const node = this.#state.nodes.get(id);
    if (node?.nodeFlag?.retried !== true) return;
    const owner = this.#graph.parent(node);
    if (owner?.type === "Retry") this.reset.add(owner.id);
  }

  /** Opens a group, and those around it. */
  openAgain(id: string): void {
    this.reset.add(id);
    this.openAround(id);
  }

  /** Opens the groups around a node. */
  openAround(id: string): void {
    const node = this.#state.nodes.get(id);
    if (node === undefined || node === rootOf(this.#state)) return;
    // The node itself is not opened: it is removed.
    let current = GROUPS.has(node.type) ? this.#climb(node) : this.#outOf(node);
    while (current !== undefined) current = this.#outOf(current);
  }

  /** Removes everything below the groups that are opened, because new parameters may change all of it. */
  fillAnew(): void {
    for (const id of this.reset) {
      const type = this.#state.nodes.get(id)?.type;
      if (type !== "TaskGroup" && type !== "StepGroup") continue;
      for (const child of this.#graph.children(id)) this.#removeTree(child);
    }
  }

  #removeTree(id: string): void {
    if (this.remove.has(id)) return;
    const found = [id];
    this.remove.add(id);
    for (const one of found) {
      for (const child of this.#graph.children(one)) {
        if (this.remove.has(child)) continue;
        this.remove.add(child);
        found.push(child);
      }
    }
  }

  /** Opens a node, if it is a group. Gives the node to continue with; undefined when everything around it is open. */
  #outOf(node: NodeRecord): NodeRecord | undefined {
    if (this.#opened.has(node.id)) return undefined;
    this.#opened.add(node.id);
    const graph = this.#graph;
    if (GROUPS.has(node.type)) {
      this.reset.add(node.id);
      return this.#climb(node);
    }
    if (node.type === "Retry" && isFailedOrError(node)) this.reset.add(node.id);
    if (node.type !== "Container") return graph.parent(node);
    let pod = graph.parent(node);
    while (pod !== undefined && pod.type !== "Pod") {
      if (this.#searched.has(pod.id)) return undefined;
      this.#searched.add(pod.id);
      pod = graph.parent(pod);
    }
    if (pod === undefined) return undefined;
    this.#removeTree(pod.id);
    return graph.parent(pod);
  }

  /** Opens the groups above a group. Result as of `#outOf`. */
  #climb(from: NodeRecord): NodeRecord | undefined {
    const graph = this.#graph;
    let current = from;
    while (!this.#climbed.has(current.id)) {
      this.#climbed.add(current.id);
      let parent = graph.parent(current);
      if (parent?.type === "Retry") {
        this.reset.add(parent.id);
        current = parent;
        parent = graph.parent(current);
      }
      if (parent !== undefined && (parent.type === "StepGroup" || parent.type === "TaskGroup")) {
        this.reset.add(parent.id);
      }
      const { boundary } = current;
      if (boundary === undefined) return parent;
      const around = this.#state.nodes.get(boundary);
      if (around === undefined || !graph.isAbove(around, current)) return undefined;
      this.reset.add(around.id);
      current = around;
    }
    return undefined;
  }
}

/** Edges of the whole graph, in both directions: also those to what came after a group that failFast has ended. */
class Graph {
  readonly limit: EdgeLimit | undefined;
  readonly #state: WorkflowState;
  readonly #children: ReadonlyMap<string, readonly string[]>;
  readonly #parents = new Map<string, string[]>();
  /** One parent of each node; of several the one with the greatest id. */
  readonly #parent = new Map<string, string>();
  /** The place of each node in a depth-first walk along these parents, and the size of its subtree. */
  readonly #places = new Map<string, { at: number; size: number }>();

  private constructor(
    state: WorkflowState,
    children: ReadonlyMap<string, readonly string[]>,
    limit: EdgeLimit | undefined,
  ) {
    this.#state = state;
    this.#children = children;
    this.limit = limit;
  }

  /** @throws {Problem} NotFound when a node has no parent */
  static *of(state: WorkflowState): Steps<Graph> {
    const { children, limit } = yield* edgeSteps(state, nothingKnown(true));
    const graph = new Graph(state, children, limit);
    yield* graph.#findParents();
    const root = workflowName(state);
    yield* eachInSteps(state.nodes.values(), ({ id, name, owner, boundary }) => {
      const isFree = id === root || name.startsWith(`${root}.onExit`);
      if (isFree || graph.#parents.has(id)) return;
      // A memoized resubmit has left out what was before it.
      const around = owner ?? boundary ?? "";
      if (!state.nodes.has(around)) throw notFound(`couldn't find parent node for ${id}`);
      addTo(children, around, id);
      graph.#addParent(id, around);
    });
    yield* graph.#number();
    return graph;
  }

  *#findParents(): Steps<void> {
    let count = 0;
    for (const [id, children] of this.#children) {
      for (const child of children) {
        this.#addParent(child, id);
        if (++count % STEP_SIZE === 0) yield;
      }
    }
  }

  #addParent(child: string, parent: string): void {
    addTo(this.#parents, child, parent);
    if (parent > (this.#parent.get(child) ?? "")) this.#parent.set(child, parent);
  }

  *#number(): Steps<void> {
    const below = new Map<string, string[]>();
    yield* eachInSteps(this.#parent, ([child, parent]) => addTo(below, parent, child));
    const order: string[] = [];
    const stack: string[] = [];
    yield* eachInSteps(this.#state.nodes.keys(), (id) => {
      if (!this.#parent.has(id)) stack.push(id);
    });
    for (let id = stack.pop(); id !== undefined; id = stack.pop()) {
      this.#places.set(id, { at: order.length, size: 1 });
      order.push(id);
      for (const child of below.get(id) ?? []) stack.push(child);
      if (order.length % STEP_SIZE === 0) yield;
    }
    for (let id = order.pop(); id !== undefined; id = order.pop()) {
      const parent = this.#places.get(this.#parent.get(id) ?? "");
      if (parent !== undefined) parent.size += this.#places.get(id)?.size ?? 0;
      if (order.length % STEP_SIZE === 0) yield;
    }
  }

  children(id: string): readonly string[] {
    return this.#children.get(id) ?? [];
  }

  /** The parent of a node; of several the one with the greatest id. */
  parent(node: NodeRecord): NodeRecord | undefined {
    return this.#state.nodes.get(this.#parent.get(node.id) ?? "");
  }

  /** Tells whether a node is another one or one of its ancestors. */
  isAbove(above: NodeRecord, node: NodeRecord): boolean {
    const outer = this.#places.get(above.id);
    const inner = this.#places.get(node.id);
    return outer !== undefined && inner !== undefined &&
      inner.at >= outer.at && inner.at < outer.at + outer.size;
  }

  /** All nodes that have a wanted node below them. */
  *above(isWanted: (node: NodeRecord) => boolean): Steps<Set<string>> {
    const found = new Set<string>();
    yield* eachInSteps(this.#state.nodes.values(), (node) => {
      if (!isWanted(node)) return;
      for (const parent of this.#parents.get(node.id) ?? []) found.add(parent);
    });
    // What is found meanwhile comes later in the same walk.
    yield* eachInSteps(found, (id) => {
      for (const parent of this.#parents.get(id) ?? []) found.add(parent);
    });
    return found;
  }

  *breadthFirst(): Steps<ReadonlySet<string>> {
    const root = workflowName(this.#state);
    const order = this.#state.nodes.has(root) ? new Set([root]) : new Set<string>();
    let count = 0;
    for (const one of order) {
      for (const child of this.children(one)) {
        order.add(child);
        if (++count % STEP_SIZE === 0) yield;
      }
    }
    return order;
  }
}
