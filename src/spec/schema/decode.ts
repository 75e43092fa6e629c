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
import { withWrittenNumbers } from "../exact_items.ts";
import { WrittenNumber } from "../written_number.ts";
import { readBytes, readTime } from "./encoded_text.ts";
import { emptyOf, inOrder, isComplete } from "./missing.ts";
import { quotedHint } from "./quoted_hint.ts";
import { unknownMember } from "./unknown_member.ts";
import { decimalText, typeName, unfitInt, WHOLE } from "./whole_numbers.ts";
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
  /** The known field that was probably meant. */
  meant: () => string | undefined;
  /** It is inside a step, where the reference's lint does not look. */
  insideStep: boolean;
}

export interface DecodeOptions {
  /** Names of the members of the request body that lead to the value; they precede the path in error texts. */
  under?: readonly string[];
  /** Called for each unknown member. If it is given, names must match exactly, as strict decoding requires. */
  onUnknown?: (field: UnknownField) => void;
}

/** Longest text of a quantity: the cost of its digits grows with the square of their number. */
const MAX_QUANTITY = 256;

/**
 * Decodes `value` by `schema`. The result has its members in the order of the schema, includes what normal form always
 * shows, and shares nothing with `value`. Members that the schema marks as shared may be frozen.
 *
 * @throws {DecodeError} for the value that does not fit, or for the one of many that Go tells
 */
export function decode(value: unknown, schema: Schema, options = NO_OPTIONS): Json {
  return new Decoder(options).decodeWhole(value, schema) ?? emptyOf(schema);
}

/**
 * The same for the value of a JSON text, in which whole numbers must be written as such where only they may stand.
 * @throws {DecodeError}
 */
export function decodeText(
  value: Json,
  text: string,
  schema: Schema,
  options = NO_OPTIONS,
): Json {
  const decoder = new Decoder(options);
  const decoded = decoder.decodeWhole(value, schema) ?? emptyOf(schema);
  // Most bodies have no such place, and their text need not be searched.
  const written = decoder.hasWhole ? withWrittenNumbers(value, text) : value;
  return written === value ? decoded : decode(written, schema, options);
}

const NO_OPTIONS: DecodeOptions = {};

// Values decoded earlier, by their JSON text.
const sharedValues = new WeakMap<Schema, SharedValues<Json | undefined>>();
/** Those of them with a member that takes whole numbers only. */
const withWhole = new WeakSet<object>();

class Decoder {
  readonly #onUnknown: ((field: UnknownField) => void) | undefined;
  readonly #under: readonly string[];
  /** The first value whose type does not fit. Go tells it only if no type with a decoder of its own refuses another. */
  #misfit: DecodeError | undefined;
  /** Two entries for each step from the outside in: the member as it is written or the position, and the member's name. */
  readonly #steps: (string | number | undefined)[] = [];
  #struct: string | undefined;
  /** Number of step groups around the place. Inside one, errors name the struct of the outermost. */
  #stepDepth = 0;

  /** There is a member that takes whole numbers only. */
  hasWhole = false;

  constructor(options: DecodeOptions) {
    this.#onUnknown = options.onUnknown;
    this.#under = options.under ?? [];
  }

  decodeWhole(value: unknown, schema: Schema): Json | undefined {
    const decoded = this.decode(value, schema);
    if (this.#misfit !== undefined) throw this.#misfit;
    return decoded;
  }

  /** Decodes a part whose first misfit ends the decoding of the part, whatever was found before it. */
  #decodeApart<T>(decode: () => T): T {
    const before = this.#misfit;
    this.#misfit = undefined;
    const decoded = decode();
    const misfit = this.#misfit;
    this.#misfit = before;
    if (misfit !== undefined) throw misfit;
    return decoded;
  }

  /** @returns undefined if the value is null, or does not fit */
  decode(value: unknown, schema: Schema): Json | undefined {
    if (value === null || value === undefined) return undefined;
    if (value instanceof WrittenNumber && !WHOLE.has(schema.kind)) {
      return this.decode(value.number, schema);
    }
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

  #decodeStruct(value: unknown, schema: StructSchema): JsonObject | undefined {
    if (!isJsonObject(value)) return this.#misfits(value, schema.goType);
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
        this.#reportUnknown(key, schema);
        // Inside a step a name in another case is the member all the same.
        if (found === undefined || this.#stepDepth === 0) continue;
      }
      if (found.field.dropped) continue;
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
    const before = this.#misfit;
    const hadWhole = this.hasWhole;
    this.#misfit = undefined;
    this.hasWhole = false;
    try {
      const shared = known.of(JSON.stringify(value), () => this.decodeWhole(value, schema));
      if (typeof shared !== "object" || shared === null) return shared;
      if (this.hasWhole) withWhole.add(shared);
      else this.hasWhole = withWhole.has(shared);
      return shared;
    } catch (error) {
      if (error !== this.#misfit) throw error;
      return undefined;
    } finally {
      this.#misfit = before ?? this.#misfit;
      this.hasWhole ||= hadWhole;
    }
  }

  #decodeList(value: unknown, schema: ListSchema): Json[] | undefined {
    if (!Array.isArray(value)) return this.#misfits(value, schema.goType);
    return value.map((item, index) => {
      this.#enter(index);
      const decoded = this.decode(item, schema.items);
      this.#leave();
      if (decoded !== undefined) return decoded;
      return schema.items.kind === "json" ? null : emptyOf(schema.items);
    });
  }

  #decodeMap(value: unknown, schema: MapSchema): JsonObject | undefined {
    if (!isJsonObject(value)) return this.#misfits(value, schema.goType);
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
    const steps = this.#decodeApart(() =>
      value.map((item, index) => {
        this.#enter(index);
        const decoded = this.decode(item, step) ?? emptyOf(step);
        this.#leave();
        return decoded;
      })
    );
    this.#stepDepth--;
    return steps;
  }

  #decodeScalar(value: unknown, schema: ScalarSchema): Json | undefined {
    switch (schema.kind) {
      case "string":
        return typeof value === "string" ? value : this.#misfits(value, schema.goType);
      case "boolean":
        return typeof value === "boolean" ? value : this.#misfits(value, schema.goType);
      case "int32":
      case "int64":
      case "uint64": {
        this.hasWhole = true;
        const found = unfitInt(value, schema.kind);
        return found === undefined ? value as number : this.#misfits(value, schema.goType, found);
      }
      case "anyString":
        if (typeof value === "string") return value;
        if (typeof value === "boolean") return String(value);
        // JSON text may hold a number that is too large, YAML also `.inf` and `.nan`.
        if (Number.isFinite(value)) return decimalText(value as number);
        // The reference takes a list or an object for the empty text.
        throw this.#mismatch(value, schema.goType + quotedHint(value));
      case "intOrString": {
        this.hasWhole = true;
        const found = typeof value === "string" ? undefined : unfitInt(value, "int32");
        if (found === undefined) return value as string | number;
        throw this.#mismatch(value, schema.goType, [], found);
      }
      case "quantity":
        return this.#decodeQuantity(typeof value === "number" ? decimalText(value) : value);
      case "time":
        if (typeof value !== "string") throw this.#mismatch(value, schema.goType);
        return this.#readText(value, readTime);
      case "bytes":
        if (typeof value !== "string") return this.#misfits(value, schema.goType);
        try {
          return this.#readText(value, readBytes);
        } catch (error) {
          if (!(error instanceof DecodeError)) throw error;
          this.#misfit ??= error;
          return undefined;
        }
      case "plugin": {
        if (!isJsonObject(value)) throw this.#mismatch(value, schema.goType);
        const count = Object.keys(value).length;
        if (count !== 1) throw this.#refusal(`expected exactly one key, got ${count}`);
        return copyJson(value);
      }
      case "object":
        if (schema.inside !== undefined) return this.#decodeStruct(value, schema.inside());
        return isJsonObject(value) ? copyJson(value) : this.#misfits(value, schema.goType);
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

  #misfits(value: unknown, goType: string, found?: string): undefined {
    this.#misfit ??= this.#mismatch(value, goType, [], found);
    return undefined;
  }

  #reportUnknown(key: string, schema: StructSchema): void {
    this.#onUnknown?.({
      path: pathText([...this.#path, key]),
      meant: () => nearestName(key, schema.fields().keys()),
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

/** The path as people write it: `spec.templates[0].name`. */
export function pathText(path: Path): string {
  return path.map((part, index) =>
    typeof part === "number" ? `[${part}]` : index === 0 ? part : `.${part}`
  ).join("");
}

function copyJson(value: unknown): Json {
  if (value instanceof WrittenNumber) return value.number;
  if (Array.isArray(value)) return value.map(copyJson);
  if (isJsonObject(value)) {
    const copy: JsonObject = {};
    for (const key in value) setMember(copy, key, copyJson(value[key]));
    return copy;
  }
  return value as Json;
}
