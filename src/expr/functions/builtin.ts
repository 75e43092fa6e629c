/** What a built-in function is: how its arguments are checked before the run, and how it runs. */

import type { RunContext } from "../values/run_context.ts";
import { ANY, type Signature, type StaticType, typeText } from "../values/types.ts";
import type { Value } from "../values/values.ts";

/** The type of the result, or what is wrong with the arguments. */
export type CheckResult = StaticType | { readonly error: string };

export interface Builtin {
  /** Overloads, tried in order; or a check of its own. */
  readonly check: readonly Signature[] | ((args: readonly StaticType[]) => CheckResult);
  /** Throws a {@link Fault} if it fails. */
  readonly run: (args: readonly Value[], context: RunContext) => Value;
}

/** A group of built-ins by name. */
export type BuiltinTable = ReadonlyMap<string, Builtin>;

/** The type's name in messages of checks. */
export function argumentText(type: StaticType): string {
  return type.kind === "nil" ? "nil" : typeText(type);
}

/** A check for functions of one argument: the kinds that are accepted, and the message for others. */
export function oneOf(
  kinds: readonly StaticType["kind"][],
  result: (arg: StaticType) => StaticType,
  message: (type: string) => string,
): (args: readonly StaticType[]) => CheckResult {
  return (args) => {
    const [arg] = args;
    if (args.length !== 1 || arg === undefined) {
      return { error: `invalid number of arguments (expected 1, got ${args.length})` };
    }
    if (arg.kind === "unknown" || arg.kind === "any") return result(ANY);
    return kinds.includes(arg.kind) ? result(arg) : { error: message(argumentText(arg)) };
  };
}

/** Kinds Go counts as integers, named ones included. */
export const INTEGER_KINDS: readonly StaticType["kind"][] = [
  ...["int", "int64", "uint", "duration", "month", "weekday"] as const,
];
/** Kinds Go counts as slices. */
export const LIST_KINDS: readonly StaticType["kind"][] = ["array", "bytes"];
/** Kinds Go counts as maps. */
export const MAP_KINDS: readonly StaticType["kind"][] = ["map", "anymap"];
