/** Pure: what the syntax of jq puts together from filters. */
import type { Json, JsonObject } from "../../base/json.ts";
import type { RunContext } from "../../expr/values/run_context.ts";
import { collect, type Filter } from "./jq_functions.ts";
import { isTrue, JqError, memberOf, operate } from "./jq_values.ts";

/** One member of an object that is made. */
export type Entry = [key: Filter, value: Filter];

/** One object for every way to choose from the values of the entries. */
export function* objects(
  input: Json,
  entries: readonly Entry[],
  made: JsonObject,
  context: RunContext,
): Iterable<Json> {
  // What is made so far is copied for each entry.
  context.step(1 + entries.length + Object.keys(made).length);
  const [first, ...rest] = entries;
  if (first === undefined) return yield made;
  for (const key of first[0](input)) {
    if (typeof key !== "string") throw new JqError("the key of an object must be a text");
    for (const value of first[1](input)) {
      for (const one of objects(input, rest, { ...made, [key]: value }, context)) {
        context.step();
        yield one;
      }
    }
  }
}

/** `.` */
export function* identity(input: Json): Iterable<Json> {
  yield input;
}

/** A value written in the filter. */
export function literal(value: Json): Filter {
  return () => [value];
}

/** `of[key]`, for each value of both. */
export function index(of: Filter, key: Filter): Filter {
  return function* (input) {
    for (const value of of(input)) {
      for (const one of key(input)) yield memberOf(value, one);
    }
  };
}

/** `of[from:to]`. */
export function slice(
  of: Filter,
  from: Filter | undefined,
  to: Filter | undefined,
  context: RunContext,
): Filter {
  const bound = (filter: Filter | undefined, input: Json) => {
    const [value = null] = filter === undefined ? [] : filter(input);
    if (value !== null && typeof value !== "number") throw new JqError("a bound must be a number");
    return value ?? undefined;
  };
  return function* (input) {
    for (const value of of(input)) {
      if (value !== null && typeof value !== "string" && !Array.isArray(value)) {
        throw new JqError("only texts and arrays have slices");
      }
      if (Array.isArray(value)) context.spend(value.length);
      yield value === null ? null : value.slice(bound(from, input), bound(to, input));
    }
  };
}

/** `of?`: the values up to the first failure. */
export function attempt(of: Filter): Filter {
  return function* (input) {
    try {
      yield* of(input);
    } catch (error) {
      if (!(error instanceof JqError)) throw error;
    }
  };
}

/** `-of`. */
export function negate(of: Filter, context: RunContext): Filter {
  return function* (input) {
    for (const value of of(input)) yield operate("-", 0, value, context);
  };
}

/** Two filters with an operator between them. */
export function combine(
  operator: string,
  left: Filter,
  right: Filter,
  context: RunContext,
): Filter {
  switch (operator) {
    case "|":
      return function* (input) {
        for (const value of left(input)) yield* right(value);
      };
    case ",":
      return function* (input) {
        yield* left(input);
        yield* right(input);
      };
    case "//":
      return function* (input) {
        const found = collect(attempt(left)(input), context).filter(isTrue);
        yield* found.length > 0 ? found : right(input);
      };
    case "and":
    case "or":
      return function* (input) {
        for (const value of left(input)) {
          if (isTrue(value) === (operator === "or")) yield operator === "or";
          else for (const other of right(input)) yield isTrue(other);
        }
      };
    default:
      return function* (input) {
        for (const other of right(input)) {
          for (const value of left(input)) yield operate(operator, value, other, context);
        }
      };
  }
}
