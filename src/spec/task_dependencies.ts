/** The tasks for which a task of a dag waits. */
import { dependsReferences } from "../expr/templates/depends.ts";
import type { DagTask } from "./manifest.ts";

const ITEM_RESULTS = ["AnySucceeded", "AllFailed"];

/** A task for which another one waits. */
export interface Dependency {
  task: string;
  /** The condition asks about the elements of a loop. */
  asksItems: boolean;
}

// One list for all tasks that wait for none: a dag may have very many of them.
const NONE: readonly Dependency[] = [];

const NAME = /^[-a-zA-Z0-9]+$/;

/** An entry of a list names a task, whose results are asked for: with one of them behind the name, it is no name. */
function asName(entry: string): string {
  return NAME.test(entry) ? entry : `${entry}.Succeeded`;
}

/** The tasks for which a task waits, each once. */
export function findDependencies(task: DagTask): readonly Dependency[] {
  const depends = task.depends ?? "";
  const text = depends === "" ? (task.dependencies ?? []).map(asName).join(" && ") : depends;
  if (text === "") return NONE;
  return dependsReferences(text).map(({ task, results }) => ({
    task,
    asksItems: results.some((result) => ITEM_RESULTS.includes(result)),
  }));
}
