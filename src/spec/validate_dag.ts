/** Rules for dag templates. */
import { dependsProblem } from "../expr/depends.ts";
import { givenArguments } from "./bind_arguments.ts";
import { findDependencies } from "./depends.ts";
import type { Arguments, DagTask, Template } from "./manifest.ts";
import { SpecError, withPrefix } from "./spec_error.ts";
import { checkArguments } from "./validate_arguments.ts";
import { holdsTag } from "./validate_inputs_outputs.ts";
import { checkNames } from "./validate_names.ts";
import { addItems, checkGroupLimits, isAggregated, withInlineInputs } from "./validate_steps.ts";
import type { Owner, TemplateWalk } from "./validate_template.ts";
import { checkTags, type Names } from "./validate_tags.ts";

/** @throws {SpecError} */
export function checkDag(walk: TemplateWalk, template: Template, owner: Owner, names: Names): void {
  const place = `templates.${template.name ?? ""}`;
  checkGroupLimits(place, template);
  const given = template.dag?.tasks ?? [];
  if (given.length === 0) throw new SpecError(`${place} must have at least one task`);
  const tasks = withPrefix(`${place} sorting failed: `, () => sortTasks(given));
  checkNames(tasks, "field", `${place}.tasks`);
  const called = new Map<string, Template | undefined>();
  checkFirst(walk, place, tasks, owner, names, called);
  checkTargets(walk, place, template, names);
  for (const task of tasks) checkTask(walk, place, task, tasks, owner, names, called);
}

/** Tasks such that each comes after those it depends on. */
function sortTasks(tasks: readonly DagTask[]): DagTask[] {
  const byName = new Map<string, DagTask>();
  for (const task of tasks) {
    const name = task.name ?? "";
    if (byName.has(name)) throw new SpecError(`duplicated nodeName ${name}`);
    byName.set(name, task);
  }
  const waiting = new Map<DagTask, number>();
  const next = new Map<string, DagTask[]>();
  for (const task of tasks) {
    const dependencies = [...findDependencies(task).keys()];
    waiting.set(task, dependencies.length);
    for (const dependency of dependencies) {
      if (!byName.has(dependency)) throw new SpecError(`invalid dependency ${dependency}`);
      next.set(dependency, [...next.get(dependency) ?? [], task]);
    }
  }
  const sorted = tasks.filter((task) => waiting.get(task) === 0);
  for (const task of sorted) {
    for (const follower of next.get(task.name) ?? []) {
      const left = (waiting.get(follower) ?? 0) - 1;
      waiting.set(follower, left);
      if (left === 0) sorted.push(follower);
    }
  }
  if (sorted.length < tasks.length) throw new SpecError("graph with cycle");
  return sorted;
}

/** What can be said of each task before the outputs of all of them are known. */
function checkFirst(
  walk: TemplateWalk,
  place: string,
  tasks: readonly DagTask[],
  owner: Owner,
  names: Names,
  called: Map<string, Template | undefined>,
): void {
  const byName = new Map(tasks.map((task) => [task.name, task]));
  const usesDepends = tasks.some(({ depends }) => (depends ?? "") !== "");
  for (const task of tasks) {
    const at = `${place}.tasks.${task.name}`;
    const listed = (task.dependencies ?? []).length > 0;
    if ((usesDepends || listed) && /^[0-9]/.test(task.name)) {
      throw new SpecError(
        `${at} name cannot begin with a digit when using either 'depends' or 'dependencies'`,
      );
    }
    if (usesDepends && listed) {
      throw new SpecError(
        `${place} cannot use both 'depends' and 'dependencies' in the same DAG template`,
      );
    }
    if (usesDepends && task.continueOn !== undefined) {
      throw new SpecError(
        `${place} cannot use 'continueOn' when using 'depends'. ` +
          "Instead use 'dep-task.Failed'/'dep-task.Errored'",
      );
    }
    const template = withPrefix(`${at} `, () => walk.checkCall(task, owner));
    called.set(task.name, template);
    walk.addOutputs(template, "tasks", task.name, names, { aggregate: isAggregated(task) });
    const problem = dependsProblem(task.depends ?? "");
    if (problem !== undefined) throw new SpecError(`${at} ${problem}`);
    checkItemConditions(place, task, byName);
  }
}

/** `AnySucceeded` and `AllFailed` ask about the elements of a loop. */
function checkItemConditions(
  place: string,
  task: DagTask,
  tasks: ReadonlyMap<string, DagTask>,
): void {
  for (const [name, asksItems] of findDependencies(task)) {
    const dependency = tasks.get(name);
    const loops = dependency !== undefined &&
      (isAggregated(dependency) || dependency.withSequence !== undefined);
    if (asksItems && !loops) {
      // Intentionally names the dependency as the place, as the reference does.
      throw new SpecError(
        `${place}.tasks.${name} dependency '${name}' uses an items-based condition such as ` +
          ".AnySucceeded or .AllFailed but does not contain any items",
      );
    }
  }
}

function checkTargets(
  walk: TemplateWalk,
  place: string,
  template: Template,
  names: Names,
): void {
  const target = template.dag?.target ?? "";
  checkTags(target, walk.scope(names), `${place}.targets `);
  if (target === "") return;
  const tasks = new Set((template.dag?.tasks ?? []).map(({ name }) => name));
  for (const name of target.split(" ")) {
    if (!holdsTag(name) && !tasks.has(name)) {
      throw new SpecError(`${place}.targets: target '${name}' is not defined`);
    }
  }
}

/** What needs the outputs of the other tasks. */
function checkTask(
  walk: TemplateWalk,
  place: string,
  task: DagTask,
  tasks: readonly DagTask[],
  owner: Owner,
  names: Names,
  called: ReadonlyMap<string, Template | undefined>,
): void {
  const at = `${place}.tasks.${task.name}`;
  if (task.hooks !== undefined) names.add(`tasks.${task.name}.status`);
  walk.addOutputs(called.get(task.name), "tasks", task.name, names, {});
  const own: Names = new Set(names);
  const before = ancestors(task, tasks);
  for (const ancestor of before.values()) {
    walk.addOutputs(called.get(ancestor.name), "tasks", ancestor.name, own, {
      aggregate: isAggregated(ancestor),
      isAncestor: true,
    });
  }
  const scope = withInlineInputs(task, own);
  withPrefix(`${at} `, () => addItems(task, scope));
  checkTags(task, walk.scope(scope), `${at} `);
  checkArguments(`${at}.arguments.`, task.arguments, false);
  withPrefix(`${at} `, () => {
    checkSources(task.arguments, new Set(before.keys()));
    walk.checkCall(task, owner, givenArguments(task.arguments));
  });
}

/** Every task that must have ended before `task` is looked at. */
function ancestors(task: DagTask, tasks: readonly DagTask[]): Map<string, DagTask> {
  const byName = new Map(tasks.map((other) => [other.name, other]));
  const found = new Map<string, DagTask>();
  const open = [task];
  for (const next of open) {
    for (const name of findDependencies(next).keys()) {
      const dependency = byName.get(name);
      if (dependency === undefined || found.has(name)) continue;
      found.set(name, dependency);
      open.push(dependency);
    }
  }
  return found;
}

/** An argument that is taken from a task needs that task to have ended. */
function checkSources(given: Arguments | undefined, before: ReadonlySet<string>): void {
  const missing = (text = ""): string | undefined => {
    if (!text.startsWith("{{tasks.")) return undefined;
    const name = text.split(".")[1] ?? "";
    return before.has(name) ? undefined : name;
  };
  for (const { name, value } of given?.parameters ?? []) {
    const task = missing(value);
    if (task !== undefined) {
      throw new SpecError(`missing dependency '${task}' for parameter '${name}'`);
    }
  }
  for (const { name, from } of given?.artifacts ?? []) {
    const task = missing(from);
    if (task !== undefined) {
      throw new SpecError(`missing dependency '${task}' for artifact '${name}'`);
    }
  }
}
