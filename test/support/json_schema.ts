/** A validator for the part of JSON Schema that this project generates; those in the registry are far larger. */
import { isJsonObject, type Json, type JsonObject } from "../../src/base/json.ts";

/** Paths of a value that do not fit a schema. Throws if the schema uses an unknown keyword. */
export function schemaProblems(schema: JsonObject, value: Json): string[] {
  return problems(schema, schema, value, "");
}

function problems(root: JsonObject, schema: JsonObject, value: Json, path: string): string[] {
  const known = new Set(
    "$ref $schema $defs title description examples format contentEncoding type const properties required additionalProperties items minimum maximum minProperties maxProperties oneOf"
      .split(" "),
  );
  const strange = Object.keys(schema).filter((keyword) => !known.has(keyword));
  if (strange.length > 0) throw new Error(`Unknown keywords ${strange}`);
  const found: string[] = [];
  if (typeof schema.$ref === "string") {
    const name = schema.$ref.replace("#/$defs/", "");
    const target = (root.$defs as Record<string, JsonObject>)[name];
    if (target === undefined) throw new Error(`No definition ${name}`);
    found.push(...problems(root, target, value, path));
  }
  if (Array.isArray(schema.oneOf)) {
    const fitting = schema.oneOf.filter((one) =>
      problems(root, one as JsonObject, value, path).length === 0
    );
    if (fitting.length !== 1) found.push(`${path} fits ${fitting.length}`);
  }
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (
    types.length > 0 && !types.includes(typeOf(value)) &&
    !(types.includes("number") && typeOf(value) === "integer")
  ) {
    found.push(`${path} is ${typeOf(value)}`);
  }
  if (schema.const !== undefined && schema.const !== value) found.push(`${path} is not const`);
  if (typeof value === "number") {
    if (typeof schema.minimum === "number" && value < schema.minimum) found.push(`${path} low`);
    if (typeof schema.maximum === "number" && value > schema.maximum) found.push(`${path} high`);
  }
  if (Array.isArray(value) && isJsonObject(schema.items)) {
    const items = schema.items;
    value.forEach((item, index) => found.push(...problems(root, items, item, `${path}[${index}]`)));
  }
  if (isJsonObject(value)) {
    const members = isJsonObject(schema.properties) ? schema.properties : {};
    for (const name of (schema.required ?? []) as string[]) {
      if (!Object.hasOwn(value, name)) found.push(`${path}.${name} missing`);
    }
    const count = Object.keys(value).length;
    if (count < Number(schema.minProperties ?? 0)) found.push(`${path} small`);
    if (count > Number(schema.maxProperties ?? Infinity)) found.push(`${path} large`);
    for (const [name, member] of Object.entries(value)) {
      const at = `${path}.${name}`;
      const own = members[name];
      if (isJsonObject(own)) found.push(...problems(root, own, member, at));
      else if (schema.additionalProperties === false) found.push(`${at} unknown`);
      else if (isJsonObject(schema.additionalProperties)) {
        found.push(...problems(root, schema.additionalProperties, member, at));
      }
    }
  }
  return found;
}

function typeOf(value: Json): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return Number.isInteger(value) ? "integer" : typeof value;
}
