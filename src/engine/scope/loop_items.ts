/** The elements of a loop: from a list, from a JSON text, or from a sequence of numbers. */
import { errorText } from "../../base/error_text.ts";
import type { Json } from "../../base/json.ts";
import type { Sequence, StepLike } from "../../spec/manifest.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import { checkLoop, LimitExceeded } from "../limits.ts";
import type { Turn } from "../turn.ts";
import { replaceTags, type Scope, scopeOf } from "./expressions.ts";
import { formatInteger, widestOf } from "./print_integer.ts";
import {
  isPlainMap,
  parseExactJson,
  parseJson,
  partText,
  sortedJson,
  withSortedMembers,
} from "./raw_json.ts";
import { STEPS_MUST_EXIST } from "./resolve_arguments.ts";

/** Most elements of one loop. */
const MAX_LOOP_ELEMENTS = 1_000_000;
/** Widest number of a sequence, and most characters of all its elements. */
const MAX_FORMAT_WIDTH = 1_000;
const MAX_SEQUENCE_CHARACTERS = 16_000_000;

/**
 * The elements of a loop whose `when` is false before any of them is known. References to other steps are not followed for
 * it: what they stand for may never have been made. None when the elements cannot be worked out.
 */
export function itemsOfSkipped(turn: Turn, step: StepLike, scope: Scope): Json[] {
  try {
    return loopItems(turn, step, withoutSteps(scope));
  } catch (error) {
    if (isFailure(error)) return [];
    throw error;
  }
}

function withoutSteps(scope: Scope): Scope {
  return {
    find: (name) => /^(?:steps|tasks)\./.test(name) ? undefined : scope.find(name),
    *names(root) {
      if (root !== "steps" && root !== "tasks") yield* scope.names(root);
    },
  };
}

/** The elements of a loop, in order. @throws {NodeFailure | TemplateError} when they cannot be worked out */
export function loopItems(turn: Turn, step: StepLike, scope: Scope): Json[] {
  const { items, param, sequence } = filledSource(turn, step, scope);
  return asNodeFailure(() => {
    // A manifest has no order of members; a JSON text of `withParam` keeps its own.
    if (items !== undefined) return items.map(withSortedMembers);
    if ((step.withParam ?? "") !== "") return withParamItems(turn, (param ?? "").trim());
    return sequenceItems(turn, sequence ?? {});
  });
}

/** What a loop is over, with its tags replaced. Once, because what looks like a tag in a result is text like any other. */
function filledSource(turn: Turn, step: StepLike, scope: Scope) {
  const source = { items: step.withItems, param: step.withParam, sequence: step.withSequence };
  try {
    return replaceTags(source, scope, "error", turn.env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    // A fault of a reference to a step is told as such.
    replaceTags(source, scope, STEPS_MUST_EXIST, turn.env);
    throw new NodeFailure(error.message);
  }
}

function withParamItems(turn: Turn, text: string): Json[] {
  const refuse = (reason: string) =>
    new NodeFailure(`withParam value could not be parsed as a JSON list: ${text}: ${reason}`);
  let value: unknown;
  try {
    // Counts a list that may be too long before every element is read exactly.
    if (text.length / 2 > (turn.env.limits?.nodes ?? Infinity)) {
      const plain = parseJson(text);
      if (Array.isArray(plain)) checkLoop(turn, plain.length);
    }
    value = parseExactJson(text);
  } catch (error) {
    if (error instanceof LimitExceeded) throw error;
    throw refuse(errorText(error));
  }
  if (value === null) return [];
  if (!Array.isArray(value)) {
    throw refuse(`json: cannot unmarshal ${jsonKind(value)} into Go value of type []v1alpha1.Item`);
  }
  checkLoop(turn, value.length);
  if (value.length > MAX_LOOP_ELEMENTS) throw tooMany(value.length);
  return value;
}

function jsonKind(value: unknown): string {
  if (typeof value === "object") return "object";
  return typeof value === "boolean" ? "bool" : String(typeof value);
}

function sequenceItems(turn: Turn, sequence: Sequence): Json[] {
  const start = sequence.start === undefined ? 0n : integer(sequence.start);
  let end: bigint;
  if (sequence.end !== undefined) end = integer(sequence.end);
  else if (sequence.count !== undefined) {
    const count = integer(sequence.count);
    if (count === 0n) return [];
    end = start + count - 1n;
  } else throw new NodeFailure("neither end nor count was specified in withSequence");
  const length = Math.abs(Number(end - start)) + 1;
  checkLoop(turn, length);
  if (length > MAX_LOOP_ELEMENTS) throw tooMany(length);
  const direction = start <= end ? 1 : -1;
  const format = sequence.format === undefined || sequence.format === "" ? "%d" : sequence.format;
  const wide = widestOf(format);
  if (wide > MAX_FORMAT_WIDTH) {
    throw new NodeFailure(
      `withSequence.format has a width of ${wide}: a number may be filled to at most ${MAX_FORMAT_WIDTH} characters`,
    );
  }
  if (length * (format.length + wide) > MAX_SEQUENCE_CHARACTERS) {
    throw new NodeFailure(
      `withSequence makes a text of more than ${MAX_SEQUENCE_CHARACTERS} characters: shorten withSequence.format or loop over less`,
    );
  }
  const first = Number(start);
  const isExact = Number.isSafeInteger(first) && Number.isSafeInteger(Number(end));
  return Array.from({ length }, (_, index) => {
    const step = direction * index;
    return formatInteger(format, isExact ? first + step : start + BigInt(step));
  });
}

function integer(value: number | string): bigint {
  const text = String(value);
  const refuse = (reason: string) =>
    new NodeFailure(`strconv.Atoi: parsing ${JSON.stringify(text)}: ${reason}`);
  if (!/^[+-]?\d+$/.test(text)) throw refuse("invalid syntax");
  // More digits than an int64 has would take long to read.
  const digits = text.replace(/^[+-]?0*/, "");
  const number = digits.length > 19 ? undefined : BigInt(text.replace(/^\+/, ""));
  if (number === undefined || BigInt.asIntN(64, number) !== number) {
    throw refuse("value out of range");
  }
  return number;
}

function tooMany(count: number): NodeFailure {
  return new NodeFailure(`a loop of ${count} elements is too long: at most ${MAX_LOOP_ELEMENTS}`);
}

/** The variables `item` and `item.<key>` of a loop element. All of them are texts. */
export function itemScope(item: Json): Scope {
  const values: Record<string, Json> = {
    item: typeof item === "string" ? item : sortedJson(item),
  };
  if (isPlainMap(item)) {
    for (const [key, part] of Object.entries(item)) values[`item.${key}`] = partText(part);
  }
  return scopeOf(values);
}

/** Throws failures as {@link NodeFailure}: their texts are shown as they are, without a word about references. */
export function asNodeFailure<T>(run: () => T): T {
  try {
    return run();
  } catch (error) {
    if (!isFailure(error)) throw error;
    throw new NodeFailure(error.message);
  }
}
