/** The calls of one DAG task, and the order that its dependencies impose. */
import { isShared } from "../base/shared_json.ts";
import type { DagTemplate } from "../spec/manifest.ts";
import { findDependencies } from "../spec/depends.ts";
import { expandStep } from "./expansion.ts";
import { mayHoldTag } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import type { DagUnit, ExpandedCall, Frame } from "./runtime.ts";
import { findStep } from "./scope.ts";
import type { NodeRecord, Turn } from "./state.ts";
import type { KnownFrom } from "./steps_calls.ts";

/** The calls of a task: one, or the elements of its loop. @throws as {@link expandStep} */
export function dagTaskCalls(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  task: string,
  known: KnownFrom,
): ExpandedCall[] {
  const definition = findStep(frame, task);
  if (definition === undefined) throw new NodeFailure(`task ${task} not found`);
  const scope = known(turn, boundary, frame, ancestry(frame, task));
  return expandStep(turn, definition, `${boundary.name}.${task}`, scope);
}

/** Direct dependencies of a task, in the order they are written. */
export function dependenciesOf(frame: Frame, task: string): readonly string[] {
  return planOf(frame).dependencies.get(task) ?? [];
}

/** Dependencies that are looked through for a name; of more, a set is made. */
const FEW = 16;

/** Tells which tasks must have ended before a task begins. */
function ancestry(frame: Frame, task: string): (other: string) => boolean {
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

/** Enters a task whose dependencies are done; those that come first in the walk from the targets begin first. */
export function addReady(unit: DagUnit, task: string): void {
  const rank = unit.rank.get(task) ?? 0;
  let at = unit.firstReady;
  let end = unit.ready.length;
  while (at < end) {
    const middle = (at + end) >>> 1;
    if ((unit.rank.get(unit.ready[middle] ?? "") ?? 0) > rank) end = middle;
    else at = middle + 1;
  }
  unit.ready.splice(at, 0, task);
}

/** What follows from the names and conditions of a DAG's tasks alone. */
interface DagPlan {
  dependencies: ReadonlyMap<string, readonly string[]>;
  /** Those named, else the tasks that nobody depends on; sorted. */
  targets: readonly string[];
  /** Tasks that wait for a task, as far as the targets need them. */
  dependents: ReadonlyMap<string, readonly string[]>;
  /** Number of dependencies of each task that the targets need. */
  counts: ReadonlyMap<string, number>;
  rank: ReadonlyMap<string, number>;
}

// Plans by the DAG as it is written, for all workflows of one manifest; else by the frame.
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

/** Places of the tasks in a walk from the sorted targets that visits dependencies before the task itself. */
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

/** Everything about the order of a DAG's tasks; nothing has begun yet. */
export function planDag(frame: Frame): DagUnit {
  const { targets, dependents, counts, rank } = planOf(frame);
  const ready: string[] = [];
  // Ranks are in their order already.
  for (const name of rank.keys()) if (counts.get(name) === 0) ready.push(name);
  return {
    targets,
    dependents,
    waitingFor: new Map(counts),
    ready,
    firstReady: 0,
    begun: new Set(),
    rank,
  };
}
