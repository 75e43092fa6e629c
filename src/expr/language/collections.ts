/** The functions that run a predicate over a list. */

import { ascending } from "../functions/builtins_list.ts";
import { fault } from "../values/error.ts";
import { goTypeName } from "../values/go_text.ts";
import { IntRange } from "../values/int_range.ts";
import { add, anyMapGet, anyMapSet, asBool } from "../values/operators.ts";
import type { Run, State } from "./run_state.ts";
import { utf8Bytes } from "../values/utf8.ts";
import { AnyMap, isValueMap, NamedInt, type Value } from "../values/values.ts";

/** A compiled predicate. */
export interface Body {
  readonly run: Run;
  /** Steps for one evaluation. */
  readonly cost: number;
  /** It asks for `#index`. */
  readonly usesIndex: boolean;
}

/** A compiled call of a collection function. */
export interface CollectionCall {
  readonly name: string;
  readonly at: number;
  readonly list: Run | ((s: State) => IntRange);
  readonly body: Body | undefined;
  /** Applied to what a filter or a find selects. */
  readonly map: Body | undefined;
  /** Order of `sortBy`, initial value of `reduce`. */
  readonly extra: Run | undefined;
  /** No match is an error. */
  readonly mustFind: boolean;
  /** `count` stops here. */
  readonly threshold: bigint | undefined;
  readonly slots: {
    readonly element: number;
    readonly index: number;
    readonly accumulator: number;
  };
}

/** Marks the elements of maps: they can be counted, but not read. */
const UNREADABLE: Value = new NamedInt("uint8", -1n);

/** Reads the element of a predicate. @throws {Fault} when the collection is a map */
export function readElement(value: Value): Value {
  return value === UNREADABLE ? fault("reflect: call of reflect.Value.Index on map Value") : value;
}

/** One evaluation over a list; the functions below share it. */
class Iteration {
  readonly call: CollectionCall;
  readonly s: State;
  readonly length: number;
  readonly #items: readonly Value[] | IntRange;

  constructor(call: CollectionCall, s: State) {
    const list = call.list(s) as Value | IntRange;
    s.at = call.at;
    this.#items = list instanceof IntRange ? list : itemsOf(list, s);
    this.length = this.#items.length;
    this.call = call;
    this.s = s;
  }

  #item(index: number): Value {
    const items = this.#items;
    return items instanceof IntRange ? items.at(index) : items[index] as Value;
  }

  /** The value of the predicate at an index, or of the element if there is no predicate. */
  valueAt(index: number, body: Body | undefined = this.call.body): Value {
    const { s, call } = this;
    const item = this.#item(index);
    if (body === undefined) {
      s.context.step();
      return readElement(item);
    }
    s.slots[call.slots.element] = item;
    if (body.usesIndex) s.slots[call.slots.index] = BigInt(index);
    s.context.step(body.cost);
    const value = body.run(s) as Value;
    s.at = call.at;
    return value;
  }

  isTrueAt(index: number): boolean {
    const value = this.valueAt(index);
    return typeof value === "boolean" ? value : asBool(value);
  }

  elementAt(index: number): Value {
    return readElement(this.#item(index));
  }

  /** The element, or the result of the combined `map` for it. */
  mappedAt(index: number): Value {
    const { map } = this.call;
    return map === undefined ? this.elementAt(index) : this.valueAt(index, map);
  }

  set accumulator(value: Value) {
    this.s.slots[this.call.slots.accumulator] = value;
  }

  extra(missing: Value): Value {
    const value = this.call.extra === undefined ? missing : this.call.extra(this.s) as Value;
    this.s.at = this.call.at;
    return value;
  }
}

function itemsOf(list: Value, s: State): readonly Value[] {
  if (Array.isArray(list)) return list;
  if (typeof list === "string") return bytesOf(utf8Bytes(list), s);
  if (list instanceof Uint8Array) return bytesOf(list, s);
  const size = list instanceof AnyMap
    ? list.entries.size
    : list !== null && typeof list === "object" && isValueMap(list)
    ? Object.keys(list).length
    : undefined;
  if (size !== undefined) {
    s.context.step(size);
    return new Array<Value>(size).fill(UNREADABLE);
  }
  const what = list === null ? "zero" : goTypeName(list);
  return fault(`reflect: call of reflect.Value.Len on ${what} Value`);
}

function bytesOf(bytes: Uint8Array, s: State): Value[] {
  s.context.step(bytes.length);
  return Array.from(bytes, (byte) => new NamedInt("uint8", BigInt(byte)));
}

/** Closure of a collection call. */
export function compileCollection(call: CollectionCall): Run {
  const run = FUNCTIONS.get(call.name);
  if (run === undefined) throw new TypeError(`Unknown collection function ${call.name}`);
  return (s) => run(new Iteration(call, s));
}

const FUNCTIONS: ReadonlyMap<string, (iteration: Iteration) => Value> = new Map([
  ["all", (it: Iteration) => findFirst(it, false) < 0],
  ["any", (it: Iteration) => findFirst(it, true) >= 0],
  ["none", (it: Iteration) => findFirst(it, true) < 0],
  ["one", (it: Iteration) => countTrue(it) === 1],
  ["count", (it: Iteration) => BigInt(countTrue(it))],
  ["filter", filter],
  ["map", map],
  ["find", (it: Iteration) => found(it, findFirst(it, true))],
  ["findLast", (it: Iteration) => found(it, findLast(it))],
  ["findIndex", (it: Iteration) => indexOrNil(findFirst(it, true))],
  ["findLastIndex", (it: Iteration) => indexOrNil(findLast(it))],
  ["sum", sum],
  ["groupBy", groupBy],
  ["sortBy", sortBy],
  ["reduce", reduce],
]);

/** Index of the first element for which the predicate has this value; -1 for none. */
function findFirst(it: Iteration, wanted: boolean): number {
  for (let i = 0; i < it.length; i++) if (it.isTrueAt(i) === wanted) return i;
  return -1;
}

function findLast(it: Iteration): number {
  for (let i = it.length - 1; i >= 0; i--) if (it.isTrueAt(i)) return i;
  return -1;
}

function found(it: Iteration, index: number): Value {
  if (index >= 0) return it.mappedAt(index);
  return it.call.mustFind ? fault("reflect: slice index out of range") : null;
}

function indexOrNil(index: number): Value {
  return index < 0 ? null : BigInt(index);
}

function countTrue(it: Iteration): number {
  const limit = it.call.threshold === undefined ? Infinity : Number(it.call.threshold);
  let count = 0;
  for (let i = 0; i < it.length && count < limit; i++) if (it.isTrueAt(i)) count++;
  return count;
}

function filter(it: Iteration): Value {
  const out: Value[] = [];
  for (let i = 0; i < it.length; i++) if (it.isTrueAt(i)) out.push(it.mappedAt(i));
  it.s.context.spend(out.length);
  return out;
}

function map(it: Iteration): Value {
  const out: Value[] = [];
  for (let i = 0; i < it.length; i++) out.push(it.valueAt(i));
  it.s.context.spend(out.length);
  return out;
}

function sum(it: Iteration): Value {
  let total: Value = 0n;
  for (let i = 0; i < it.length; i++) total = add(it.valueAt(i), total, it.s.context);
  return total;
}

function groupBy(it: Iteration): Value {
  const groups = new AnyMap(new Map(), "[]interface {}");
  for (let i = 0; i < it.length; i++) {
    const key = it.valueAt(i);
    // Finding a group takes longer than most predicates; keys that are compared by value are searched linearly.
    it.s.context.step(key !== null && typeof key === "object" ? 5 + groups.entries.size : 5);
    const group = anyMapGet(groups, key);
    if (Array.isArray(group)) group.push(it.elementAt(i));
    else anyMapSet(groups, key, [it.elementAt(i)]);
  }
  return groups;
}

function sortBy(it: Iteration): Value {
  const order = it.extra("asc");
  if (typeof order !== "string") fault("sortBy order argument must be a string");
  if (order !== "asc" && order !== "desc") fault("unknown order, use asc or desc");
  const keyed: { key: Value; item: Value }[] = [];
  for (let i = 0; i < it.length; i++) keyed.push({ key: it.valueAt(i), item: it.elementAt(i) });
  const { context } = it.s;
  context.spend(keyed.length);
  keyed.sort((left, right) => {
    context.step();
    return order === "asc"
      ? ascending(left.key, right.key, context)
      : ascending(right.key, left.key, context);
  });
  return keyed.map(({ item }) => item);
}

function reduce(it: Iteration): Value {
  const hasInitial = it.call.extra !== undefined;
  if (!hasInitial && it.length === 0) fault("reduce of empty array with no initial value");
  let accumulator = hasInitial ? it.extra(null) : it.elementAt(0);
  for (let i = hasInitial ? 0 : 1; i < it.length; i++) {
    it.accumulator = accumulator;
    accumulator = it.valueAt(i);
  }
  return accumulator;
}
