/** Defaults, JSON, encodings and questions about types: the other functions of sprig that need nothing from outside. */
import { fault } from "../values/error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { goKind, isEmptyValue } from "../values/go_reflect.ts";
import { strictlyEqual } from "../values/operators.ts";
import { base64Encode, goTypeName, toJsonText, unescapeHtml } from "../values/go_text.ts";
import { base64Decode, parseJsonText } from "./builtins_convert.ts";
import { decodeBase32, encodeBase32 } from "./sprig_base32.ts";
import type { RunContext } from "../values/run_context.ts";
import { produced } from "./sprig_text.ts";
import type { GoFunction, Value } from "../values/values.ts";
import { utf8Bytes, utf8String } from "../values/utf8.ts";

function decoded(context: RunContext, run: () => Uint8Array): string {
  return context.orElse(() => utf8String(run()), ({ message }) => message);
}

/** JSON functions: if the value has no JSON form, the plain one gives "", the one with `must` fails. */
function jsonFunctions(
  name: string,
  write: (value: Value, context: RunContext) => string,
): GoFunction[] {
  const must = `must${name.charAt(0).toUpperCase()}${name.slice(1)}`;
  const run = (context: RunContext, value: Value) => produced(context, write(value, context));
  return [
    goFunction(
      name,
      ["any"],
      (context, value) =>
        name === "toRawJson"
          ? run(context, value)
          : context.orElse(() => run(context, value), () => ""),
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
    (context, otherwise, given) =>
      isEmptyValue(given[0] ?? null, context) ? otherwise : given[0] as Value,
  ),
  goFunction("empty", ["any"], (context, value) => isEmptyValue(value, context)),
  variadicFunction(
    "coalesce",
    [],
    "any",
    (context, values) => values.find((value) => !isEmptyValue(value, context)) ?? null,
  ),
  variadicFunction(
    "all",
    [],
    "any",
    (context, values) => !values.some((value) => isEmptyValue(value, context)),
  ),
  variadicFunction(
    "any",
    [],
    "any",
    (context, values) => values.some((value) => !isEmptyValue(value, context)),
  ),
  goFunction("ternary", ["any", "any", "bool"], (_, yes, no, condition) => condition ? yes : no),
  goFunction("fail", ["string"], (_, message) => fault(message)),

  goFunction(
    "fromJson",
    ["string"],
    (context, text) => context.orElse(() => parseJsonText(text, context), () => null),
  ),
  goFunction("mustFromJson", ["string"], (context, text) => parseJsonText(text, context)),
  ...jsonFunctions("toJson", (value, context) => toJsonText(value, 0, context)),
  ...jsonFunctions("toPrettyJson", (value, context) => toJsonText(value, 2, context)),
  ...jsonFunctions("toRawJson", (value, context) => {
    const json = toJsonText(value, 0, context);
    context.step(json.length / 4);
    return unescapeHtml(json);
  }),

  goFunction(
    "b64enc",
    ["string"],
    (context, text) => produced(context, base64Encode(utf8Bytes(text))),
  ),
  goFunction("b64dec", ["string"], (context, text) => decoded(context, () => base64Decode(text))),
  goFunction(
    "b32enc",
    ["string"],
    (context, text) => produced(context, encodeBase32(utf8Bytes(text))),
  ),
  goFunction("b32dec", ["string"], (context, text) => decoded(context, () => decodeBase32(text))),

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
