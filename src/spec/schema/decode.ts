/**
 * Decodes JSON into a typed value, by a schema. Verdicts and error texts are those of Go's decoder, which the reference
 * uses: names match in any case, unknown members are dropped (inside a step they are an error), `null` counts as
 * absent, and the first value of a wrong type is reported with its path.
 */
import { isJsonObject, type Json, type JsonObject, setMember } from "../../base/json.ts";
import { nearestName } from "../../base/nearest_name.ts";
import { SharedValues } from "../../base/shared_json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { Fault } from "../../expr/values/error.ts";
import { canonicalQuantity, quantityProblem } from "../quantity.ts";
import { readBytes, readTime } from "./encoded_text.ts";
import type { ListSchema, MapSchema, ScalarSchema, Schema, StructSchema } from "./schema.ts";

/** Place inside a document: member names and list positions. */
export type Path = readonly (string | number)[];

/** A value does not fit its place. `path` says where, for finding the line. */
export class DecodeError extends Problem {
  readonly path: Path;

  constructor(message: string, path: Path) {
    super(ProblemCode.InvalidArgument, message);
    this.name = "DecodeError";
    this.path = path;
  }
}

/** A member that the schema does not know. */
export interface UnknownField {
  /** `spec.templates[0].contaner` */
  path: string;
  /** It is inside a step, where the reference's lint does not look. */
  insideStep: boolean;
}

export interface DecodeOptions {
  /** Names of the members of the request body that lead to the value; they precede the path in error texts. */
  under?: readonly string[];
  /** Called for each unknown member. If it is given, names must match exactly, as strict decoding requires. */
  onUnknown?: (field: UnknownField) => void;
}

/** Smallest and largest number of each kind. */
export const INT_LIMITS = {
  int32: [-(2 ** 31), 2 ** 31 - 1],
  int64: [-(2 ** 63), 2 ** 63],
  uint64: [0, 2 ** 64],
} as const;

/** Longest text of a quantity: the cost of its digits grows with the square of their number. */
const MAX_QUANTITY = 256;

/**
 * Decodes `value` by `schema`. The result has its members in the order of the schema, includes what normal form always
 * shows, and shares nothing with `value`. Members that the schema marks as shared may be frozen.
 *
 * @throws {DecodeError} at the first value that does not fit
 */
export function decode(value: unknown, schema: Schema, options = NO_OPTIONS): Json {
  return new Decoder(options).decode(value, schema) ?? emptyOf(schema);
}

/** The normal form of a missing member. */
function emptyOf(schema: Schema): Json {
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
function inOrder(given: JsonObject, schema: StructSchema): JsonObject {
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
function isComplete(given: JsonObject, schema: StructSchema): boolean {
  for (const { name } of schema.alwaysShown()) if (!Object.hasOwn(given, name)) return false;
  return true;
}

const NO_OPTIONS: DecodeOptions = {};

// Values decoded earlier, by their JSON text.
const sharedValues = new WeakMap<Schema, SharedValues<Json | undefined>>();

class Decoder {
  readonly #onUnknown: ((field: UnknownField) => void) | undefined;
  readonly #under: readonly string[];
  /** Two entries for each step from the outside in: the member as it is written or the position, and the member's name. */
  readonly #steps: (string | number | undefined)[] = [];
  #struct: string | undefined;
  /** Number of step groups around the place. Inside one, errors name the struct of the outermost. */
  #stepDepth = 0;

  constructor(options: DecodeOptions) {
    this.#onUnknown = options.onUnknown;
    this.#under = options.under ?? [];
  }

  /** @returns undefined if the value is null */
  decode(value: unknown, schema: Schema): Json | undefined {
    if (value === null || value === undefined) return undefined;
    switch (schema.kind) {
      case "struct":
        return this.#decodeStruct(value, schema);
      case "list":
        return this.#decodeList(value, schema);
      case "map":
        return this.#decodeMap(value, schema);
      case "stepGroup":
        return this.#decodeStepGroup(value, schema.step);
      default:
        return this.#decodeScalar(value, schema);
    }
  }

  #decodeStruct(value: unknown, schema: StructSchema): JsonObject {
    if (!isJsonObject(value)) throw this.#mismatch(value, schema.goType);
    const outer = this.#struct;
    if (this.#stepDepth === 0) this.#struct = schema.name;
    const given: JsonObject = {};
    let last = -1;
    let isInOrder = true;
    for (const key in value) {
      const member = value[key];
      const found = schema.findField(key);
      if (found === undefined && schema.isClosed === true) {
        throw this.#refusal(unknownMember(key, schema));
      }
      if (found === undefined || (this.#onUnknown !== undefined && found.name !== key)) {
        this.#reportUnknown(key);
        if (found === undefined) continue;
      }
      this.#enter(key, found.name);
      const decoded = found.field.shared
        ? this.#decodeShared(member, found.field.schema)
        : this.decode(member, found.field.schema);
      this.#leave();
      if (decoded === undefined) continue;
      // Of two values for one member, the last counts.
      given[found.name] = decoded;
      isInOrder &&= found.place >= last;
      last = found.place;
    }
    this.#struct = outer;
    return isInOrder && isComplete(given, schema) ? given : inOrder(given, schema);
  }

  #enter(key: string | number, name?: string): void {
    this.#steps.push(key, name);
  }

  #leave(): void {
    this.#steps.length -= 2;
  }

  get #path(): (string | number)[] {
    return this.#steps.filter((_, at) => at % 2 === 0) as (string | number)[];
  }

  /** Names only, as Go prints them. */
  get #goPath(): string[] {
    const names = this.#steps.filter((name, at) => at % 2 === 1 && name !== undefined);
    return [...this.#under, ...names as string[]];
  }

  /** Intentionally not with `onUnknown`: it must be called every time. */
  #decodeShared(value: unknown, schema: Schema): Json | undefined {
    if (value === null || value === undefined || this.#onUnknown !== undefined) {
      return this.decode(value, schema);
    }
    let known = sharedValues.get(schema);
    if (known === undefined) sharedValues.set(schema, known = new SharedValues());
    return known.of(JSON.stringify(value), () => this.decode(value, schema));
  }

  #decodeList(value: unknown, schema: ListSchema): Json[] {
    if (!Array.isArray(value)) throw this.#mismatch(value, schema.goType);
    return value.map((item, index) => {
      this.#enter(index);
      const decoded = this.decode(item, schema.items);
      this.#leave();
      if (decoded !== undefined) return decoded;
      return schema.items.kind === "json" ? null : emptyOf(schema.items);
    });
  }

  #decodeMap(value: unknown, schema: MapSchema): JsonObject {
    if (!isJsonObject(value)) throw this.#mismatch(value, schema.goType);
    const out: JsonObject = {};
    for (const key in value) {
      this.#enter(key);
      setMember(out, key, this.decode(value[key], schema.values) ?? emptyOf(schema.values));
      this.#leave();
    }
    return out;
  }

  #decodeStepGroup(value: unknown, step: StructSchema): Json[] {
    if (!Array.isArray(value)) throw this.#mismatch(value, "[]map[string]interface {}");
    value.forEach((item, index) => {
      if (item === null) return;
      if (!isJsonObject(item)) {
        throw this.#mismatch(item, "map[string]interface {}", [index]);
      }
      for (const key of Object.keys(item)) {
        if (!step.fields().has(key)) {
          throw new DecodeError(`json: unknown field "${key}"`, [...this.#path, index, key]);
        }
      }
    });
    this.#stepDepth++;
    const steps = value.map((item, index) => {
      this.#enter(index);
      const decoded = this.decode(item, step) ?? emptyOf(step);
      this.#leave();
      return decoded;
    });
    this.#stepDepth--;
    return steps;
  }

  #decodeScalar(value: unknown, schema: ScalarSchema): Json {
    switch (schema.kind) {
      case "string":
        if (typeof value !== "string") throw this.#mismatch(value, schema.goType);
        return value;
      case "boolean":
        if (typeof value !== "boolean") throw this.#mismatch(value, schema.goType);
        return value;
      case "int32":
      case "int64":
      case "uint64":
        return this.#decodeInt(value, schema.kind, schema.goType);
      case "anyString":
        if (typeof value === "string") return value;
        if (typeof value === "boolean") return String(value);
        // JSON text may hold a number that is too large, YAML also `.inf` and `.nan`.
        if (Number.isFinite(value)) return decimalText(value as number);
        throw this.#mismatch(value, schema.goType);
      case "intOrString":
        return typeof value === "string" ? value : this.#decodeInt(value, "int32", schema.goType);
      case "quantity":
        return this.#decodeQuantity(typeof value === "number" ? decimalText(value) : value);
      case "time":
        if (typeof value !== "string") throw this.#mismatch(value, schema.goType);
        return this.#readText(value, readTime);
      case "bytes":
        if (typeof value !== "string") throw this.#mismatch(value, schema.goType);
        return this.#readText(value, readBytes);
      case "plugin": {
        if (!isJsonObject(value)) throw this.#mismatch(value, schema.goType);
        const count = Object.keys(value).length;
        if (count !== 1) throw this.#refusal(`expected exactly one key, got ${count}`);
        return copyJson(value);
      }
      case "object":
        if (!isJsonObject(value)) throw this.#mismatch(value, schema.goType);
        return copyJson(value);
      case "json":
        return copyJson(value);
    }
  }

  #readText(text: string, read: (text: string) => string): string {
    try {
      return read(text);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      throw this.#refusal(error.message);
    }
  }

  #decodeQuantity(value: unknown): string {
    if (typeof value === "string" && value.length > MAX_QUANTITY) {
      throw this.#refusal(`a quantity has at most ${MAX_QUANTITY} characters`);
    }
    const text = typeof value === "string" ? value.trim() : "";
    const problem = quantityProblem(text);
    if (problem !== undefined) throw this.#refusal(problem);
    return canonicalQuantity(text);
  }

  #decodeInt(value: unknown, kind: keyof typeof INT_LIMITS, goType: string): number {
    if (typeof value !== "number") throw this.#mismatch(value, goType);
    const [least, most] = INT_LIMITS[kind];
    if (!Number.isInteger(value) || value < least || value > most) {
      throw this.#mismatch(value, goType, [], `number ${decimalText(value)}`);
    }
    return value;
  }

  #reportUnknown(key: string): void {
    this.#onUnknown?.({
      path: pathText([...this.#path, key]),
      insideStep: this.#stepDepth > 0,
    });
  }

  #refusal(message: string): DecodeError {
    return new DecodeError(message, this.#path);
  }

  #mismatch(
    value: unknown,
    goType: string,
    below: Path = [],
    found = typeName(value),
  ): DecodeError {
    const names = this.#goPath;
    const place = this.#struct === undefined && names.length === 0
      ? "Go value"
      : `Go struct field ${[this.#struct ?? "", ...names].join(".")}`;
    return new DecodeError(
      `json: cannot unmarshal ${found} into ${place} of type ${goType}`,
      [...this.#path, ...below],
    );
  }
}

/** Longest part of a name that an error shows. */
const SHOWN_NAME = 64;

function unknownMember(key: string, schema: StructSchema): string {
  const known = [...schema.fields().keys()];
  const meant = nearestName(key, known);
  const shown = key.length > SHOWN_NAME ? `${key.slice(0, SHOWN_NAME)}…` : key;
  return `unknown field ${JSON.stringify(shown)}: ` +
    (meant === undefined ? "" : `did you mean ${JSON.stringify(meant)}? `) +
    `the fields here are ${known.join(", ")}`;
}

/** The path as people write it: `spec.templates[0].name`. */
export function pathText(path: Path): string {
  return path.map((part, index) =>
    typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`
  ).join("");
}

function typeName(value: unknown): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  return typeof value;
}

/** A number as plain decimal digits, never with an exponent. */
function decimalText(value: number): string {
  const [, sign = "", whole = "", fraction = "", exponent] =
    /^(-?)(\d+)(?:\.(\d+))?e([-+]\d+)$/.exec(String(value)) ?? [];
  if (exponent === undefined) return String(value);
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  return sign + (point <= 0 ? `0.${"0".repeat(-point)}${digits}` : digits.padEnd(point, "0"));
}

function copyJson(value: unknown): Json {
  if (Array.isArray(value)) return value.map(copyJson);
  if (isJsonObject(value)) {
    const copy: JsonObject = {};
    for (const key in value) setMember(copy, key, copyJson(value[key]));
    return copy;
  }
  return value as Json;
}
