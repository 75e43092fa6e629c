/** The names of the built-in functions, and how those that take a predicate are written. */

import { BUILTINS } from "../functions/builtins.ts";

/** Arguments of the collection functions; `?` marks those that may be omitted. */
export const PREDICATE_BUILTINS: ReadonlyMap<string, readonly string[]> = new Map(
  [
    ...["all", "none", "any", "one", "filter", "map", "find", "findIndex", "findLast"],
    ...["findLastIndex", "groupBy"],
  ].map((name) => [name, ["list", "predicate"]] as [string, string[]]).concat([
    ["count", ["list", "predicate?"]],
    ["sum", ["list", "predicate?"]],
    ["sortBy", ["list", "predicate", "order?"]],
    ["reduce", ["list", "predicate", "initial?"]],
  ]),
);

/** Tells whether a name is a built-in function. */
export function isBuiltin(name: string): boolean {
  return BUILTINS.has(name) || PREDICATE_BUILTINS.has(name);
}
