/** The functions, besides the built-ins, that expressions in manifests may use. */
import { parseJsonText, toFloatValue, toIntValue } from "./builtins_convert.ts";
import { fault } from "../values/error.ts";
import { goTypeName, toJsonText } from "../values/go_text.ts";
import { queryJson } from "../jsonpath/jsonpath.ts";
import { sprigMap } from "./sprig.ts";
import { ANY, STRING } from "../values/types.ts";
import { type FunctionTable, GoFunction, type Value, type ValueMap } from "../values/values.ts";

/** Calls are checked before the run, except those in the arguments of a function about which nothing is known. */
function counted(count: number, call: GoFunction["call"]): GoFunction["call"] {
  return (args, context) => {
    if (args.length !== count) {
      fault(`invalid number of arguments: expected ${count}, got ${args.length}`);
    }
    return call(args, context);
  };
}

function helper(
  name: string,
  call: GoFunction["call"],
  result: "any" | "string" = "any",
): GoFunction {
  const signature = { params: [ANY], result: result === "any" ? ANY : STRING };
  const typeName = result === "any"
    ? "func(interface {}) interface {}"
    : "func(interface {}) string";
  return new GoFunction(name, counted(1, call), signature, typeName);
}

/** A string argument; nil is the empty string. */
function stringArgument(value: Value): string {
  if (typeof value === "string") return value;
  return value === null ? "" : fault(`reflect: Call using ${goTypeName(value)} as type string`);
}

/**
 * `asInt`, `asFloat`, `toJson`, `jsonpath` and `sprig.…`: for template tags, retry and hook expressions, and the
 * names, labels and annotations of events.
 */
export const ARGO_FUNCTIONS: FunctionTable = new Map<string, GoFunction | ValueMap>([
  ["asInt", helper("asInt", ([value = null]) => toIntValue(value))],
  ["asFloat", helper("asFloat", ([value = null]) => toFloatValue(value))],
  [
    "toJson",
    helper("toJson", ([value = null], context) => {
      const text = toJsonText(value, 0, context);
      context.produce(text.length);
      return text;
    }, "string"),
  ],
  [
    "jsonpath",
    new GoFunction(
      "jsonpath",
      counted(2, ([text = null, path = null], context): Value => {
        const source = stringArgument(text);
        return queryJson(parseJsonText(source, context), stringArgument(path), context);
      }),
      { params: [STRING, STRING], result: ANY },
      "func(string, string) interface {}",
    ),
  ],
  ["sprig", Object.freeze(sprigMap())],
]);
