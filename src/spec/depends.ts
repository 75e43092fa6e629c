/** Which tasks a task of a dag waits for. */
import type { DagTask } from "./manifest.ts";

/** `task.Result` first, then any other word. */
const REFERENCE = /([a-zA-Z0-9][-a-zA-Z0-9]*?)\.([A-Z][a-zA-Z]+)|([a-zA-Z0-9][-a-zA-Z0-9]*)/g;

const RESULTS = [
  "Succeeded",
  "Failed",
  "Errored",
  "Skipped",
  "Omitted",
  "Daemoned",
  "AnySucceeded",
  "AllFailed",
];
const ITEM_RESULTS = ["AnySucceeded", "AllFailed"];

/** Names of the tasks a task waits for; true where it asks about the elements of a loop. */
export function findDependencies(task: DagTask): Map<string, boolean> {
  const depends = task.depends ?? "";
  const text = depends === ""
    ? (task.dependencies ?? []).map((name) => `${name}.Succeeded`).join(" ")
    : depends;
  const found = new Map<string, boolean>();
  for (const [, named, result = "", bare] of text.matchAll(REFERENCE)) {
    const name = named ?? bare ?? "";
    found.set(name, ITEM_RESULTS.includes(result) || found.get(name) === true);
  }
  return found;
}

/** The first result in a `depends` text that no task can have. */
export function invalidTaskResult(depends: string): { task: string; result: string } | undefined {
  for (const [, task, result] of depends.matchAll(REFERENCE)) {
    if (task !== undefined && result !== undefined && !RESULTS.includes(result)) {
      return { task, result };
    }
  }
  return undefined;
}
