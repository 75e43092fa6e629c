/** Map functions of sprig. `set`, `unset` and the merges change the given map, as in the reference. */
import { fault } from "../values/error.ts";
import { goFunction, variadicFunction } from "./go_call.ts";
import { goTypeName } from "../values/go_text.ts";
import { isEmptyValue } from "../values/go_reflect.ts";
import type { RunContext } from "../values/run_context.ts";
import { textOf } from "./sprig_text.ts";
import {
  AnyMap,
  elementType,
  type GoFunction,
  isNilList,
  isValueMap,
  mapElementType,
  newMap,
  nilList,
  ownValue,
  setOwn,
  typedList,
  type Value,
  type ValueMap,
} from "../values/values.ts";

const MAX_DEPTH = 500;
/** Steps that an entry of a map takes. */
const STEPS_PER_ENTRY = 10;

function dict(context: RunContext, values: readonly Value[]): ValueMap {
  context.spend(values.length);
  context.step(values.length * STEPS_PER_ENTRY);
  const map = newMap();
  for (let i = 0; i < values.length; i += 2) {
    setOwn(
      map,
      textOf(context, values[i] ?? null),
      i + 1 < values.length ? values[i + 1] as Value : "",
    );
  }
  return map;
}

function pick(context: RunContext, map: ValueMap, wanted: (key: string) => boolean): ValueMap {
  payForEntries(context, map);
  const result = newMap();
  for (const [key, value] of Object.entries(map)) {
    if (wanted(key)) setOwn(result, key, value);
  }
  return result;
}

/** Takes the steps for going through a map. */
function payForEntries(context: RunContext, map: ValueMap): void {
  const { length } = Object.keys(map);
  context.spend(length);
  context.step(length * STEPS_PER_ENTRY);
}

/** Refuses to change a map that belongs to the language, such as `sprig` itself. */
function checkChangeable(map: ValueMap): void {
  if (Object.isFrozen(map)) fault("this map cannot be changed");
}

/** Copies the entries of `source` into `target`. Empty values are always replaced, others only when overwriting. */
function mergeInto(
  context: RunContext,
  target: ValueMap,
  source: ValueMap,
  overwrite: boolean,
  depth = 0,
): void {
  if (depth > MAX_DEPTH) fault("value is nested too deeply");
  checkChangeable(target);
  payForEntries(context, source);
  for (const [key, value] of Object.entries(source)) {
    const present = ownValue(target, key);
    if (value === null || isNilList(value)) {
      if (overwrite) setOwn(target, key, value);
    } else if (
      present !== undefined && isValueMap(value) && isValueMap(present) &&
      !isEmptyValue(present, context)
    ) {
      if (present !== value) mergeInto(context, present, value, overwrite, depth + 1);
    } else if (overwrite || present === undefined || isEmptyValue(present, context)) {
      setOwn(target, key, value);
    }
  }
}

function merge(name: string, overwrite: boolean): GoFunction {
  const type = "map[string]interface {}";
  return variadicFunction(name, [type], type, (context, given, sources) => {
    // Instead of nil, a new map is filled.
    const target = Object.isFrozen(given) && Object.keys(given).length === 0 ? newMap() : given;
    for (const source of sources) mergeInto(context, target, source, overwrite);
    return target;
  });
}

function wrongType(value: Value, wanted: string): never {
  return fault(
    `interface conversion: interface {} is ${
      value === null ? "nil" : goTypeName(value)
    }, not ${wanted}`,
  );
}

function dig(params: readonly Value[]): Value {
  if (params.length < 3) fault("dig needs at least three arguments");
  const type = "map[string]interface {}";
  const toMap = (value: Value) =>
    isValueMap(value) && mapElementType(value) === "interface {}" ? value : wrongType(value, type);
  let map = toMap(params.at(-1) as Value);
  const keys = params.slice(0, -2).map((key) =>
    typeof key === "string" ? key : wrongType(key, "string")
  );
  for (const [index, key] of keys.entries()) {
    const step = ownValue(map, key);
    if (step === undefined) return params.at(-2) as Value;
    if (index === keys.length - 1) return step;
    map = toMap(step);
  }
  return null;
}

function deepCopy(context: RunContext, value: Value, depth = 0): Value {
  if (depth > MAX_DEPTH) fault("value is nested too deeply");
  context.spend(1);
  context.step(2);
  if (Array.isArray(value)) {
    if (isNilList(value)) return nilList(elementType(value));
    return typedList(value.map((item) => deepCopy(context, item, depth + 1)), elementType(value));
  }
  if (value instanceof AnyMap) context.step(value.entries.size * STEPS_PER_ENTRY);
  if (value instanceof AnyMap) return new AnyMap(new Map(value.entries), value.elementType);
  if (!isValueMap(value)) return value;
  payForEntries(context, value);
  const copy = newMap();
  for (const [key, item] of Object.entries(value)) {
    setOwn(copy, key, deepCopy(context, item, depth + 1));
  }
  return copy;
}

const MAP = "map[string]interface {}";

/** The map functions, by name. */
export const DICT_FUNCTIONS: readonly GoFunction[] = [
  variadicFunction("dict", [], "any", dict),
  goFunction("get", [MAP, "string"], (_, map, key) => ownValue(map, key) ?? ""),
  goFunction("set", [MAP, "string", "any"], (context, map, key, value) => {
    checkChangeable(map);
    context.spend(1);
    setOwn(map, key, value);
    return map;
  }),
  goFunction("unset", [MAP, "string"], (_, map, key) => {
    if (!Object.hasOwn(map, key)) return map;
    checkChangeable(map);
    delete map[key];
    return map;
  }),
  goFunction("hasKey", [MAP, "string"], (_, map, key) => Object.hasOwn(map, key)),
  variadicFunction("pluck", ["string"], MAP, (context, key, maps) => {
    context.spend(maps.length);
    return maps.map((map) => ownValue(map, key)).filter((value) => value !== undefined);
  }),
  variadicFunction("keys", [], MAP, (context, maps) => {
    for (const map of maps) payForEntries(context, map);
    const keys = maps.flatMap((map) => Object.keys(map).sort());
    return typedList(keys, "string");
  }),
  goFunction("values", [MAP], (context, map) => {
    payForEntries(context, map);
    const keys = Object.keys(map).sort();
    return keys.map((key) => map[key] as Value);
  }),
  variadicFunction("pick", [MAP], "string", (context, map, keys) => {
    const wanted = new Set(keys);
    return pick(context, map, (key) => wanted.has(key));
  }),
  variadicFunction("omit", [MAP], "string", (context, map, keys) => {
    const unwanted = new Set(keys);
    return pick(context, map, (key) => !unwanted.has(key));
  }),
  merge("merge", false),
  merge("mustMerge", false),
  merge("mergeOverwrite", true),
  merge("mustMergeOverwrite", true),
  variadicFunction("dig", [], "any", (_, params) => dig(params)),
  ...["deepCopy", "mustDeepCopy"].map((name) =>
    goFunction(
      name,
      ["any"],
      (context, value) =>
        value === null
          ? fault("reflect: call of reflect.Value.Type on zero Value")
          : deepCopy(context, value),
    )
  ),
];
