/** The `depends` of a DAG task: `A && (B.Failed || C.Skipped)`. */
import { evaluateBoolean, ExpressionError } from "./contexts.ts";
import { newMap, setOwn, type ValueMap } from "../values/values.ts";

/** What can be asked about a task, as `TASK.Result`. */
export const TASK_RESULTS = [
  "Succeeded",
  "Failed",
  "Errored",
  "Skipped",
  "Omitted",
  "Daemoned",
  "AnySucceeded",
  "AllFailed",
] as const;
export type TaskResult = typeof TASK_RESULTS[number];

/** Longest `depends`, in UTF-16 units: more than a thousand tasks with long names. */
const MAX_DEPENDS_LENGTH = 65_536;

/** The results of a finished task; absent members are false. */
export type TaskResults = Partial<Record<TaskResult, boolean>>;

/** A task that a `depends` names. */
export interface DependsReference {
  task: string;
  /** The results that are asked for after the last mention of the bare name: the reference looks at no others. */
  results: string[];
}

/** A task with a result, or a bare task. Words that are neither (`and`) count as tasks, as in the reference. */
const WORD = /([a-zA-Z0-9][-a-zA-Z0-9]*?)\.([A-Z][a-zA-Z]+)|([a-zA-Z0-9][-a-zA-Z0-9]*)/g;

/** A `depends` that is nothing but the name of a task, as most are. */
const BARE = /^[a-zA-Z0-9][-a-zA-Z0-9]*$/;

/** The tasks that a `depends` names, in order of their first mention. */
export function dependsReferences(depends: string): DependsReference[] {
  if (BARE.test(depends)) return [{ task: depends, results: [] }];
  const found = new Map<string, Set<string>>();
  for (const [, task, result, bare] of depends.matchAll(WORD)) {
    const name = task ?? bare ?? "";
    const results = found.get(name) ?? new Set();
    found.set(name, results);
    if (result !== undefined) results.add(result);
    else results.clear();
  }
  return [...found].map(([task, results]) => ({ task, results: [...results] }));
}

/** The error for the first result that does not exist, in the reference's words; undefined if all exist. */
export function dependsProblem(depends: string): string | undefined {
  if (depends.length > MAX_DEPENDS_LENGTH) {
    return `depends has ${depends.length} characters, and may have ${MAX_DEPENDS_LENGTH}`;
  }
  for (const [, task, result] of depends.matchAll(WORD)) {
    if (result === undefined || (TASK_RESULTS as readonly string[]).includes(result)) continue;
    return `task result '${result}' for task '${task}' is invalid`;
  }
  return undefined;
}

/**
 * The logic of a `depends`: a bare task stands for `(T.Succeeded || T.Skipped || T.Daemoned)`, and for more if its
 * `continueOn` says so.
 */
export function expandDepends(
  depends: string,
  continueOn: (task: string) => { error?: boolean; failed?: boolean } | undefined = () => undefined,
): string {
  return depends.replace(WORD, (word, _task, _result, bare: string | undefined) => {
    if (bare === undefined) return word;
    const more = continueOn(bare);
    const results: TaskResult[] = ["Succeeded", "Skipped", "Daemoned"];
    if (more?.error) results.push("Errored");
    if (more?.failed) results.push("Failed");
    return `(${results.map((result) => `${bare}.${result}`).join(" || ")})`;
  });
}

/**
 * Evaluates expanded logic over the results of the tasks that it names. A dash in a task's name counts as an
 * underscore.
 * @throws {ExpressionError}
 */
export function evaluateDepends(
  logic: string,
  results: Iterable<readonly [string, TaskResults]>,
): boolean {
  const source = logic.replaceAll("-", "_");
  const env = newMap();
  for (const [task, given] of results) {
    const name = task.replaceAll("-", "_");
    if (Object.hasOwn(env, name)) continue;
    const members: ValueMap = newMap();
    for (const result of TASK_RESULTS) setOwn(members, result, given[result] ?? false);
    setOwn(env, name, members);
  }
  try {
    return evaluateBoolean(source, env);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    throw new ExpressionError(
      `unable to evaluate expression '${source}': ${error.message}`,
      error.cause,
    );
  }
}
