/** Rules for dag templates. */
import { dependsProblem } from "../../expr/templates/depends.ts";
import { mayHoldTag } from "../../expr/templates/tags.ts";
import { givenArguments } from "../bind_arguments.ts";
import { type Dependency, findDependencies } from "../task_dependencies.ts";
import { hasElements, isAggregated } from "../loops.ts";
import type { Arguments, DagTask, Template } from "../manifest.ts";
import { SpecError, withPrefix } from "../spec_error.ts";
import { checkArguments } from "./arguments.ts";
import { callbackNames, checkAwaited, isCallbackName } from "./callback.ts";
import { addItems, type CallChecker, checkGroupLimits, withInlineInputs } from "./group.ts";
import { holdsTag } from "./inputs_outputs.ts";
import { checkNames } from "./names.ts";
import type { Owner } from "./owner.ts";
import { checkTags, layerOver, type Names } from "./tags.ts";

/** @throws {SpecError} */
export function checkDag(walk: CallChecker, template: Template, owner: Owner, names: Names): void {
  const place = `templates.${template.name ?? ""}`;
  checkGroupLimits(place, template);
  const given = template.dag?.tasks ?? [];
  if (given.length === 0) throw new SpecError(`${place} must have at least one task`);
  const graph = withPrefix(`${place} sorting failed: `, () => sortTasks(given));
  const tasks = graph.order.map((number) => given[number] as DagTask);
  checkNames(tasks, "field", `${place}.tasks`);
  const isTagged = mayHoldTag(template);
  checkFirst(walk, place, graph, owner, isTagged ? names : undefined);
  checkTargets(walk, place, template, graph, names);
  const ancestry = new Ancestry(isTagged ? tasks : [], graph);
  const isCallback = callbackNames(walk, "tasks", template, owner);
  for (const task of tasks) {
    // The reference loses an empty map of hooks when it fills the template in.
    if (Object.keys(task.hooks ?? {}).length > 0) names.add(`tasks.${task.name}.status`);
    ancestry.enter(task);
    const known = isTagged ? layerOver(names, isCallback) : undefined;
    checkTask(walk, place, task, owner, known, ancestry);
  }
}

/** The tasks of a dag and what they wait for. Tasks have numbers: their places in the template. */
interface Graph {
  tasks: readonly DagTask[];
  numbers: ReadonlyMap<string, number>;
  /** For each task those for which it waits. */
  waits: readonly (readonly Dependency[])[];
  /** All tasks, each after those for which it waits. */
  order: readonly number[];
}

/** @throws {SpecError} when a name stands twice or belongs to no task, or when tasks wait for each other */
function sortTasks(tasks: readonly DagTask[]): Graph {
  const numbers = new Map<string, number>();
  for (const task of tasks) {
    const name = task.name ?? "";
    const number = numbers.size;
    numbers.set(name, number);
    if (numbers.size === number) throw new SpecError(`duplicated nodeName ${name}`);
  }
  for (const task of tasks) checkListed(task);
  const waits = tasks.map(findDependencies);
  const waiting = new Int32Array(tasks.length);
  const next: (number[] | undefined)[] = new Array(tasks.length).fill(undefined);
  const order: number[] = [];
  for (const [number, dependencies] of waits.entries()) {
    waiting[number] = dependencies.length;
    if (dependencies.length === 0) order.push(number);
    for (const { task } of dependencies) {
      const dependency = numbers.get(task);
      if (dependency === undefined) throw new SpecError(`invalid dependency ${task}`);
      (next[dependency] ??= []).push(number);
    }
  }
  for (const number of order) {
    for (const follower of next[number] ?? []) {
      const left = waiting[follower] as number - 1;
      waiting[follower] = left;
      if (left === 0) order.push(follower);
    }
  }
  if (order.length < tasks.length) throw new SpecError("graph with cycle");
  return { tasks, numbers, waits, order };
}

/** Nothing but a name may be listed. An entry without any letter or digit would be passed over. */
function checkListed({ depends = "", dependencies = [] }: DagTask): void {
  if (depends !== "") return;
  for (const entry of dependencies) {
    if (!/[a-zA-Z0-9]/.test(entry)) throw new SpecError(`invalid dependency '${entry}'`);
  }
}

/** Checks what can be checked of each task before the outputs of all tasks are known. @param names as of {@link checkTask} */
function checkFirst(
  walk: CallChecker,
  place: string,
  graph: Graph,
  owner: Owner,
  names: Names | undefined,
): void {
  const { tasks, waits, order } = graph;
  const usesDepends = tasks.some(({ depends }) => (depends ?? "") !== "");
  for (const number of order) {
    const task = tasks[number] as DagTask;
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
    const called = withPrefix(`${at} `, () => walk.checkCall(task, owner));
    checkAwaited(at, task, called);
    walk.addOutputs(called, "tasks", task.name, names, isAggregated(task));
    const problem = dependsProblem(task.depends ?? "");
    if (problem !== undefined) throw new SpecError(`${at} ${problem}`);
    checkItemConditions(place, waits[number] ?? [], graph);
  }
}

/** `AnySucceeded` and `AllFailed` must ask about a loop. */
function checkItemConditions(
  place: string,
  dependencies: readonly Dependency[],
  { tasks, numbers }: Graph,
): void {
  for (const { task: name, asksItems } of dependencies) {
    if (!asksItems) continue;
    const dependency = tasks[numbers.get(name) ?? -1];
    if (dependency === undefined || !hasElements(dependency)) {
      // Intentionally names the dependency as the place, as the reference does.
      throw new SpecError(
        `${place}.tasks.${name} dependency '${name}' uses an items-based condition such as ` +
          ".AnySucceeded or .AllFailed but does not contain any items",
      );
    }
  }
}

function checkTargets(
  walk: CallChecker,
  place: string,
  template: Template,
  { numbers }: Graph,
  names: Names,
): void {
  const target = template.dag?.target ?? "";
  checkTags(target, walk.scope(names), `${place}.targets `);
  if (target === "") return;
  for (const name of target.split(" ")) {
    if (!holdsTag(name) && !numbers.has(name)) {
      throw new SpecError(`${place}.targets: target '${name}' is not defined`);
    }
  }
}

/** Checks what needs the outputs of the other tasks. @param names undefined: there are no tags */
function checkTask(
  walk: CallChecker,
  place: string,
  task: DagTask,
  owner: Owner,
  names: Names | undefined,
  ancestry: Ancestry,
): void {
  const at = `${place}.tasks.${task.name}`;
  if (names === undefined) withPrefix(`${at} `, () => addItems(task, NO_NAMES));
  else checkTaskTags(walk, at, task, names, ancestry);
  checkArguments(`${at}.arguments.`, task.arguments, "call");
  withPrefix(`${at} `, () => {
    checkSources(task.arguments, (name) => ancestry.waitsFor(name));
    walk.checkCall(task, owner, givenArguments(task.arguments));
  });
}

/** Takes names that no text uses. */
const NO_NAMES: Names = { has: () => false, add: () => {} };

function checkTaskTags(
  walk: CallChecker,
  at: string,
  task: DagTask,
  names: Names,
  ancestry: Ancestry,
): void {
  const own = layerOver(names, (name) => {
    const before = /^tasks\.(.+)\.status$/.exec(name)?.[1];
    return before !== undefined && ancestry.waitsFor(before);
  });
  const scope = withInlineInputs(task, own);
  withPrefix(`${at} `, () => addItems(task, scope));
  checkTags(task, walk.scope(scope), `${at} `);
}

const NO_BITS = new Uint32Array();

/** How the tags in arguments and conditions name tasks. */
const NAMED_TASK = /tasks\.([\w-]+)/g;

/**
 * Which tasks must have ended before the current one. It keeps a bit for each pair of a task that some text names and a
 * task for which others still wait, so that neither long chains nor wide graphs need much memory.
 */
class Ancestry {
  /** The position of the bit of each named task. */
  readonly #bits = new Map<string, number>();
  /** Number of tasks that depend on this one and have not been entered yet. */
  readonly #followers = new Map<string, number>();
  readonly #rows = new Map<string, Uint32Array>();
  #current = NO_BITS;
  readonly #graph: Graph;

  constructor(tasks: readonly DagTask[], graph: Graph) {
    this.#graph = graph;
    const named = new Set<string>();
    for (const task of tasks) {
      if (!mayHoldTag(task)) continue;
      for (const [, name = ""] of JSON.stringify(task).matchAll(NAMED_TASK)) named.add(name);
    }
    if (named.size === 0) return;
    for (const { name } of tasks) if (named.has(name)) this.#bits.set(name, this.#bits.size);
    for (const dependencies of graph.waits) {
      for (const { task: name } of dependencies) {
        this.#followers.set(name, (this.#followers.get(name) ?? 0) + 1);
      }
    }
  }

  /** Goes on to a task. All tasks on which it depends have been entered before. */
  enter(task: DagTask): void {
    if (this.#bits.size === 0) return;
    const dependencies = this.#graph.waits[this.#graph.numbers.get(task.name) ?? -1] ?? [];
    let words = 0;
    for (const { task: name } of dependencies) {
      const bit = this.#bits.get(name);
      words = Math.max(
        words,
        this.#rows.get(name)?.length ?? 0,
        bit === undefined ? 0 : (bit >>> 5) + 1,
      );
    }
    const row = words === 0 ? NO_BITS : new Uint32Array(words);
    for (const { task: name } of dependencies) {
      const before = this.#rows.get(name) ?? [];
      for (let word = 0; word < before.length; word++) {
        row[word] = (row[word] ?? 0) | (before[word] ?? 0);
      }
      const bit = this.#bits.get(name);
      if (bit !== undefined) row[bit >>> 5] = (row[bit >>> 5] ?? 0) | (1 << (bit & 31));
      const left = (this.#followers.get(name) ?? 1) - 1;
      this.#followers.set(name, left);
      if (left === 0) this.#rows.delete(name);
    }
    if (this.#followers.has(task.name)) this.#rows.set(task.name, row);
    this.#current = row;
  }

  /** Tells whether the current task waits for another one. */
  waitsFor(name: string): boolean {
    const bit = this.#bits.get(name);
    return bit !== undefined && ((this.#current[bit >>> 5] ?? 0) & (1 << (bit & 31))) !== 0;
  }
}

/** Checks that an argument is taken only from tasks that have ended by then. */
function checkSources(given: Arguments | undefined, isBefore: (task: string) => boolean): void {
  const missing = (text = ""): string | undefined => {
    if (!text.startsWith("{{tasks.") || isCallbackName(text.slice(2))) return undefined;
    const name = text.split(".")[1] ?? "";
    return isBefore(name) ? undefined : name;
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
