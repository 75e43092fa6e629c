/** What normal form has where a manifest has nothing. */
import type { Json, JsonObject } from "../../base/json.ts";
import type { Schema, StructSchema } from "./schema.ts";

/** The normal form of a missing member. */
export function emptyOf(schema: Schema): Json {
  switch (schema.kind) {
    case "struct":
      return inOrder({}, schema);
    case "list":
    case "stepGroup":
      return [];
    case "string":
    case "anyString":
    case "bytes":
      return "";
    case "boolean":
      return false;
    case "int32":
    case "int64":
    case "uint64":
    case "intOrString":
      return 0;
    case "quantity":
      return "0";
    case "time":
      return null;
    default:
      return {};
  }
}

/** Adds the members that are always there, and puts all of them into the order of the schema. */
export function inOrder(given: JsonObject, schema: StructSchema): JsonObject {
  for (const { name, field } of schema.alwaysShown()) {
    if (!Object.hasOwn(given, name)) given[name] = field.orNull ? null : emptyOf(field.schema);
  }
  const out: JsonObject = {};
  for (const name of schema.fields().keys()) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
    if (value !== undefined) out[name] = value;
  }
  return out;
}

/** Tells whether a struct has all members that are always there. */
export function isComplete(given: JsonObject, schema: StructSchema): boolean {
  for (const { name } of schema.alwaysShown()) if (!Object.hasOwn(given, name)) return false;
  return true;
}
