/** Defaults, JSON, encodings and questions about types: the rest of sprig that needs nothing from outside. */
import { Fault, fault } from "./error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { goKind, isEmptyValue } from "./go_reflect.ts";
import { strictlyEqual } from "./operators.ts";
import { base64Encode, goTypeName, toJsonText, unescapeHtml } from "./go_text.ts";
import { base64Decode, parseJsonText } from "./builtins_convert.ts";
import { decodeBase32, encodeBase32 } from "./sprig_base32.ts";
import type { RunContext } from "./run_context.ts";
import { produced } from "./sprig_text.ts";
import type { GoFunction, Value } from "./values.ts";
import { utf8Bytes, utf8String } from "./utf8.ts";

/** What `run` gives, or `otherwise` where it fails. */
function orElse<T extends Value>(run: () => Value, otherwise: T): Value {
  try {
    return run();
  } catch (error) {
    if (error instanceof Fault) return otherwise;
    throw error;
  }
}

function decoded(run: () => Uint8Array): string {
  try {
    return utf8String(run());
  } catch (error) {
    if (error instanceof Fault) return error.message;
    throw error;
  }
}

/** JSON functions: the plain name gives "" where the value has no JSON form, the one with `must` fails. */
function jsonFunctions(name: string, write: (value: Value) => string): GoFunction[] {
  const must = `must${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const run = (context: RunContext, value: Value) => produced(context, write(value));
  return [
    goFunction(
      name,
      ["any"],
      (context, value) =>
        name === "toRawJson" ? run(context, value) : orElse(() => run(context, value), ""),
    ),
    goFunction(must, ["any"], run),
  ];
}

/** Defaults, JSON, encoding and type functions, by name. */
export const LOGIC_FUNCTIONS: readonly GoFunction[] = [
  variadicFunction(
    "default",
    ["any"],
    "any",
    (_, otherwise, given) => isEmptyValue(given[0] ?? null) ? otherwise : given[0] as Value,
  ),
  goFunction("empty", ["any"], (_, value) => isEmptyValue(value)),
  variadicFunction(
    "coalesce",
    [],
    "any",
    (_, values) => values.find((value) => !isEmptyValue(value)) ?? null,
  ),
  variadicFunction("all", [], "any", (_, values) => !values.some(isEmptyValue)),
  variadicFunction("any", [], "any", (_, values) => values.some((value) => !isEmptyValue(value))),
  goFunction("ternary", ["any", "any", "bool"], (_, yes, no, condition) => condition ? yes : no),
  goFunction("fail", ["string"], (_, message) => fault(message)),

  goFunction("fromJson", ["string"], (_, text) => orElse(() => parseJsonText(text), null)),
  goFunction("mustFromJson", ["string"], (_, text) => parseJsonText(text)),
  ...jsonFunctions("toJson", (value) => toJsonText(value)),
  ...jsonFunctions("toPrettyJson", (value) => toJsonText(value, 2)),
  ...jsonFunctions("toRawJson", (value) => unescapeHtml(toJsonText(value))),

  goFunction(
    "b64enc",
    ["string"],
    (context, text) => produced(context, base64Encode(utf8Bytes(text))),
  ),
  goFunction("b64dec", ["string"], (_, text) => decoded(() => base64Decode(text))),
  goFunction(
    "b32enc",
    ["string"],
    (context, text) => produced(context, encodeBase32(utf8Bytes(text))),
  ),
  goFunction("b32dec", ["string"], (_, text) => decoded(() => decodeBase32(text))),

  goFunction("typeOf", ["any"], (_, value) => goTypeName(value)),
  goFunction("typeIs", ["string", "any"], (_, type, value) => type === goTypeName(value)),
  goFunction(
    "typeIsLike",
    ["string", "any"],
    (_, type, value) => type === goTypeName(value) || `*${type}` === goTypeName(value),
  ),
  goFunction("kindOf", ["any"], (_, value) => goKind(value)),
  goFunction("kindIs", ["string", "any"], (_, kind, value) => kind === goKind(value)),
  goFunction("deepEqual", ["any", "any"], (context, a, b) => strictlyEqual(a, b, context)),
];
