/** The names of the built-in functions, and how those that take a predicate are written. */

/** Arguments of the collection functions; a mark `?` ends what may be left out. */
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

const FUNCTIONS = new Set([
  ...["len", "type", "abs", "ceil", "floor", "round", "int", "float", "string", "trim"],
  ...["trimPrefix", "trimSuffix", "upper", "lower", "split", "splitAfter", "replace", "repeat"],
  ...["join", "indexOf", "lastIndexOf", "hasPrefix", "hasSuffix", "max", "min", "mean", "median"],
  ...["toJSON", "fromJSON", "toBase64", "fromBase64", "now", "duration", "date", "timezone"],
  ...["first", "last", "get", "take", "keys", "values", "toPairs", "fromPairs", "reverse", "uniq"],
  ...["concat", "flatten", "sort", "bitand", "bitor", "bitxor", "bitnand", "bitshl", "bitshr"],
  ...["bitushr", "bitnot"],
]);

/** Names of all built-in functions. */
export const BUILTIN_NAMES: readonly string[] = [...FUNCTIONS, ...PREDICATE_BUILTINS.keys()];

/** Tells whether a name is a built-in function. */
export function isBuiltin(name: string): boolean {
  return FUNCTIONS.has(name) || PREDICATE_BUILTINS.has(name);
}
