/**
 * Members of a body that its schema does not know. They are ignored, as in Kubernetes, unless a creation asks to have them
 * refused. Bodies that change a workflow have schemas of their own that refuse them always: see `requests.ts`.
 */
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import type { DecodeOptions, UnknownField } from "../spec/schema/decode.ts";

/** How a body is decoded: with `createOptions.fieldValidation: Strict` an unknown member is InvalidArgument. */
export function unknownMembers(body: Json | undefined): DecodeOptions {
  return isStrict(body) ? STRICT : LENIENT;
}

const STRICT: DecodeOptions = { onUnknown: refuseUnknown };
const LENIENT: DecodeOptions = {};

function isStrict(body: Json | undefined): boolean {
  const options = isJsonObject(body) ? body.createOptions : undefined;
  return isJsonObject(options) && options.fieldValidation === "Strict";
}

function refuseUnknown({ path }: UnknownField): never {
  throw invalid(`strict decoding error: unknown field "${path}"`);
}
