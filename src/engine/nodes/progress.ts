/** Progress of groups: the sum over all nodes below, each counted once. It is derived when somebody asks. */
import { runToEnd, STEP_SIZE, type Steps } from "../../base/steps.ts";
import { membersOf, ownerOf } from "../live.ts";
import { type Edges, type KnownOutbound, outboundOf } from "./graph.ts";
import type { WorkflowState } from "../state.ts";
import { isExecutable, type NodeRecord, parseProgress } from "../records.ts";

interface Sum {
  done: number;
  total: number;
  /** Undefined: none. */
  resources: Record<string, number> | undefined;
}

/** Up to so many nodes of a workflow, a walk for each group costs less than to know what follows what. */
const MAX_WALKED = 32;

type Following = NodeRecord | "nothing" | undefined;

/** The children of each node, for walks. Nodes are numbers, in the order of creation. */
interface Graph {
  index: ReadonlyMap<string, number>;
  children: readonly (readonly number[])[];
  /** For each node the number of the last walk that has passed it. */
  seen: Uint32Array;
  walks: number;
}

/** What is known of a node. */
interface Known {
  node: NodeRecord;
  /** Sum over the node and its members, without what follows. */
  own: Sum;
  /** Of a Steps node: its groups by their index. */
  groups: NodeRecord[] | undefined;
  /** Of a step group: the sum over it and all that follows it, once somebody has asked. */
  chain: Sum | undefined;
  /** What follows, once somebody has asked. */
  following: Following | "unknown";
}

/**
 * Sums over a node and everything below it. Each step group is above all later groups of its chain, so a walk for each group
 * would cost the square of the chain. But only one node follows a step group: the next group. So a sum is that of the node's
 * own tree plus that of the group that follows. Only inside DAGs, whose branches meet again, a walk is needed.
 */
export class SumsBelow {
  readonly #state: WorkflowState;
  readonly #edges: Edges;
  readonly #outbound: KnownOutbound;
  readonly #known = new Map<string, Known>();
  #graph: Graph | undefined;
  /** After a manual retry: for the nodes that contain a parent of a node that was kept, what follows them. */
  #kept: Map<string, Following> | undefined;
  /** Hooks of the workflow that are children of its first node. */
  #hooks: NodeRecord[] | undefined;
  #hasImports = false;

  private constructor(state: WorkflowState, edges: Edges, outbound: KnownOutbound) {
    this.#state = state;
    this.#edges = edges;
    this.#outbound = outbound;
  }

  /** Sums over all nodes of a workflow, step by step. */
  static *over(state: WorkflowState, edges: Edges, outbound: KnownOutbound): Steps<SumsBelow> {
    const sums = new SumsBelow(state, edges, outbound);
    const { ordered } = edges;
    if (ordered.length <= MAX_WALKED) return sums;
    let hasDag = false;
    for (let at = 0; at < ordered.length; at++) {
      const node = ordered[at] as NodeRecord;
      if (node.type === "DAG") hasDag = true;
      sums.#note(node);
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    // Owners are older than their members.
    for (let at = ordered.length - 1; at >= 0; at--) {
      const { id, owner } = ordered[at] as NodeRecord;
      const above = owner === undefined ? undefined : sums.#known.get(owner);
      if (above !== undefined) addSum(above.own, sums.#known.get(id)?.own);
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    if (hasDag || sums.#hasImports) sums.#graph = yield* sums.#graphSteps();
    return sums;
  }

  #note(node: NodeRecord): void {
    const { id, owner, role, index = 0 } = node;
    const own = emptySum();
    addOwn(own, node);
    this.#known.set(id, { node, own, groups: undefined, chain: undefined, following: "unknown" });
    if (node.isImported === true) this.#hasImports = true;
    if (isKept(node)) this.#noteKept(node);
    if (owner === undefined) {
      if (role === "hook" && node.parents !== undefined) (this.#hooks ??= []).push(node);
    } else if (role === "group") {
      const steps = this.#known.get(owner);
      if (steps !== undefined) (steps.groups ??= [])[index] = node;
    }
  }

  /** Notes which nodes a node follows that a manual retry has kept. The nodes between may be gone, or be others now. */
  #noteKept(node: NodeRecord): void {
    const { nodes } = this.#state;
    const kept = this.#kept ??= new Map();
    const following = node.role === "group" ? node : undefined;
    for (const parent of node.parents ?? []) {
      for (
        let at = nodes.get(parent);
        at !== undefined && at.id !== node.owner;
        at = ownerOf(nodes, at)
      ) {
        const isOther = kept.has(at.id) && kept.get(at.id) !== following;
        kept.set(at.id, isOther ? undefined : following);
      }
    }
  }

  of(node: NodeRecord): Sum {
    const known = this.#known.get(node.id);
    const next = known === undefined || this.#hasImports ? undefined : this.#following(known);
    if (known === undefined || next === undefined) return this.#walked(node.id);
    const { own } = known;
    if (node.role === "root") {
      return this.#hooks === undefined
        ? own
        : this.#hooks.reduce((sum, { id }) => joined(sum, this.#known.get(id)?.own), own);
    }
    return next === "nothing" ? own : joined(own, this.#ofGroup(next));
  }

  /** The sum over a step group and all that follows it. */
  #ofGroup(group: NodeRecord): Sum {
    const passed: Known[] = [];
    let last: Sum | undefined;
    for (let at = this.#known.get(group.id); at !== undefined;) {
      last = at.chain;
      if (last !== undefined) break;
      const next = this.#following(at);
      if (next === undefined) {
        last = at.chain = this.#walked(at.node.id);
        break;
      }
      passed.push(at);
      at = next === "nothing" ? undefined : this.#known.get(next.id);
    }
    for (let at = passed.pop(); at !== undefined; at = passed.pop()) {
      last = at.chain = last === undefined ? at.own : joined(at.own, last);
    }
    return last ?? emptySum();
  }

  /** The step group that follows a node and its members; undefined where only a walk can tell. */
  #following(known: Known): Following {
    if (known.following !== "unknown") return known.following;
    // The answer is the same for all nodes on the way up, so each is passed only once: recursion may be deep.
    const passed = [known];
    const found = this.#climb(known, passed);
    for (const one of passed) one.following = found;
    return found;
  }

  #climb(start: Known, passed: Known[]): Following {
    const kept = this.#kept;
    let known = start;
    // On the way out of a retry node from inside one of its members.
    let isInside = false;
    while (true) {
      const at = known.node;
      if (kept?.has(at.id)) return known === start ? kept.get(at.id) : "nothing";
      if (!isInside) {
        if (known.following !== "unknown") return known.following;
        if (known !== start) passed.push(known);
      }
      const above = this.#above(at);
      if (above === undefined) return "nothing";
      const owner = above.node;
      if (isOfRetry(at, owner)) {
        if (membersOf(owner).at(-1) !== at) return "nothing";
        known = above;
        continue;
      }
      // What hooks leave is not awaited, except at the loops of DAGs.
      if (at.role === "hook") return owner.type === "TaskGroup" ? undefined : "nothing";
      const group = at.role === "group" ? at : owner;
      if (group.type !== "StepGroup") return undefined;
      if (outboundOf(this.#state, at, this.#outbound).length === 0) return "nothing";
      const steps = this.#above(group);
      if (steps === undefined) return undefined;
      const next = steps.groups?.[(group.index ?? 0) + 1];
      // What follows a retry node is a child of its last member, not of the nodes inside that.
      if (next !== undefined && (isInside || isKept(next))) return "nothing";
      // A damaged index may lead to an earlier group.
      if (next !== undefined) return next.order > group.order ? next : undefined;
      if (steps.node.role === "root") return "nothing";
      const outer = this.#above(steps.node);
      isInside = outer !== undefined && isOfRetry(steps.node, outer.node);
      known = steps;
    }
  }

  #above({ owner }: NodeRecord): Known | undefined {
    return owner === undefined ? undefined : this.#known.get(owner);
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
      const node = this.#edges.ordered[at];
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
    const { ordered, children: edges } = this.#edges;
    for (const { id } of ordered) {
      index.set(id, index.size);
      if (index.size % STEP_SIZE === 0) yield;
    }
    const children: number[][] = [];
    for (const { id } of ordered) {
      const below: number[] = [];
      for (const child of edges.get(id) ?? []) {
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
