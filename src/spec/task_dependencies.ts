/** The tasks for which a task of a dag waits. */
import { dependsReferences } from "../expr/templates/depends.ts";
import type { DagTask } from "./manifest.ts";

const ITEM_RESULTS = ["AnySucceeded", "AllFailed"];

const NONE: ReadonlyMap<string, boolean> = new Map();

/** Names of the tasks for which a task waits; true if it asks about the elements of a loop. */
export function findDependencies(task: DagTask): ReadonlyMap<string, boolean> {
  const depends = task.depends ?? "";
  const text = depends === "" ? (task.dependencies ?? []).join(" && ") : depends;
  if (text === "") return NONE;
  return new Map(
    dependsReferences(text).map(({ task, results }) => [
      task,
      results.some((result) => ITEM_RESULTS.includes(result)),
    ]),
  );
}
