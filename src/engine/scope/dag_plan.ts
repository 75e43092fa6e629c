/** The order in which the tasks of a DAG begin, as far as names and conditions decide it. */
import { isShared } from "../../base/shared_json.ts";
import type { DagTemplate } from "../../spec/manifest.ts";
import { findDependencies } from "../../spec/task_dependencies.ts";
import { mayHoldTag } from "./expressions.ts";
import type { DagMemory, Frame } from "../runtime.ts";

/** Direct dependencies of a task, in the order in which they are written. */
export function dependenciesOf(frame: Frame, task: string): readonly string[] {
  return planOf(frame).dependencies.get(task) ?? [];
}

/** Up to so many dependencies are searched one by one; more go into a set. */
const FEW = 16;

/** A function that tells whether another task must have ended before a task begins. */
export function isBefore(frame: Frame, task: string): (other: string) => boolean {
  const direct = dependenciesOf(frame, task);
  let all: ReadonlySet<string> | undefined;
  return (other) => {
    if (direct.length <= FEW && direct.includes(other)) return true;
    all ??= ancestorsOf(frame, direct);
    return all.has(other);
  };
}

function ancestorsOf(frame: Frame, direct: readonly string[]): Set<string> {
  const found = new Set(direct);
  for (const name of found) {
    for (const next of dependenciesOf(frame, name)) found.add(next);
  }
  return found;
}

/** Adds a task whose dependencies are done. Tasks begin in the order of the walk from the targets. */
export function addReady(memory: DagMemory, task: string): void {
  const rank = memory.rank.get(task) ?? 0;
  let at = memory.firstReady;
  let end = memory.ready.length;
  while (at < end) {
    const middle = (at + end) >>> 1;
    if ((memory.rank.get(memory.ready[middle] ?? "") ?? 0) > rank) end = middle;
    else at = middle + 1;
  }
  memory.ready.splice(at, 0, task);
}

/** What follows from the names and conditions of the tasks of a DAG. */
interface DagPlan {
  dependencies: ReadonlyMap<string, readonly string[]>;
  /** The named targets, or the tasks on which no other task depends; sorted. */
  targets: readonly string[];
  /** For each task those that wait for it and that the targets need. */
  dependents: ReadonlyMap<string, readonly string[]>;
  /** Number of dependencies of each task that the targets need. */
  counts: ReadonlyMap<string, number>;
  rank: ReadonlyMap<string, number>;
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
  const dependencies = new Map(
    tasks.map((task) => [task.name, [...findDependencies(task).keys()]]),
  );
  const targets = targetsOf(dag, dependencies);
  const needed = new Set(targets);
  for (const name of needed) {
    for (const dependency of dependencies.get(name) ?? []) needed.add(dependency);
  }
  const counts = new Map<string, number>();
  const dependents = new Map<string, string[]>();
  for (const { name } of tasks) {
    if (!needed.has(name)) continue;
    const list = dependencies.get(name) ?? [];
    counts.set(name, list.length);
    for (const dependency of list) {
      const waiting = dependents.get(dependency);
      if (waiting === undefined) dependents.set(dependency, [name]);
      else waiting.push(name);
    }
  }
  return { dependencies, targets, dependents, counts, rank: rankTasks(dependencies, targets) };
}

function targetsOf(
  dag: DagTemplate | undefined,
  dependencies: ReadonlyMap<string, readonly string[]>,
): string[] {
  const named = (dag?.target ?? "").split(/\s+/).filter((name) => name !== "");
  if (named.length > 0) return named.sort();
  const wanted = new Set([...dependencies.values()].flat());
  return (dag?.tasks ?? []).map(({ name }) => name).filter((name) => !wanted.has(name)).sort();
}

/** Places of the tasks in a walk from the sorted targets, dependencies before the tasks that need them. */
function rankTasks(
  dependencies: ReadonlyMap<string, readonly string[]>,
  targets: readonly string[],
): Map<string, number> {
  const rank = new Map<string, number>();
  const seen = new Set<string>();
  // Not recursive: chains can be long.
  const stack: { task: string; isDone: boolean }[] = [...targets].reverse()
    .map((task) => ({ task, isDone: false }));
  for (let top = stack.pop(); top !== undefined; top = stack.pop()) {
    if (top.isDone) {
      rank.set(top.task, rank.size);
      continue;
    }
    if (seen.has(top.task)) continue;
    seen.add(top.task);
    stack.push({ task: top.task, isDone: true });
    for (const task of (dependencies.get(top.task) ?? []).toReversed()) {
      stack.push({ task, isDone: false });
    }
  }
  return rank;
}

/** The memory of a DAG of which nothing has begun. */
export function planDag(frame: Frame): DagMemory {
  const { targets, dependencies, dependents, counts, rank } = planOf(frame);
  const ready: string[] = [];
  // The ranks are sorted.
  for (const name of rank.keys()) if (counts.get(name) === 0) ready.push(name);
  return {
    targets,
    dependencies,
    dependents,
    waitingFor: new Map(counts),
    ready,
    firstReady: 0,
    begun: new Set(),
    rank,
  };
}
