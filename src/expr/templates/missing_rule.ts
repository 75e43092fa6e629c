/** What happens to tags whose names are not known. */

/**
 * What happens to a tag whose name is unknown or whose expression can't be evaluated yet. Syntax errors and absent optional
 * values are always errors.
 *
 * - `error`.
 * - `keep` leaves the tag as it is, because more names follow.
 * - `early` does so too, and outputs of steps, tasks and the workflow are among those names: what an expression reads of
 *   them by `?.` is waited for as well.
 * - `errorUnder` is an error for names that begin with these parts (but not for `….outputs.artifacts.…`). Other tags are then
 *   kept, but no more names follow: a member that is missing in an expression is nil.
 */
export type MissingRule = "error" | "keep" | "early" | { errorUnder: readonly string[] };

/** Whether a tag stays because more names follow. */
export function isKept(rule: MissingRule): rule is "keep" | "early" {
  return rule === "keep" || rule === "early";
}

/** Whether what is missing is of a step or task that has not ended, or a global output. */
export function isOutput([root, member]: readonly string[]): boolean {
  return root === "steps" || root === "tasks" || (root === "workflow" && member === "outputs");
}

/** Whether no name has to exist. */
export function mayAllStay(rule: MissingRule): boolean {
  return isKept(rule) || (rule !== "error" && rule.errorUnder.length === 0);
}

/** Whether it is an error that a name is missing. */
export function isErrorFor(path: readonly string[], rule: MissingRule): boolean {
  if (rule === "error") return true;
  if (isKept(rule)) return false;
  return rule.errorUnder.includes(path[0] ?? "") && !path.join(".").includes(".outputs.artifacts.");
}
