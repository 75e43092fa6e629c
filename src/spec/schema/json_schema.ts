/** JSON Schema (2020-12) of the manifests, generated from their description, for editors and for OpenAPI. */
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { type Kind, KINDS } from "./decode_manifest.ts";
import type { ScalarSchema, Schema, StructSchema } from "./schema.ts";
import { describeMember } from "./docs.ts";
import { KIND_SCHEMAS } from "./kinds.ts";

const JSON_SCHEMA_DIALECT = "https://json-schema.org/draft/2020-12/schema";

/** Whether the schema is for people who write manifests, or for clients that read answers. */
export type SchemaUse =
  /** What may be written: scalars are accepted as text; unknown members are not allowed. */
  | "input"
  /** What is answered: normal form, possibly with further members. */
  | "output";

/** Definitions of structs, and references to them. */
export class SchemaDefinitions {
  /** By name: `Template`, `core.Container`. */
  readonly definitions: Record<string, JsonObject> = {};
  readonly #prefix: string;
  readonly #use: SchemaUse;
  readonly #names = new Map<StructSchema, string>();

  /** @param prefix where the definitions will be: `#/$defs/`, `#/components/schemas/` */
  constructor(prefix: string, use: SchemaUse) {
    this.#prefix = prefix;
    this.#use = use;
  }

  /** The schema of a value; structs are added to the definitions and referred to. */
  schemaOf(schema: Schema): JsonObject {
    switch (schema.kind) {
      case "struct":
        return { $ref: this.#prefix + this.#define(schema) };
      case "list":
        return { type: "array", items: this.schemaOf(schema.items) };
      case "stepGroup":
        return { type: "array", items: this.schemaOf(schema.step) };
      case "map":
        return { type: "object", additionalProperties: this.schemaOf(schema.values) };
      default:
        return scalarSchema(schema, this.#use);
    }
  }

  #define(struct: StructSchema): string {
    const known = this.#names.get(struct);
    if (known !== undefined) return known;
    const name = struct.goType.replace(/^v1alpha1\./, "").replace(/^v1\./, "core.");
    if (Object.hasOwn(this.definitions, name)) {
      throw new RangeError(`Two structs are called ${name}`);
    }
    this.#names.set(struct, name);
    const definition: JsonObject = {};
    this.definitions[name] = definition;
    definition.type = "object";
    definition.properties = Object.fromEntries(
      [...struct.fields()].map(([member, { schema, orNull }]) => {
        const text = describeMember(struct.name, member);
        const given = this.schemaOf(schema);
        const own = orNull && this.#use === "output" ? { anyOf: [given, { type: "null" }] } : given;
        return [member, text === undefined ? own : { description: text, ...own }];
      }),
    );
    if (this.#use === "input") definition.additionalProperties = false;
    return name;
  }
}

/** The schema of one kind of manifest as a document of its own. */
export function jsonSchema(kind: Kind): JsonObject {
  const struct = KIND_SCHEMAS.get(kind);
  if (struct === undefined) throw new RangeError(`Kind ${kind} has no schema`);
  const definitions = new SchemaDefinitions("#/$defs/", "input");
  const { $ref } = definitions.schemaOf(struct);
  const root = definitions.definitions[String($ref).replace("#/$defs/", "")];
  if (root !== undefined) {
    root.properties = { ...root.properties as JsonObject, kind: { const: kind } };
    root.required = ["kind", "metadata", ...hasSpec(struct) ? ["spec"] : []];
  }
  return {
    $schema: JSON_SCHEMA_DIALECT,
    title: kind,
    ...defined({ $ref }),
    $defs: definitions.definitions,
  };
}

/** One schema for manifests of any kind. */
export function anyManifestSchema(): JsonObject {
  const documents = KINDS.map(jsonSchema);
  return {
    $schema: JSON_SCHEMA_DIALECT,
    title: "Manifest",
    oneOf: documents.map(({ $ref }) => ({ $ref: $ref ?? "" })),
    $defs: Object.assign({}, ...documents.map(({ $defs }) => $defs)),
  };
}

function hasSpec(struct: StructSchema): boolean {
  return struct.fields().has("spec");
}

const TEXT_OR_NUMBER = ["string", "number", "boolean"];

function scalarSchema(schema: ScalarSchema, use: SchemaUse): JsonObject {
  switch (schema.kind) {
    case "string":
      return schema.values === undefined
        ? { type: "string" }
        : { type: "string", examples: schema.values.filter((value) => value !== "") };
    case "boolean":
      return { type: "boolean" };
    case "int32":
      return { type: "integer", minimum: -(2 ** 31), maximum: 2 ** 31 - 1 };
    case "int64":
      return { type: "integer" };
    case "uint64":
      return { type: "integer", minimum: 0 };
    case "anyString":
      return { type: use === "input" ? TEXT_OR_NUMBER : "string" };
    case "intOrString":
      return { type: ["integer", "string"] };
    case "quantity":
      return { type: use === "input" ? ["string", "number"] : "string" };
    case "time":
      return { type: ["string", "null"], format: "date-time" };
    case "bytes":
      return { type: "string", contentEncoding: "base64" };
    case "object":
      return { type: "object" };
    case "plugin":
      return { type: "object", minProperties: 1, maxProperties: 1 };
    case "json":
      return {};
  }
}
