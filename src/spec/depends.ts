/** Which tasks a task of a dag waits for. */
import { dependsReferences } from "../expr/depends.ts";
import type { DagTask } from "./manifest.ts";

const ITEM_RESULTS = ["AnySucceeded", "AllFailed"];

/** Names of the tasks a task waits for; true where it asks about the elements of a loop. */
export function findDependencies(task: DagTask): Map<string, boolean> {
  const depends = task.depends ?? "";
  const text = depends === "" ? (task.dependencies ?? []).join(" && ") : depends;
  return new Map(
    dependsReferences(text).map(({ task, results }) => [
      task,
      results.some((result) => ITEM_RESULTS.includes(result)),
    ]),
  );
}
