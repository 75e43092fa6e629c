/** The calls of one DAG task, and the order that its dependencies impose. */
import type { DagTask } from "../spec/manifest.ts";
import { findDependencies } from "../spec/depends.ts";
import { expandStep } from "./expansion.ts";
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
  const scope = known(turn, boundary, frame, (other) => isAncestor(frame, other, task));
  return expandStep(turn, definition, `${boundary.name}.${task}`, scope);
}

/** Direct dependencies of a task, in the order they are written. */
export function dependenciesOf(frame: Frame, task: string): string[] {
  let known = dependencies.get(frame);
  if (known === undefined) {
    known = new Map();
    dependencies.set(frame, known);
  }
  let list = known.get(task);
  if (list === undefined) {
    const definition = findStep(frame, task) as DagTask | undefined;
    list = definition === undefined ? [] : [...findDependencies(definition).keys()];
    known.set(task, list);
  }
  return list;
}

const dependencies = new WeakMap<Frame, Map<string, string[]>>();

/** Tells whether a task must have ended before another one begins. */
function isAncestor(frame: Frame, other: string, task: string): boolean {
  const direct = dependenciesOf(frame, task);
  if (direct.includes(other)) return true;
  const seen = new Set(direct);
  for (const name of seen) {
    for (const next of dependenciesOf(frame, name)) {
      if (next === other) return true;
      seen.add(next);
    }
  }
  return false;
}

/** Targets: those named, else the tasks that nobody depends on; sorted. */
function targetsOf(frame: Frame): string[] {
  const { dag } = frame.template;
  const named = (dag?.target ?? "").split(/\s+/).filter((name) => name !== "");
  if (named.length > 0) return named.sort();
  const wanted = new Set((dag?.tasks ?? []).flatMap(({ name }) => dependenciesOf(frame, name)));
  return (dag?.tasks ?? []).map(({ name }) => name).filter((name) => !wanted.has(name)).sort();
}

/** Enters a task whose dependencies are done; those that come first in the walk from the targets begin first. */
export function addReady(unit: DagUnit, task: string): void {
  const rank = unit.rank.get(task) ?? 0;
  let at = unit.ready.length;
  while (at > 0 && (unit.rank.get(unit.ready[at - 1] ?? "") ?? 0) > rank) at--;
  unit.ready.splice(at, 0, task);
}

/** Places of the tasks in a walk from the sorted targets that visits dependencies before the task itself. */
function rankTasks(frame: Frame, targets: readonly string[]): Map<string, number> {
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
    for (const task of dependenciesOf(frame, top.task).toReversed()) {
      stack.push({ task, isDone: false });
    }
  }
  return rank;
}

/** Everything about the order of a DAG's tasks; nothing has begun yet. */
export function planDag(frame: Frame): DagUnit {
  const targets = targetsOf(frame);
  const needed = new Set(targets);
  for (const name of needed) {
    for (const dependency of dependenciesOf(frame, name)) needed.add(dependency);
  }
  const unit: DagUnit = {
    targets,
    needed,
    dependents: new Map(),
    waitingFor: new Map(),
    ready: [],
    begun: new Set(),
    rank: rankTasks(frame, targets),
  };
  for (const { name } of frame.template.dag?.tasks ?? []) {
    if (!needed.has(name)) continue;
    const list = dependenciesOf(frame, name);
    unit.waitingFor.set(name, list.length);
    if (list.length === 0) addReady(unit, name);
    for (const dependency of list) {
      const dependents = unit.dependents.get(dependency);
      if (dependents === undefined) unit.dependents.set(dependency, [name]);
      else dependents.push(name);
    }
  }
  return unit;
}
