/** List functions of sprig. Each has two names (`first`, `mustFirst`), which do the same here: both can fail. */
import { byteValue } from "../values/access.ts";
import { fault } from "../values/error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { goKind, isEmptyValue } from "../values/go_reflect.ts";
import { strictlyEqual } from "../values/operators.ts";
import type { RunContext } from "../values/run_context.ts";
import { toInt64 } from "./sprig_number.ts";
import { elementType, type GoFunction, nilList, typedList, type Value } from "../values/values.ts";

const NIL_POINTER = "runtime error: invalid memory address or nil pointer dereference";

/** A value as a list. If it is not one, the message has its kind between `complaint` and `end`. */
function listOf(value: Value, complaint: string, end = ""): readonly Value[] {
  if (Array.isArray(value)) return value;
  if (value instanceof Uint8Array) return Array.from(value, byteValue);
  return fault(value === null ? NIL_POINTER : `${complaint} ${goKind(value)}${end}`);
}

function untyped(context: RunContext, list: Value[]): Value[] {
  context.spend(list.length);
  return list;
}

function slice(value: Value, indices: readonly Value[]): Value {
  const list = listOf(value, "list should be type of slice or array but");
  if (list.length === 0) return null;
  const start = indices.length > 0 ? Number(toInt64(indices[0] ?? null)) : 0;
  const end = indices.length > 1 ? Number(toInt64(indices[1] ?? null)) : list.length;
  if (start < 0 || end < start || end > list.length) {
    fault("reflect.Value.Slice: slice index out of bounds");
  }
  if (value instanceof Uint8Array) return value.slice(start, end);
  return typedList(list.slice(start, end), elementType(value as Value[]));
}

function chunk(context: RunContext, size: number, value: Value): Value[] {
  const list = listOf(value, "Cannot chunk type");
  const chunks: Value[] = [];
  const count = Math.floor((list.length - 1) / size) + 1;
  if (!(count >= 0) || (count > 0 && size < 1)) fault("runtime error: makeslice: len out of range");
  for (let i = 0; i < count * size; i += size) {
    chunks.push(untyped(context, list.slice(i, i + size)));
  }
  return typedList(chunks, "[]interface {}");
}

function uniq(context: RunContext, list: readonly Value[]): Value[] {
  const found: Value[] = [];
  const scalars = new Set<Value>();
  for (const item of list) {
    if (typeof item !== "object" || item === null) {
      if (scalars.has(item) && item === item) continue;
      scalars.add(item);
    } else {
      if (found.some((other) => strictlyEqual(other, item, context))) continue;
    }
    found.push(item);
  }
  return untyped(context, found);
}

function without(context: RunContext, list: readonly Value[], unwanted: readonly Value[]): Value[] {
  return untyped(
    context,
    list.filter((item) => !unwanted.some((other) => strictlyEqual(item, other, context))),
  );
}

function concat(context: RunContext, lists: readonly Value[]): Value {
  const result = lists.flatMap((value) =>
    listOf(value, "Cannot concat type", " as list") as Value[]
  );
  return result.length === 0 ? nilList() : untyped(context, result);
}

/** Functions that have a second name, with `must` before it. */
function withMust(name: string, make: (name: string) => GoFunction): GoFunction[] {
  return [make(name), make(`must${name.charAt(0).toUpperCase()}${name.slice(1)}`)];
}

/** The list functions, by name. */
export const LIST_FUNCTIONS: readonly GoFunction[] = [
  ...["list", "tuple"].map((name) =>
    variadicFunction(name, [], "any", (context, items) => untyped(context, items))
  ),
  ...["append", "push"].flatMap((name) =>
    withMust(
      name,
      (name) =>
        goFunction(name, ["any", "any"], (context, list, item) =>
          untyped(context, [...listOf(list, "Cannot push on type"), item])),
    )
  ),
  ...withMust(
    "prepend",
    (name) =>
      goFunction(
        name,
        ["any", "any"],
        (context, list, item) =>
          untyped(context, [item, ...listOf(list, "Cannot prepend on type")]),
      ),
  ),
  ...withMust(
    "first",
    (name) =>
      goFunction(name, ["any"], (_, list) => listOf(list, "Cannot find first on type")[0] ?? null),
  ),
  ...withMust(
    "last",
    (name) =>
      goFunction(
        name,
        ["any"],
        (_, list) => listOf(list, "Cannot find last on type").at(-1) ?? null,
      ),
  ),
  ...withMust("rest", (name) =>
    goFunction(name, ["any"], (context, value) => {
      const list = listOf(value, "Cannot find rest on type");
      return list.length === 0 ? nilList() : untyped(context, list.slice(1));
    })),
  ...withMust("initial", (name) =>
    goFunction(name, ["any"], (context, value) => {
      const list = listOf(value, "Cannot find initial on type");
      return list.length === 0 ? nilList() : untyped(context, list.slice(0, -1));
    })),
  ...withMust(
    "reverse",
    (name) =>
      goFunction(
        name,
        ["any"],
        (context, list) =>
          untyped(context, [...listOf(list, "Cannot find reverse on type")].reverse()),
      ),
  ),
  ...withMust(
    "compact",
    (name) =>
      goFunction(name, ["any"], (context, list) =>
        untyped(
          context,
          listOf(list, "Cannot compact on type").filter((item) => !isEmptyValue(item, context)),
        )),
  ),
  ...withMust(
    "uniq",
    (name) =>
      goFunction(
        name,
        ["any"],
        (context, list) => uniq(context, listOf(list, "Cannot find uniq on type")),
      ),
  ),
  ...withMust(
    "without",
    (name) =>
      variadicFunction(
        name,
        ["any"],
        "any",
        (context, list, unwanted) =>
          without(context, listOf(list, "Cannot find without on type"), unwanted),
      ),
  ),
  ...withMust(
    "has",
    (name) =>
      goFunction(name, ["any", "any"], (context, needle, list) =>
        list !== null &&
        listOf(list, "Cannot find has on type").some((item) =>
          strictlyEqual(needle, item, context)
        )),
  ),
  ...withMust(
    "slice",
    (name) => variadicFunction(name, ["any"], "any", (_, list, indices) => slice(list, indices)),
  ),
  ...withMust("chunk", (name) => goFunction(name, ["int", "any"], chunk)),
  variadicFunction("concat", [], "any", concat),
];
