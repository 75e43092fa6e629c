/** Progress of groups: the sum over all nodes below, each counted once. It is derived when somebody asks. */
import { STEP_SIZE, type Steps } from "../../base/steps.ts";
import { type KnownOutbound, outboundOf } from "./graph.ts";
import { nodeId } from "../scope/names.ts";
import { workflowName, type WorkflowState } from "../state.ts";
import { isExecutable, type NodeRecord, parseProgress } from "../records.ts";

interface Sum {
  done: number;
  total: number;
  resources: Record<string, number>;
}

type Following = NodeRecord | "nothing" | undefined;

/**
 * Sums over a node and everything below it. Each step group is above all later groups of its chain, so a walk for each group
 * would cost the square of the chain. But only one node follows a step group: the next group. So a sum is that of the node's
 * own tree plus that of the group that follows. Only inside DAGs, whose branches meet again, a walk is needed.
 */
export class SumsBelow {
  readonly #index: Map<string, number>;
  readonly #children: number[][] = [];
  readonly #done: number[] = [];
  readonly #total: number[] = [];
  readonly #resources: (Readonly<Record<string, number>> | undefined)[] = [];
  /** For each node the number of the last walk that has passed it. */
  readonly #seen: Uint32Array;
  #walk = 0;
  readonly #state: WorkflowState;
  readonly #known: KnownOutbound;
  /** Sums over each node and its members, without what follows. */
  readonly #own: Sum[] = [];
  readonly #groups = new Map<string, Sum>();
  readonly #next = new Map<string, Following>();
  readonly #hasImports: boolean;

  private constructor(
    state: WorkflowState,
    nodes: readonly NodeRecord[],
    known: KnownOutbound,
  ) {
    this.#state = state;
    this.#known = known;
    this.#hasImports = nodes.some(({ isImported }) => isImported === true);
    this.#index = new Map(nodes.map(({ id }, at) => [id, at]));
    this.#seen = new Uint32Array(nodes.length);
  }

  /** Sums over all nodes of a workflow, step by step. */
  static *over(
    state: WorkflowState,
    children: ReadonlyMap<string, readonly string[]>,
    known: KnownOutbound,
  ): Steps<SumsBelow> {
    const nodes = [...state.nodes.values()].sort((a, b) => a.order - b.order);
    const sums = new SumsBelow(state, nodes, known);
    if (nodes.length > STEP_SIZE) yield;
    for (const [at, node] of nodes.entries()) {
      sums.#enter(node, children.get(node.id) ?? []);
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    // Owners are older than their members.
    for (let at = nodes.length - 1; at >= 0; at--) {
      const owner = nodes[at]?.owner;
      const above = owner === undefined ? undefined : sums.#own[sums.#index.get(owner) ?? -1];
      const own = sums.#own[at];
      if (above !== undefined && own !== undefined) addSum(above, own);
      if (at % STEP_SIZE === STEP_SIZE - 1) yield;
    }
    return sums;
  }

  /** Adds the next node. */
  #enter(node: NodeRecord, children: readonly string[]): void {
    const own = isExecutable(node.type);
    const [done, total] = own ? parseProgress(node.progress ?? "") : [0, 0];
    const resources = own ? node.resourcesDuration : undefined;
    const below: number[] = [];
    for (const child of children) {
      const at = this.#index.get(child);
      if (at !== undefined) below.push(at);
    }
    this.#children.push(below);
    this.#done.push(done);
    this.#total.push(total);
    this.#resources.push(resources);
    this.#own.push({ done, total, resources: resources === undefined ? {} : { ...resources } });
  }

  of(id: string): Sum {
    const node = this.#state.nodes.get(id);
    const next = node === undefined || this.#hasImports ? undefined : this.#following(node);
    if (next === undefined) return this.#walked(id);
    return joined(
      this.#own[this.#index.get(id) ?? -1],
      next === "nothing" ? undefined : this.#ofGroup(next),
    );
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
      last = joined(this.#own[this.#index.get(at.id) ?? -1], last);
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
    const { nodes, runtime } = this.#state;
    let at = node;
    while (true) {
      if (this.#next.has(at.id)) return this.#next.get(at.id);
      passed.push(at);
      const owner = at.owner === undefined ? undefined : nodes.get(at.owner);
      if (at.role === "hook" || owner === undefined) {
        return at.role === "root" ? undefined : "nothing";
      }
      if (at.role === "attempt") {
        const attempts = runtime.members.get(owner.id) ?? [];
        if (attempts.at(-1) !== at.id) return "nothing";
        at = owner;
        continue;
      }
      const group = at.role === "group" ? at : owner;
      if (group.type !== "StepGroup") return undefined;
      if (outboundOf(this.#state, at, this.#known).length === 0) return "nothing";
      const steps = group.owner === undefined ? undefined : nodes.get(group.owner);
      if (steps === undefined) return undefined;
      const name = `${steps.name}[${(group.index ?? 0) + 1}]`;
      const next = nodes.get(nodeId(workflowName(this.#state), name));
      // A damaged index may lead to an earlier group.
      if (next !== undefined) return next.order > group.order ? next : undefined;
      // What follows a retry node is a child of its last attempt, not of the members of that.
      if (steps.role === "root" || steps.role === "attempt") return "nothing";
      at = steps;
    }
  }

  #walked(id: string): Sum {
    const sum = emptySum();
    const start = this.#index.get(id);
    if (start === undefined) return sum;
    const walk = ++this.#walk;
    const stack = [start];
    this.#seen[start] = walk;
    for (let at = stack.pop(); at !== undefined; at = stack.pop()) {
      sum.done += this.#done[at] ?? 0;
      sum.total += this.#total[at] ?? 0;
      addResources(sum.resources, this.#resources[at]);
      for (const child of this.#children[at] ?? []) {
        if (this.#seen[child] === walk) continue;
        this.#seen[child] = walk;
        stack.push(child);
      }
    }
    return sum;
  }
}

function emptySum(): Sum {
  return { done: 0, total: 0, resources: {} };
}

function addSum(sum: Sum, more: Sum): void {
  sum.done += more.done;
  sum.total += more.total;
  addResources(sum.resources, more.resources);
}

function joined(a: Sum | undefined, b: Sum | undefined): Sum {
  const sum = emptySum();
  if (a !== undefined) addSum(sum, a);
  if (b !== undefined) addSum(sum, b);
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
