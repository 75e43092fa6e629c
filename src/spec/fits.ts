/**
 * Tells whether a stored value still has the shape that its schema describes. It may have members that the schema does
 * not know: a newer program may have written them.
 */
import { isJsonObject } from "../base/json.ts";
import { INT_LIMITS } from "./schema/whole_numbers.ts";
import { TIME } from "./schema/encoded_text.ts";
import type { Field, ScalarSchema, Schema, StructSchema } from "./schema/schema.ts";

/** @param value as `JSON.parse` returned it */
export function fits(value: unknown, schema: Schema): boolean {
  switch (schema.kind) {
    case "struct":
      return isJsonObject(value) && hasFittingMembers(value, schema);
    case "list":
      return Array.isArray(value) && value.every((item) => fits(item, schema.items));
    case "stepGroup":
      return Array.isArray(value) && value.every((item) => fits(item, schema.step));
    case "map":
      return isJsonObject(value) &&
        Object.values(value).every((item) => fits(item, schema.values));
    default:
      return fitsScalar(value, schema);
  }
}

/** The members of an object that have the shape that the schema describes; each is checked by itself. */
export function fittingMembers(
  value: Record<string, unknown>,
  schema: StructSchema,
): Record<string, unknown> {
  const fields = schema.fields();
  return Object.fromEntries(
    Object.entries(value).filter(([name, member]) => {
      const field = fields.get(name);
      return field === undefined || fitsField(member, field);
    }),
  );
}

function hasFittingMembers(value: Record<string, unknown>, schema: StructSchema): boolean {
  const fields = schema.fields();
  for (const name in value) {
    const field = fields.get(name);
    if (field !== undefined && !fitsField(value[name], field)) return false;
  }
  return true;
}

function fitsField(value: unknown, { schema, orNull }: Field): boolean {
  return (orNull && value === null) || fits(value, schema);
}

function fitsScalar(value: unknown, { kind }: ScalarSchema): boolean {
  switch (kind) {
    case "string":
    case "anyString":
    case "quantity":
    case "bytes":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "int32":
    case "int64":
    case "uint64":
      return isInteger(value, kind);
    case "intOrString":
      return typeof value === "string" || isInteger(value, "int32");
    case "time":
      return value === null ||
        (typeof value === "string" && TIME.test(value) && !Number.isNaN(Date.parse(value)));
    case "object":
    case "plugin":
      return isJsonObject(value);
    case "json":
      return true;
  }
}

function isInteger(value: unknown, kind: keyof typeof INT_LIMITS): boolean {
  const [least, most] = INT_LIMITS[kind];
  return Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
}
