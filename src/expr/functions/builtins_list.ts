/** Built-in functions on lists and maps that take no predicate. */

import { elementAt, getMember, lengthOf, sliceOfValue } from "../values/access.ts";
import {
  argumentText,
  type Builtin,
  type BuiltinTable,
  INTEGER_KINDS,
  LIST_KINDS,
  MAP_KINDS,
  oneOf,
} from "./builtin.ts";
import { fault } from "../values/error.ts";
import { goString, goTypeName } from "../values/go_text.ts";
import { anyMapSet, compare, equal } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import {
  ANY,
  elementOf,
  FLOAT,
  INT,
  LIST,
  type Signature,
  sliceOf,
  type StaticType,
  STRING,
} from "../values/types.ts";
import { isAscii, payForBytes, runeCount } from "../values/utf8.ts";
import {
  AnyMap,
  type ElementType,
  GoDuration,
  GoTime,
  GoZone,
  isListOfCompounds,
  isPlainInt,
  isValueMap,
  NamedInt,
  nilList,
  typedList,
  type Value,
} from "../values/values.ts";

/** Go's kind of a value, for messages. */
function kindName(value: Value): string {
  if (value === null) return "invalid";
  if (typeof value === "string") return "string";
  if (Array.isArray(value) || value instanceof Uint8Array) return "slice";
  if (value instanceof AnyMap || isValueMap(value)) return "map";
  if (value instanceof GoDuration) return "int64";
  if (value instanceof GoTime) return "struct";
  if (value instanceof GoZone) return "ptr";
  if (value instanceof NamedInt) return isPlainInt(value) ? value.kind : "int";
  return goTypeName(value);
}

/** The elements of a list. @throws {Fault} for other kinds */
function elements(value: Value, problem: (kind: string) => string): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Uint8Array) return Array.from(value, (_, i) => elementAt(value, i));
  return fault(problem(kindName(value)));
}

/** The entries of a map. @throws {Fault} for other kinds */
function entriesOf(value: Value, problem: (kind: string) => string): [Value, Value][] {
  if (value instanceof AnyMap) return [...value.entries];
  if (value !== null && isValueMap(value)) return Object.entries(value);
  return fault(problem(kindName(value)));
}

/** A function from a list to a list. */
function listFunction(
  name: string,
  problem: (type: string) => string,
  run: (list: readonly Value[], context: RunContext) => Value,
): [string, Builtin] {
  return [name, {
    check: oneOf(LIST_KINDS, () => LIST, problem),
    run: ([list = null], context) => {
      const items = elements(list, problem);
      context.step(items.length * 3);
      return run(items, context);
    },
  }];
}

function mapFunction(
  name: string,
  problem: (type: string) => string,
  pick: (entry: readonly [Value, Value]) => Value,
  type: ElementType = "interface {}",
): [string, Builtin] {
  return [name, {
    check: oneOf(MAP_KINDS, () => LIST, problem),
    run: ([map = null], context) => {
      const entries = entriesOf(map, problem);
      context.step(entries.length * 5);
      context.spend(entries.length);
      const list = entries.map(pick);
      return type === "interface {}" ? list : typedList(list, type);
    },
  }];
}

const len: Builtin = {
  check: oneOf(
    [...LIST_KINDS, ...MAP_KINDS, "string"],
    () => INT,
    (type) => `invalid argument for len (type ${type})`,
  ),
  run: ([value = null], context) => {
    if (typeof value === "string") {
      if (value.length > 64) context.step(value.length / (isAscii(value) ? 16 : 3));
      return BigInt(runeCount(value));
    }
    const length = lengthOrFault(value);
    if (!Array.isArray(value)) context.step(length * 3);
    return BigInt(length);
  },
};

function lengthOrFault(value: Value): number {
  if (Array.isArray(value) || value instanceof Uint8Array) return lengthOf(value);
  if (value instanceof AnyMap) return value.entries.size;
  if (value !== null && typeof value === "object" && isValueMap(value)) {
    return Object.keys(value).length;
  }
  return fault(`invalid argument for len (type ${goTypeName(value)})`);
}

/** Only Go's own slices have elements of a declared type: `[]string`, and bytes. */
function elementOfSlice(list: StaticType): StaticType {
  return list.kind === "bytes" || (list.kind === "array" && list.isTyped) ? elementOf(list) : ANY;
}

/** The element at one end; nil if there is none, whatever the value is. */
function endElement(name: string, index: bigint): [string, Builtin] {
  return [name, {
    check: oneOf(LIST_KINDS, elementOfSlice, (type) => `cannot get ${name} element from ${type}`),
    run: ([list = null], context) => {
      if (typeof list === "string") payForBytes(list, context);
      const isList = typeof list === "string" || Array.isArray(list) ||
        list instanceof Uint8Array || list instanceof AnyMap;
      return isList ? getMember(list, index) : null;
    },
  }];
}

/** How many elements to take: anything that Go counts as a signed integer. @throws {Fault} */
function countOf(value: Value): bigint {
  if (typeof value === "bigint") return value;
  if (value instanceof GoDuration) return value.ns;
  const isSigned = value instanceof NamedInt && !value.kind.startsWith("uint");
  return isSigned ? value.value : fault(`cannot take ${kindName(value)} elements`);
}

const take: Builtin = {
  check: (args) => {
    const [list, count] = args;
    if (list === undefined || count === undefined || args.length !== 2) {
      return { error: `invalid number of arguments (expected 2, got ${args.length})` };
    }
    const isAny = (type: StaticType) => type.kind === "any" || type.kind === "unknown";
    if (!isAny(list) && !LIST_KINDS.includes(list.kind)) {
      return { error: `cannot take from ${argumentText(list)}` };
    }
    if (!isAny(count) && (!INTEGER_KINDS.includes(count.kind) || count.kind === "uint")) {
      return { error: `cannot take ${argumentText(count)} elements` };
    }
    if (isAny(list)) return ANY;
    return list.kind === "array" && !list.isTyped ? LIST : list;
  },
  run: ([list = null, count]) => {
    const items = list instanceof Uint8Array
      ? list
      : elements(list, (kind) => `cannot take from ${kind}`);
    const many = countOf(count ?? null);
    if (many < 0n) fault("reflect.Value.Slice: slice index out of bounds");
    return sliceOfValue(items as Value[] | Uint8Array, 0n, many);
  },
};

const concat: Builtin = {
  check: (args) => {
    if (args.length === 0) {
      return { error: "invalid number of arguments (expected at least 1, got 0)" };
    }
    for (const arg of args) {
      if (arg.kind === "any" || arg.kind === "unknown" || LIST_KINDS.includes(arg.kind)) continue;
      return { error: `cannot concat ${argumentText(arg)}` };
    }
    return LIST;
  },
  run: (args, context) => {
    // The arguments of a function that is known only at run time have not been checked.
    if (args.length === 0) fault("invalid number of arguments (expected at least 1, got 0)");
    const parts = args.map((arg) => elements(arg, (kind) => `cannot concat ${kind}`));
    const total = parts.reduce((sum, part) => sum + part.length, 0);
    context.spend(total);
    return total === 0 ? nilList() : parts.flat();
  },
};

function flatten(list: readonly Value[], context: RunContext): Value[] {
  const out: Value[] = [];
  const visit = (items: readonly Value[]) => {
    for (const item of items) {
      context.step();
      if (Array.isArray(item)) visit(item);
      else if (item instanceof Uint8Array) item.forEach((_, i) => out.push(elementAt(item, i)));
      else {
        context.spend(1);
        out.push(item);
      }
    }
  };
  visit(list);
  return out;
}

/** The elements without repeats; equal numbers of different kinds are the same. */
function unique(list: readonly Value[], context: RunContext): Value[] {
  const seen = new Set<Value>();
  const compound: Value[] = [];
  return list.filter((given) => {
    const item = isPlainInt(given) ? given.value : given;
    if (item === null || typeof item !== "object") {
      const key = typeof item === "bigint" && Number.isSafeInteger(Number(item))
        ? Number(item)
        : item;
      if (seen.has(key) && !Number.isNaN(key)) return false;
      seen.add(key);
      return true;
    }
    context.step(compound.length);
    if (compound.some((other) => equal(other, item, context))) return false;
    compound.push(item);
    return true;
  });
}

/** The order of values in sorting; kinds without an order fail. */
export function ascending(left: Value, right: Value, context: RunContext): number {
  const order = compare("<", left, right, context);
  return Number.isNaN(order) ? 0 : order;
}

/** Sorts a copy, and charges the run for it. */
function sorted<T>(
  list: readonly T[],
  order: (left: T, right: T) => number,
  context: RunContext,
): T[] {
  context.spend(list.length);
  return list.slice().sort((left, right) => {
    context.step();
    return order(left, right);
  });
}

const SORT_LISTS: readonly StaticType[] = [LIST, sliceOf(FLOAT), sliceOf(STRING), sliceOf(INT)];

const sort: Builtin = {
  check: [
    ...SORT_LISTS.map((list): Signature => ({ params: [list, STRING], result: LIST })),
    ...SORT_LISTS.map((list): Signature => ({ params: [list], result: LIST })),
  ],
  run: ([list = null, order = "asc"], context) => {
    if (typeof order !== "string") {
      fault(`sort order argument must be a string (got ${goTypeName(order)})`);
    }
    if (order !== "asc" && order !== "desc") {
      fault(`invalid order ${order}, expected asc or desc`);
    }
    if (!Array.isArray(list) && !(list instanceof Uint8Array)) return nilList();
    // The reference sorts lists of any values, of numbers and of texts; what else has a type of its own is lost.
    if (Array.isArray(list) && isListOfCompounds(list)) return nilList();
    const items = elements(list, () => "");
    const direction = order === "asc"
      ? (a: Value, b: Value) => ascending(a, b, context)
      : (a: Value, b: Value) => ascending(b, a, context);
    return sorted(items, direction, context);
  },
};

function fromPairs(list: readonly Value[], context: RunContext): Value {
  context.spend(list.length);
  context.step(list.length * 5);
  const map = new AnyMap(new Map());
  for (const pair of list) {
    if (!Array.isArray(pair)) fault(`invalid pair ${goString(pair, context)}`);
    const [key, value] = pair;
    if (pair.length !== 2 || key === undefined || value === undefined) {
      fault(`invalid pair length ${goString(pair, context)}`);
    }
    anyMapSet(map, key, value);
  }
  return map;
}

/** Built-ins on lists and maps by name. */
export const LIST_BUILTINS: BuiltinTable = new Map<string, Builtin>([
  ["len", len],
  endElement("first", 0n),
  endElement("last", -1n),
  ["get", {
    // The checker treats it like a member access; this is what it says when it runs.
    check: ({ length }) =>
      length === 2 ? ANY : { error: `invalid number of arguments (expected 2, got ${length})` },
    run: ([container = null, key = null], context) => {
      if (typeof container === "string") payForBytes(container, context);
      return getMember(container, key);
    },
  }],
  ["take", take],
  mapFunction("keys", (type) => `cannot get keys from ${type}`, ([key]) => key),
  mapFunction("values", (type) => `cannot get values from ${type}`, ([, value]) => value),
  mapFunction(
    "toPairs",
    (type) => `cannot transform ${type} to pairs`,
    ([key, value]) => [key, value],
    "[2]interface {}",
  ),
  ["fromPairs", {
    check: oneOf(
      LIST_KINDS,
      () => ({ kind: "anymap", element: ANY }),
      (type) => `cannot transform ${type} from pairs`,
    ),
    run: ([list = null], context) =>
      fromPairs(elements(list, (kind) => `cannot transform ${kind} from pairs`), context),
  }],
  listFunction("reverse", (type) => `cannot reverse ${type}`, (list, context) => {
    context.spend(list.length);
    return list.toReversed();
  }),
  listFunction("uniq", (type) => `cannot uniq ${type}`, unique),
  ["concat", concat],
  listFunction("flatten", (type) => `cannot flatten ${type}`, flatten),
  ["sort", sort],
]);
