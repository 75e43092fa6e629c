/**
 * The form in which objects are stored and shown: optional members that are empty are left out, as Go's encoder does
 * with `omitempty`. Numbers and booleans stay: most of them are pointers in the reference, so that zero and false mean
 * something. Only flags and counts, which are not pointers, are left out when false or 0.
 */
import { isJsonObject, type Json, type JsonObject, setMember } from "../base/json.ts";
import { freezeAll, isShared } from "../base/shared_json.ts";
import type { Schema, StructSchema } from "./schema/schema.ts";

/** Drops the empty optional members of a decoded object; the given object is not changed. */
export function normalForm<T>(value: T, schema: StructSchema): T {
  return normalized(value as Json, schema) as T;
}

// The normal forms of shared values. A normal form is its own normal form.
const known = new WeakMap<object, Json>();

function normalized(value: Json, schema: Schema): Json {
  if (typeof value !== "object" || value === null || !isShared(value)) {
    return formOf(value, schema);
  }
  let form = known.get(value);
  if (form === undefined) {
    form = freezeAll(formOf(value, schema));
    known.set(value, form);
    if (typeof form === "object" && form !== null) known.set(form, form);
  }
  return form;
}

function formOf(value: Json, schema: Schema): Json {
  switch (schema.kind) {
    case "struct":
      return isJsonObject(value) ? normalizedStruct(value, schema) : value;
    case "list":
      return Array.isArray(value) ? value.map((item) => normalized(item, schema.items)) : value;
    case "stepGroup":
      return Array.isArray(value) ? value.map((item) => normalized(item, schema.step)) : value;
    case "map": {
      if (!isJsonObject(value)) return value;
      const out: JsonObject = {};
      for (const key in value) setMember(out, key, normalized(value[key] ?? null, schema.values));
      return out;
    }
    default:
      return value;
  }
}

function normalizedStruct(value: JsonObject, schema: StructSchema): JsonObject {
  const out: JsonObject = {};
  const fields = schema.fields();
  for (const key in value) {
    const member = value[key];
    if (member === undefined) continue;
    const field = fields.get(key);
    if (field === undefined) out[key] = member;
    else if (field.always || !isEmpty(member, field.schema)) {
      out[key] = normalized(member, field.schema);
    }
  }
  return out;
}

function isEmpty(value: Json, schema: Schema): boolean {
  switch (schema.kind) {
    case "string":
      return value === "" && schema.keepsEmpty !== true;
    case "boolean":
    case "int32":
      return schema.omitsZero === true && (value === false || value === 0);
    case "list":
    case "stepGroup":
      return Array.isArray(value) && value.length === 0;
    case "map":
      return isJsonObject(value) && hasNone(value);
    default:
      return false;
  }
}

function hasNone(value: JsonObject): boolean {
  for (const _ in value) return false;
  return true;
}
