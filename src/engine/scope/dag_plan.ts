/** The order in which the tasks of a DAG begin, as far as names and conditions decide it. */
import { isShared } from "../../base/shared_json.ts";
import type { DagTemplate } from "../../spec/manifest.ts";
import { findDependencies } from "../../spec/task_dependencies.ts";
import { mayHoldTag } from "./expressions.ts";
import type { DagMemory, DagPlan, Frame } from "../live.ts";
import { isUntouched, type NodeRecord } from "../records.ts";

const NONE: readonly number[] = [];
/** Instead of the number of tasks that a task waits for: it is done, and those that wait for it know. */
export const COUNTED = -1;

/** Direct dependencies of a task, in the order in which they are written. */
export function dependenciesOf(frame: Frame, task: string): string[] {
  const plan = planOf(frame);
  return directOf(plan, task).map((other) => plan.names[other] as string);
}

function directOf({ numbers, dependencies }: DagPlan, task: string): readonly number[] {
  return dependencies[numbers.get(task) ?? -1] ?? NONE;
}

/** The tasks that decide the phase of a DAG, in order. */
export function targetsOf(frame: Frame): readonly string[] {
  return planOf(frame).targets;
}

/** Up to so many dependencies are searched one by one; more go into a set. */
const FEW = 16;

/** A function that tells whether another task must have ended before a task begins. */
export function isBefore(frame: Frame, task: string): (other: string) => boolean {
  const plan = planOf(frame);
  const direct = directOf(plan, task);
  let all: ReadonlySet<number> | undefined;
  return (other) => {
    const number = plan.numbers.get(other) ?? -1;
    if (direct.length <= FEW && direct.includes(number)) return true;
    all ??= ancestorsOf(plan, direct);
    return all.has(number);
  };
}

function ancestorsOf({ dependencies }: DagPlan, direct: readonly number[]): Set<number> {
  const found = new Set(direct);
  for (const task of found) for (const next of dependencies[task] ?? NONE) found.add(next);
  return found;
}

/**
 * Adds a task whose dependencies are done, unless it has begun: after a restart it may have. Tasks begin in the order of the walk
 * from the targets.
 */
export function addReady(memory: DagMemory, task: number): void {
  if (hasBegun(memory, task)) return;
  const { plan: { rank }, ready } = memory;
  const own = rank[task] as number;
  let at = memory.firstReady;
  let end = ready.length;
  while (at < end) {
    const middle = (at + end) >>> 1;
    if ((rank[ready[middle] as number] as number) > own) end = middle;
    else at = middle + 1;
  }
  ready.splice(at, 0, task);
}

function hasBegun({ nodes }: DagMemory, task: number): boolean {
  const node = nodes[task];
  return node !== undefined && !isUntouched(node);
}

/** Lets the tasks that depend on one wait for it again. Those that have begun go on. */
export function waitAgain(memory: DagMemory, task: string): void {
  const { plan: { numbers, dependents }, waitingFor, ready, firstReady } = memory;
  const number = numbers.get(task) ?? -1;
  if (waitingFor[number] !== COUNTED) return;
  waitingFor[number] = 0;
  for (const dependent of dependents[number] ?? NONE) {
    if (waitingFor[dependent] === COUNTED) continue;
    waitingFor[dependent] = (waitingFor[dependent] as number) + 1;
    const at = ready.indexOf(dependent, firstReady);
    if (at >= 0) ready.splice(at, 1);
  }
}

// By the DAG as it is written, for all workflows of one manifest; or by the frame, when tags may change the order.
const plans = new WeakMap<object, DagPlan>();

function planOf(frame: Frame): DagPlan {
  const { dag } = frame.written;
  const known = plans.get(dag ?? frame) ?? plans.get(frame);
  if (known !== undefined) return known;
  const plan = makePlan(frame.template.dag);
  plans.set(dag !== undefined && isShared(dag) && !isOrderTagged(dag) ? dag : frame, plan);
  return plan;
}

/** Tells whether the order of the tasks may differ from run to run. */
function isOrderTagged({ target, tasks }: DagTemplate): boolean {
  return mayHoldTag([
    target,
    tasks.map(({ name, depends, dependencies }) => [name, depends, dependencies]),
  ]);
}

function makePlan(dag: DagTemplate | undefined): DagPlan {
  const tasks = dag?.tasks ?? [];
  const names = tasks.map(({ name }) => name);
  const numbers = new Map<string, number>();
  for (let number = 0; number < names.length; number++) {
    numbers.set(names[number] as string, number);
  }
  // A name that is no task's gets a number of its own.
  const numberOf = (name: string): number => {
    const known = numbers.get(name);
    if (known !== undefined) return known;
    numbers.set(name, names.length);
    return names.push(name) - 1;
  };
  const dependencies = tasks.map((task) => {
    const found = findDependencies(task);
    return found.length === 0 ? NONE : found.map(({ task }) => numberOf(task));
  });
  const targets = findTargets(dag, names, dependencies);
  const ends = targets.map(numberOf);
  const order = walk(dependencies, ends, names.length);
  const counts = new Int32Array(names.length).fill(-1);
  const rank = new Int32Array(names.length);
  const dependents = new Array<number[] | undefined>(names.length).fill(undefined);
  for (const [at, task] of order.entries()) {
    rank[task] = at;
    const list = dependencies[task];
    if (list === undefined) continue;
    counts[task] = list.length;
    for (const dependency of list) (dependents[dependency] ??= []).push(task);
  }
  // Without a target everything comes before some end, unless tasks wait for each other.
  const isLost = (dag?.target ?? "").trim() === "" && order.length < numbers.size;
  const unknown = order.find((number) => number >= tasks.length);
  const fault = unknown !== undefined
    ? `target ${names[unknown]} does not exist`
    : isLost || isCyclic(order, counts, dependents)
    ? "graph with cycle"
    : undefined;
  return { names, numbers, dependencies, targets, dependents, counts, order, rank, fault };
}

/** Tells whether tasks wait for each other. The checks of a manifest leave out all inline templates but the first. */
function isCyclic(
  order: readonly number[],
  counts: Int32Array,
  dependents: DagPlan["dependents"],
): boolean {
  const left = counts.slice();
  const free = order.filter((task) => left[task] === 0);
  for (const task of free) {
    for (const next of dependents[task] ?? NONE) {
      const count = left[next] as number - 1;
      left[next] = count;
      if (count === 0) free.push(next);
    }
  }
  return free.length < order.length;
}

function findTargets(
  dag: DagTemplate | undefined,
  names: readonly string[],
  dependencies: readonly (readonly number[])[],
): string[] {
  const named = (dag?.target ?? "").split(/\s+/).filter((name) => name !== "");
  // In the order in which they are named: they begin in it, and the first of them that fails decides.
  if (named.length > 0) return named;
  const wanted = new Uint8Array(names.length);
  for (const list of dependencies) for (const task of list) wanted[task] = 1;
  return names.filter((_, at) => at < dependencies.length && wanted[at] === 0).sort();
}

/** The tasks in the order of a walk from the targets, dependencies before the tasks that need them. */
function walk(
  dependencies: readonly (readonly number[])[],
  targets: readonly number[],
  count: number,
): number[] {
  const order: number[] = [];
  const seen = new Uint8Array(count);
  // Not recursive: chains can be long. A task comes again, as its complement, after its dependencies.
  const stack = targets.toReversed();
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top < 0) {
      order.push(~top);
      continue;
    }
    if (seen[top] === 1) continue;
    seen[top] = 1;
    stack.push(~top);
    const list = dependencies[top] ?? NONE;
    for (let at = list.length - 1; at >= 0; at--) stack.push(list[at] as number);
  }
  return order;
}

/** The memory of a DAG. @param members the nodes that it has; those that are done are news to it */
export function planDag(frame: Frame, members: readonly NodeRecord[]): DagMemory {
  const plan = planOf(frame);
  const { counts, order } = plan;
  const memory: DagMemory = {
    plan,
    waitingFor: counts.slice(),
    ready: [],
    firstReady: 0,
    begun: new Uint8Array(counts.length),
    nodes: new Array<NodeRecord | undefined>(counts.length).fill(undefined),
    faults: undefined,
    fault: plan.fault,
  };
  for (const member of members) noteTaskNode(memory, member);
  memory.ready = order.filter((task) => counts[task] === 0 && !hasBegun(memory, task));
  return memory;
}

/** Notes a member of a DAG node that is no hook: it is the node of a task. */
export function noteTaskNode({ plan, nodes }: DagMemory, member: NodeRecord): void {
  const task = member.role === "hook" ? undefined : plan.numbers.get(member.step ?? "");
  if (task !== undefined) nodes[task] = member;
}
