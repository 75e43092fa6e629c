/** Progress of groups: the sum over all nodes below, each counted once. It is derived when somebody asks. */
import { runToEnd, STEP_SIZE, type Steps } from "../../base/steps.ts";
import { type KnownOutbound, outboundOf } from "./graph.ts";
import { membersOf } from "../live.ts";
import { nodeId } from "../scope/names.ts";
import { workflowName, type WorkflowState } from "../state.ts";
import { isExecutable, type NodeRecord, parseProgress } from "../records.ts";

interface Sum {
  done: number;
  total: number;
  /** Undefined: none. */
  resources: Record<string, number> | undefined;
}

type Following = NodeRecord | "nothing" | undefined;

/** The children of each node, for walks. Nodes are numbers, in the order of creation. */
interface Graph {
  index: ReadonlyMap<string, number>;
  children: readonly (readonly number[])[];
  /** For each node the number of the last walk that has passed it. */
  seen: Uint32Array;
  walks: number;
}

/**
 * Sums over a node and everything below it. Each step group is above all later groups of its chain, so a walk for each group
 * would cost the square of the chain. But only one node follows a step group: the next group. So a sum is that of the node's
 * own tree plus that of the group that follows. Only inside DAGs, whose branches meet again, a walk is needed.
 */
export class SumsBelow {
  readonly #state: WorkflowState;
  readonly #nodes: readonly NodeRecord[];
  readonly #children: ReadonlyMap<string, readonly string[]>;
  readonly #known: KnownOutbound;
  #graph: Graph | undefined;
  /** Sums over each node and its members, without what follows. */
  readonly #own = new Map<string, Sum>();
  readonly #groups = new Map<string, Sum>();
  readonly #next = new Map<string, Following>();
  /** After a manual retry: for the nodes that contain a parent of a node that was kept, what follows them. */
  readonly #kept = new Map<string, Following>();
  /** Hooks of the workflow that are children of its first node. */
  readonly #hooks: NodeRecord[] = [];
  #hasImports = false;

  private constructor(
    state: WorkflowState,
    nodes: readonly NodeRecord[],
    children: ReadonlyMap<string, readonly string[]>,
    known: KnownOutbound,
  ) {
    this.#state = state;
    this.#nodes = nodes;
    this.#children = children;
    this.#known = known;
  }

  /** Sums over all nodes of a workflow, step by step. */
  static *over(
    state: WorkflowState,
    children: ReadonlyMap<string, readonly string[]>,
    known: KnownOutbound,
  ): Steps<SumsBelow> {
    const nodes = [...state.nodes.values()].sort((a, b) => a.order - b.order);
    const sums = new SumsBelow(state, nodes, children, known);
    if (nodes.length > STEP_SIZE) yield;
    let hasDag = false;
    for (const [at, node] of nodes.entries()) {
      sums.#own.set(node.id, ownSum(node));
      if (node.isImported === true) sums.#hasImports = true;
      if (node.type === "DAG") hasDag = true;
      if (node.owner === undefined && node.role === "hook" && node.parents !== undefined) {
        sums.#hooks.push(node);
      }
      if (isKept(node)) sums.#noteKept(node);
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    // Owners are older than their members.
    for (let at = nodes.length - 1; at >= 0; at--) {
      const { id, owner } = nodes[at] as NodeRecord;
      const above = owner === undefined ? undefined : sums.#own.get(owner);
      if (above !== undefined) addSum(above, sums.#own.get(id));
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    if (hasDag || sums.#hasImports) sums.#graph = yield* sums.#graphSteps();
    return sums;
  }

  /** Notes which nodes a node follows that a manual retry has kept. The nodes between may be gone, or be others now. */
  #noteKept(node: NodeRecord): void {
    const { nodes } = this.#state;
    const following = node.role === "group" ? node : undefined;
    for (const parent of node.parents ?? []) {
      for (
        let at = nodes.get(parent);
        at !== undefined && at.id !== node.owner;
        at = at.owner === undefined ? undefined : nodes.get(at.owner)
      ) {
        const isOther = this.#kept.has(at.id) && this.#kept.get(at.id) !== following;
        this.#kept.set(at.id, isOther ? undefined : following);
      }
    }
  }

  of(node: NodeRecord): Sum {
    const next = this.#hasImports ? undefined : this.#following(node);
    if (next === undefined) return this.#walked(node.id);
    const own = this.#own.get(node.id);
    if (node.role === "root") {
      return this.#hooks.reduce((sum, { id }) => joined(sum, this.#own.get(id)), own ?? emptySum());
    }
    return next === "nothing" ? own ?? emptySum() : joined(own, this.#ofGroup(next));
  }

  /** The sum over a step group and all that follows it. */
  #ofGroup(group: NodeRecord): Sum {
    const chain: NodeRecord[] = [];
    let last: Sum | undefined;
    for (let at: NodeRecord | undefined = group; at !== undefined;) {
      last = this.#groups.get(at.id);
      if (last !== undefined) break;
      chain.push(at);
      const next = this.#following(at);
      if (next === undefined) {
        last = this.#walked(at.id);
        this.#groups.set(at.id, last);
        chain.pop();
      }
      at = next === undefined || next === "nothing" ? undefined : next;
    }
    for (const at of chain.reverse()) {
      last = joined(this.#own.get(at.id), last);
      this.#groups.set(at.id, last);
    }
    return last ?? emptySum();
  }

  /** The step group that follows a node and its members; undefined where only a walk can tell. */
  #following(node: NodeRecord): Following {
    // The answer is the same for all nodes on the way up, so each is passed only once: recursion may be deep.
    const passed: NodeRecord[] = [];
    const found = this.#climb(node, passed);
    for (const { id } of passed) this.#next.set(id, found);
    return found;
  }

  #climb(node: NodeRecord, passed: NodeRecord[]): Following {
    const { nodes } = this.#state;
    let at = node;
    // On the way out of a retry node from inside one of its members.
    let isInside = false;
    while (true) {
      if (this.#kept.has(at.id)) return at === node ? this.#kept.get(at.id) : "nothing";
      if (!isInside) {
        if (this.#next.has(at.id)) return this.#next.get(at.id);
        passed.push(at);
      }
      const owner = at.owner === undefined ? undefined : nodes.get(at.owner);
      if (owner === undefined) return "nothing";
      if (isOfRetry(at, owner)) {
        if (membersOf(owner).at(-1) !== at) return "nothing";
        at = owner;
        continue;
      }
      // What hooks leave is not awaited, except at the loops of DAGs.
      if (at.role === "hook") return owner.type === "TaskGroup" ? undefined : "nothing";
      const group = at.role === "group" ? at : owner;
      if (group.type !== "StepGroup") return undefined;
      if (outboundOf(this.#state, at, this.#known).length === 0) return "nothing";
      const steps = group.owner === undefined ? undefined : nodes.get(group.owner);
      if (steps === undefined) return undefined;
      const name = `${steps.name}[${(group.index ?? 0) + 1}]`;
      const next = nodes.get(nodeId(workflowName(this.#state), name));
      // What follows a retry node is a child of its last member, not of the nodes inside that.
      if (next !== undefined && (isInside || isKept(next))) return "nothing";
      // A damaged index may lead to an earlier group.
      if (next !== undefined) return next.order > group.order ? next : undefined;
      if (steps.role === "root") return "nothing";
      const above = steps.owner === undefined ? undefined : nodes.get(steps.owner);
      isInside = above !== undefined && isOfRetry(steps, above);
      at = steps;
    }
  }

  #walked(id: string): Sum {
    const sum = emptySum();
    const graph = this.#graph ??= runToEnd(this.#graphSteps());
    const start = graph.index.get(id);
    if (start === undefined) return sum;
    const walk = ++graph.walks;
    const stack = [start];
    graph.seen[start] = walk;
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      const node = this.#nodes[at];
      if (node !== undefined) addOwn(sum, node);
      for (const child of graph.children[at] ?? []) {
        if (graph.seen[child] === walk) continue;
        graph.seen[child] = walk;
        stack.push(child);
      }
    }
    return sum;
  }

  *#graphSteps(): Steps<Graph> {
    const index = new Map<string, number>();
    for (const { id } of this.#nodes) {
      index.set(id, index.size);
      if (index.size % STEP_SIZE === 0) yield;
    }
    const children: number[][] = [];
    for (const { id } of this.#nodes) {
      const below: number[] = [];
      for (const child of this.#children.get(id) ?? []) {
        const at = index.get(child);
        if (at !== undefined) below.push(at);
      }
      if (children.push(below) % STEP_SIZE === 0) yield;
    }
    return { index, children, seen: new Uint32Array(children.length), walks: 0 };
  }
}

/** Tells whether a node has other parents than a new one would have: those from before a manual retry. */
function isKept({ role, parents, owner }: NodeRecord): boolean {
  if (parents === undefined || (role !== "group" && role !== "member" && role !== "loop")) {
    return false;
  }
  return parents.length !== 1 || parents[0] !== owner;
}

/** Tells whether a node is an attempt or a hook of a retry node. What comes after that is a child of its last member. */
function isOfRetry(node: NodeRecord, owner: NodeRecord): boolean {
  return node.role === "attempt" || (node.role === "hook" && owner.type === "Retry");
}

function emptySum(): Sum {
  return { done: 0, total: 0, resources: undefined };
}

function ownSum(node: NodeRecord): Sum {
  const sum = emptySum();
  addOwn(sum, node);
  return sum;
}

/** Adds what a node has itself. */
function addOwn(sum: Sum, { type, progress, resourcesDuration }: NodeRecord): void {
  if (!isExecutable(type)) return;
  const [done, total] = parseProgress(progress ?? "");
  sum.done += done;
  sum.total += total;
  if (resourcesDuration !== undefined) addResources(sum.resources ??= {}, resourcesDuration);
}

function addSum(sum: Sum, more: Sum | undefined): void {
  if (more === undefined) return;
  sum.done += more.done;
  sum.total += more.total;
  if (more.resources !== undefined) addResources(sum.resources ??= {}, more.resources);
}

function joined(a: Sum | undefined, b: Sum | undefined): Sum {
  const sum = emptySum();
  addSum(sum, a);
  addSum(sum, b);
  return sum;
}

/** Adds seconds by resource. */
export function addResources(
  sum: Record<string, number>,
  more: Readonly<Record<string, number>> | undefined,
): void {
  if (more === undefined) return;
  for (const [resource, seconds] of Object.entries(more)) {
    sum[resource] = (sum[resource] ?? 0) + seconds;
  }
}
