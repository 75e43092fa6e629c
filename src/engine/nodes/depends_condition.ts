/** Decides whether a task of a DAG runs, once all its dependencies are done. */
import type { DagTask } from "../../spec/manifest.ts";
import {
  evaluateDepends,
  expandDepends,
  ExpressionError,
  type TaskResults,
} from "../scope/expressions.ts";
import type { NodeRecord } from "../records.ts";

/** The full condition of a task, with `dependencies` and bare names written out. */
export function dependsLogic(task: DagTask, find: (name: string) => DagTask | undefined): string {
  const { depends, dependencies = [] } = task;
  const text = depends === undefined || depends === "" ? dependencies.join(" && ") : depends;
  return expandDepends(text, (name) => find(name)?.continueOn);
}

const PLAIN = /^\s*[a-zA-Z0-9][-a-zA-Z0-9]*(\s*&&\s*[a-zA-Z0-9][-a-zA-Z0-9]*)*\s*$/;

/** Tells whether a condition has the form `A && B`: nothing but the names of the tasks for which it waits. */
export function isPlainDepends({ depends = "", dependencies = [] }: DagTask): boolean {
  return PLAIN.test(depends === "" ? dependencies.join("&&") : depends);
}

/** What a condition can ask of a task. @param elements of its loop */
export function taskResults(
  node: NodeRecord | undefined,
  elements: readonly NodeRecord[],
): TaskResults {
  const phase = node?.phase;
  return {
    Succeeded: phase === "Succeeded",
    Failed: phase === "Failed",
    Errored: phase === "Error",
    Skipped: phase === "Skipped",
    Omitted: phase === "Omitted",
    Daemoned: node?.daemoned === true && phase !== "Pending",
    AnySucceeded: elements.some((element) => element.phase === "Succeeded"),
    AllFailed: elements.length > 0 && elements.every((element) => element.phase === "Failed"),
  };
}

/**
 * Decides a full condition.
 * @throws {ExpressionError} when it is malformed
 */
export function holdsDepends(logic: string, results: ReadonlyMap<string, TaskResults>): boolean {
  if (logic === "") return true;
  try {
    return evaluateDepends(logic, results);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    // A task may have the name of an operator or function of the language. A prefix keeps them apart.
    const prefixed = logic.replace(/([a-zA-Z0-9][-a-zA-Z0-9]*?)\.(?=[A-Z])/g, "task_$1.");
    try {
      return evaluateDepends(
        prefixed,
        [...results].map(([name, result]) => [`task_${name}`, result]),
      );
    } catch {
      throw error;
    }
  }
}
