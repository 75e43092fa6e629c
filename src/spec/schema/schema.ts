/**
 * The vocabulary in which the manifest kinds are described, once, as data. Decoding, strict checks, merging, JSON
 * Schema and OpenAPI all follow from this description. It contains names of Go types because the reference's decode
 * errors contain them, and clients match those texts.
 */
import { defined } from "../../base/defined.ts";

/** A value without parts that are described. */
export interface ScalarSchema {
  kind:
    | "string"
    | "boolean"
    | "int32"
    | "int64"
    | "uint64"
    /** Any scalar, stored as text. */
    | "anyString"
    /** A whole number, or text (which may contain a tag). */
    | "intOrString"
    /** A Kubernetes quantity: `100m`, `1Gi`, `2`. */
    | "quantity"
    /** RFC 3339 time. */
    | "time"
    /** Base64 text. */
    | "bytes"
    /** Any JSON value. */
    | "json"
    /** Any JSON object; only the executor reads its content. */
    | "object"
    /** An object with exactly one member, whose name is the plugin's. */
    | "plugin";
  goType: string;
  /** Closed set of values, for editors; the reference does not check it while decoding. */
  values?: readonly string[];
  /** False or 0 means the same as absent and is left out. */
  omitsZero?: true;
  /** The empty text is a value of its own, as in `storageClassName: ""`. */
  keepsEmpty?: true;
  /** What an object that programs write consists of. People do not write it, so its members are described nowhere. */
  inside?: () => StructSchema;
}

/** A list of values of one schema. */
export interface ListSchema {
  kind: "list";
  goType: string;
  items: Schema;
  /** Member that identifies an item when two lists are merged. Without one, only the stronger list counts. */
  mergeKey?: string;
}

/** A map from text to values of one schema. */
export interface MapSchema {
  kind: "map";
  goType: string;
  values: Schema;
}

/** One parallel group of steps: a list that refuses unknown members of steps even if decoding is lenient. */
export interface StepGroupSchema {
  kind: "stepGroup";
  goType: string;
  step: StructSchema;
}

/** A member of a struct. */
export interface Field {
  schema: Schema;
  /** Present in normal form even when empty, as the reference's responses show it. */
  always: boolean;
  /** Normal form has null where it is missing. */
  orNull: boolean;
  /** Many objects have the same value here: it is decoded once for all of them (see `shared_json.ts`). */
  shared: boolean;
  /** Older manifests have it. It is known, and nothing becomes of it, whatever it is. */
  dropped: boolean;
}

/** An object with known members, in the order in which the reference writes them. */
export interface StructSchema {
  kind: "struct";
  /** The bare Go name, as it appears in decode errors. */
  name: string;
  goType: string;
  fields(): ReadonlyMap<string, Field>;
  /** Members that normal form always shows. */
  alwaysShown(): readonly Member[];
  /** Finds a member by its name in any case. */
  findField(name: string): Member | undefined;
  /** Unknown members are refused, because a misspelt one could do more than was meant. */
  isClosed?: true;
}

/** A member of a struct, with its name and its position. */
export interface Member {
  name: string;
  field: Field;
  place: number;
}

/** The schema of a value in a manifest. */
export type Schema = ScalarSchema | ListSchema | MapSchema | StepGroupSchema | StructSchema;

/** What `struct` accepts for a member: a schema, or one wrapped in `always`, `orNull`, `shared` or `dropped`. */
export type FieldInput =
  | Schema
  | { always: Schema }
  | { orNull: Schema }
  | { shared: Schema }
  | { dropped: Schema };

function scalar(kind: ScalarSchema["kind"], goType: string): ScalarSchema {
  return Object.freeze({ kind, goType });
}

export const string: ScalarSchema = scalar("string", "string");
/** Text that may be given as empty, which is not the same as absent. */
export const optionalString: ScalarSchema = Object.freeze({ ...string, keepsEmpty: true });
export const boolean: ScalarSchema = scalar("boolean", "bool");
/** A boolean that is false unless given as true. */
export const flag: ScalarSchema = Object.freeze({ ...boolean, omitsZero: true });
export const int32: ScalarSchema = scalar("int32", "int32");
/** A number that is 0 unless given as another one. */
export const count: ScalarSchema = Object.freeze({ ...int32, omitsZero: true });
export const int64: ScalarSchema = scalar("int64", "int64");
export const uint64: ScalarSchema = scalar("uint64", "uint64");
export const anyString: ScalarSchema = scalar("anyString", "string");
export const intOrString: ScalarSchema = scalar("intOrString", "int32");
export const quantity: ScalarSchema = scalar("quantity", "resource.Quantity");
export const time: ScalarSchema = scalar("time", "string");
export const bytes: ScalarSchema = scalar("bytes", "[]uint8");
export const json: ScalarSchema = scalar("json", "interface {}");
export const plugin: ScalarSchema = scalar("plugin", "map[string]interface {}");

/** Text with a Go type of its own; `values` is its closed set, if it has one. */
export function namedString(goType: string, values?: readonly string[]): ScalarSchema {
  return { kind: "string", goType, ...defined({ values }) };
}

/** The same for text that may be given as empty. */
export function optionalNamedString(goType: string): ScalarSchema {
  return { kind: "string", goType, keepsEmpty: true };
}

/** An object that is passed on as it is. */
export function object(goType: string): ScalarSchema {
  return scalar("object", goType);
}

/** An object that programs write, and this service reads. */
export function written(inside: () => StructSchema): ScalarSchema {
  return { kind: "object", goType: inside().goType, inside };
}

/** A list; with `goType` if the reference has a named type for it. */
export function list(items: Schema, goType = `[]${items.goType}`): ListSchema {
  return { kind: "list", goType, items };
}

/** A list whose items are identified by a member, so that two lists can be merged item by item. */
export function keyedList(
  mergeKey: string,
  items: Schema,
  goType = `[]${items.goType}`,
): ListSchema {
  return { kind: "list", goType, items, mergeKey };
}

/** A map with text keys; with `goType` if the reference has a named type for it. */
export function map(values: Schema, goType = `map[string]${values.goType}`): MapSchema {
  return { kind: "map", goType, values };
}

/** Marks a member that normal form always shows. */
export function always(schema: Schema): FieldInput {
  return { always: schema };
}

/** Marks a member that normal form shows as null when it is missing. */
export function orNull(schema: Schema): FieldInput {
  return { orNull: schema };
}

/** Marks a member that is likely to be the same in many objects. */
export function shared(schema: Schema): FieldInput {
  return { shared: schema };
}

/** Marks a member that decoding drops. */
export function dropped(schema: Schema): FieldInput {
  return { dropped: schema };
}

function fieldOf(input: FieldInput): Field {
  const plain = { always: false, orNull: false, shared: false, dropped: false };
  if ("always" in input) return { ...plain, schema: input.always, always: true };
  if ("orNull" in input) return { ...plain, schema: input.orNull, always: true, orNull: true };
  if ("shared" in input) return { ...plain, schema: input.shared, shared: true };
  if ("dropped" in input) return { ...plain, schema: input.dropped, dropped: true };
  return { ...plain, schema: input };
}

/**
 * An object with known members. `fields` is a function, so that schemas may refer to each other in circles; it runs
 * once, at first use.
 *
 * @param goPackage the package in which the reference keeps the type
 */
export function struct(
  name: string,
  fields: () => Record<string, FieldInput>,
  goPackage = "v1alpha1",
): StructSchema {
  let known: Map<string, Field> | undefined;
  let listed: Member[] | undefined;
  let exact: Map<string, Member> | undefined;
  let folded: Map<string, Member> | undefined;
  const load = (): Map<string, Field> => {
    known ??= new Map(
      Object.entries(fields()).map(([key, input]) => [key, fieldOf(input)]),
    );
    return known;
  };
  let always: Member[] | undefined;
  const members = (): Member[] =>
    listed ??= [...load()].map(([key, field], place) => ({ name: key, field, place }));
  return {
    kind: "struct",
    name,
    goType: `${goPackage}.${name}`,
    fields: load,
    alwaysShown: () => always ??= members().filter(({ field }) => field.always),
    findField(key) {
      exact ??= new Map(members().map((member) => [member.name, member]));
      const found = exact.get(key);
      if (found !== undefined) return found;
      folded ??= new Map(members().map((member) => [member.name.toLowerCase(), member]));
      return folded.get(key.toLowerCase());
    },
  };
}

/** The same struct, but it refuses unknown members. */
export function closed(schema: StructSchema): StructSchema {
  return { ...schema, isClosed: true };
}

/** A parallel group of such steps. */
export function stepGroup(step: StructSchema): StepGroupSchema {
  return { kind: "stepGroup", goType: "v1alpha1.ParallelSteps", step };
}
