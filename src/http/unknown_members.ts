/**
 * Members of a body that its schema does not know. They are ignored, as in Kubernetes, unless a creation asks to have them
 * refused. Bodies that change a workflow have schemas of their own that refuse them always: see `requests.ts`.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { goQuote } from "../expr/values/go_quote.ts";
import type { DecodeOptions, UnknownField } from "../spec/schema/decode.ts";

/** How unknown members are treated, by `createOptions.fieldValidation`. Nothing tells of those that `Warn` asks to be told. */
const LENIENT: DecodeOptions = {};
const WAYS: Readonly<Record<string, DecodeOptions>> = {
  "": LENIENT,
  Ignore: LENIENT,
  Warn: LENIENT,
  Strict: { onUnknown: refuseUnknown },
};

/**
 * How a body is decoded: with `createOptions.fieldValidation: Strict` an unknown member is InvalidArgument.
 * @throws {Problem} InvalidArgument for a way that there is not: a misspelt `Strict` would refuse nothing
 */
export function unknownMembers(body: Json | undefined): DecodeOptions {
  const options = isJsonObject(body) ? body.createOptions : undefined;
  const way = isJsonObject(options) ? options.fieldValidation : undefined;
  // Another type is refused with the body.
  if (typeof way !== "string") return LENIENT;
  const found = Object.hasOwn(WAYS, way) ? WAYS[way] : undefined;
  if (found !== undefined) return found;
  throw invalid(
    `CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: ${
      goQuote(way)
    }: ` +
      'supported values: "", "Ignore", "Strict", "Warn"',
  );
}

function refuseUnknown({ path }: UnknownField): never {
  throw invalid(`strict decoding error: unknown field "${path}"`);
}
