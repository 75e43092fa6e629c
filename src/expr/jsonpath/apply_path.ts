/** What a parsed JSONPath selects. */
import { fault } from "../values/error.ts";
import { goKind, isEmptyValue } from "../values/go_reflect.ts";
import type { RunContext } from "../values/run_context.ts";
import { payForBytes } from "../values/utf8.ts";
import { int64, isValueMap, ownValue, type Value } from "../values/values.ts";
import { evaluateJsonPathScript, orNull } from "./apply_script.ts";
import type { Bound, JsonPath, JsonPathScript, JsonPathStep } from "./tree.ts";

/** Applies a parsed path. @throws {Fault} */
export function applyPath(path: JsonPath, root: Value, current: Value, context: RunContext): Value {
  return new PathWalk(path.steps, root, context).from(0, path.isAbsolute ? root : current);
}

class PathWalk {
  readonly #steps: readonly JsonPathStep[];
  readonly #root: Value;
  readonly #context: RunContext;

  constructor(steps: readonly JsonPathStep[], root: Value, context: RunContext) {
    this.#steps = steps;
    this.#root = root;
    this.#context = context;
  }

  /** What the steps, from an index on, select in a value. */
  from(at: number, current: Value): Value {
    this.#context.step(3);
    const step = this.#steps[at];
    if (step === undefined) return current;
    switch (step.type) {
      case "key":
        return this.from(at + 1, memberOf(current, step.key));
      case "length":
        return this.from(at + 1, lengthOf(current, this.#context));
      case "index":
        return this.from(at + 1, elementOf(current, step.index));
      case "script":
        return this.from(at + 1, selectedBy(this.#evaluate(step.script, current), current));
      case "wildcard":
        return this.#each(at, childrenOf(current, "wildcard", this.#context));
      case "recursive":
        return this.#recursive(at, current);
      case "union":
        return this.#several(at, this.#union(step.items, current));
      case "range":
        return this.#several(at, this.#range(step, current));
      case "filter":
        return this.#several(at, this.#filter(step.script, current));
    }
  }

  #evaluate(script: JsonPathScript, current: Value): Value {
    return evaluateJsonPathScript(script, this.#root, current, this.#context);
  }

  #restOrNull(at: number, value: Value): Value {
    return orNull(() => this.from(at + 1, value), this.#context);
  }

  /** Applies the steps after an index to each value; leaves out what fails or is nil. */
  #each(at: number, values: readonly Value[]): Value {
    this.#context.spend(values.length);
    this.#context.step(values.length);
    if (at + 1 === this.#steps.length) return [...values];
    return values.filter((value) => this.#mayGoOn(at, value))
      .map((value) => this.#restOrNull(at, value))
      .filter((value) => value !== null);
  }

  /** Whether the next step can find anything; this test is cheaper than a failure. */
  #mayGoOn(at: number, value: Value): boolean {
    const step = this.#steps[at + 1];
    if (step?.type === "key") return isValueMap(value) && Object.hasOwn(value, step.key);
    if (step?.type === "index" || step?.type === "range") return Array.isArray(value);
    if (step?.type !== "wildcard" && step?.type !== "filter") return true;
    return Array.isArray(value) || isValueMap(value);
  }

  /** Like {@link #each}, but if an index follows, it picks one of the values. */
  #several(at: number, values: Value[]): Value {
    return this.#steps[at + 1]?.type === "index"
      ? this.from(at + 1, values)
      : this.#each(at, values);
  }

  #filter(script: JsonPathScript, current: Value): Value[] {
    return childrenOf(current, "filter", this.#context).filter((child) => {
      const result = orNull(() => this.#evaluate(script, child), this.#context);
      return !isEmptyValue(result, this.#context);
    });
  }

  #recursive(at: number, current: Value): Value {
    const found = withDescendants(current, this.#context);
    if (at + 1 === this.#steps.length) return found;
    return found.flatMap((value) => {
      if (!this.#mayGoOn(at, value)) return [];
      const result = this.#restOrNull(at, value);
      if (Array.isArray(result)) this.#context.spend(result.length);
      return result === null ? [] : Array.isArray(result) ? result : [result];
    });
  }

  #union(items: readonly (number | string | JsonPathScript)[], current: Value): Value[] {
    const positions = items.map((item) =>
      typeof item === "object" ? this.#evaluate(item, current) : item
    );
    return positions
      .filter((position) => !isMissing(position, current))
      .map((position) => selectedBy(position, current, "union"));
  }

  #range(bounds: { from: Bound; to: Bound; step: Bound }, current: Value): Value[] {
    if (!Array.isArray(current)) {
      return fault(
        `range: invalid token target. expected [array slice] got [${kindText(current)}]`,
      );
    }
    const step = this.#bound(bounds.step, current) ?? 1;
    if (step === 0) fault("range: invalid token out of range");
    const position = (bound: number | undefined, otherwise: number): number => {
      const index = bound ?? otherwise;
      return Math.max(0, Math.min(index < 0 ? index + current.length : index, current.length));
    };
    const from = position(this.#bound(bounds.from, current), 0);
    const to = position(this.#bound(bounds.to, current), current.length);
    this.#context.spend(Math.max(0, to - from));
    const found: Value[] = [];
    // A negative step takes the same elements in reverse.
    if (step > 0) { for (let i = from; i < to; i += step) found.push(current[i] as Value); }
    else for (let i = to - 1; i >= from; i += step) found.push(current[i] as Value);
    return found;
  }

  #bound(bound: Bound, current: Value): number | undefined {
    const value = typeof bound === "object" ? this.#evaluate(bound, current) : bound;
    if (value === undefined || (typeof value === "number" && Number.isInteger(value))) return value;
    return typeof value === "bigint" ? Number(value) : fault("range: invalid token argument");
  }
}

/** A value and everything inside it, in document order, without nils. */
function withDescendants(root: Value, context: RunContext): Value[] {
  const found: Value[] = [];
  const pending: Value[] = [root];
  while (pending.length > 0) {
    const value = pending.pop() as Value;
    if (value === null) continue;
    context.spend(1);
    context.step(2);
    found.push(value);
    const children = Array.isArray(value) || isValueMap(value)
      ? childrenOf(value, "recursive", context)
      : [];
    pending.push(...children.toReversed());
  }
  return found;
}

/** Tells whether a map has no such key, or a list no such index. */
function isMissing(position: Value, current: Value): boolean {
  if (typeof position === "string") {
    return isValueMap(current) && !Object.hasOwn(current, position);
  }
  const index = typeof position === "bigint" ? Number(position) : position;
  return typeof index === "number" && Array.isArray(current) &&
    (index < -current.length || index >= current.length);
}

/** What a key or index selects. */
function selectedBy(position: Value, current: Value, type = "expression"): Value {
  if (typeof position === "string") {
    return memberOf(current, position, type === "union" ? type : "key");
  }
  const index = typeof position === "bigint" ? Number(position) : position;
  if (typeof index !== "number" || !Number.isInteger(index)) {
    return fault(
      `${type}: unexpected expression result. expected [int string] got [${kindText(position)}]`,
    );
  }
  return elementOf(current, index, type === "union" ? type : "index");
}

function memberOf(value: Value, key: string, type = "key"): Value {
  if (!isValueMap(value)) {
    return fault(`${type}: invalid token target. expected [map] got [${kindText(value)}]`);
  }
  return ownValue(value, key) ??
    (Object.hasOwn(value, key) ? null : fault(`${type}: invalid token key '${key}' not found`));
}

function elementOf(value: Value, index: number, type = "index"): Value {
  if (!Array.isArray(value)) {
    return fault(`${type}: invalid token target. expected [array slice] got [${kindText(value)}]`);
  }
  return value[index < 0 ? index + value.length : index] ??
    (index >= -value.length && index < value.length
      ? null
      : fault(`${type}: invalid token out of range`));
}

function lengthOf(value: Value, context: RunContext): Value {
  if (Array.isArray(value)) return int64(BigInt(value.length));
  if (typeof value === "string") {
    payForBytes(value, context);
    return int64(BigInt(new TextEncoder().encode(value).length));
  }
  if (isValueMap(value)) {
    return ownValue(value, "length") ??
      int64(BigInt(Object.keys(value).length));
  }
  return fault(
    `length: invalid token target. expected [array map slice string] got [${kindText(value)}]`,
  );
}

function childrenOf(value: Value, type: string, context: RunContext): readonly Value[] {
  if (Array.isArray(value)) {
    context.step(value.length / 4);
    return value;
  }
  if (isValueMap(value)) {
    const keys = Object.keys(value);
    context.step(keys.length * 5);
    return keys.sort().map((key) => value[key] as Value);
  }
  return fault(
    `${type}: invalid token target. expected [array map slice] got [${kindText(value)}]`,
  );
}

function kindText(value: Value): string {
  return value === null ? "nil" : goKind(value);
}
