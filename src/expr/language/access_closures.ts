/** Closures that read members, call functions, and make lists and maps. */

import { fetchMember, missingMember, sliceOfValue } from "../values/access.ts";
import { fault } from "../values/error.ts";
import { goTypeName } from "../values/go_text.ts";
import type { IntRange } from "../values/int_range.ts";
import { isNil } from "../values/operators.ts";
import { payForBytes } from "../values/utf8.ts";
import {
  GoFunction,
  newMap,
  objectOf,
  setOwn,
  type Value,
  type ValueMap,
} from "../values/values.ts";
import { type Run, SKIP, type State } from "./run_state.ts";

/** How a member is read at one place in the source. */
interface MemberSite {
  readonly at: number;
  /** Behind `?.`: a nil ends the chain. */
  readonly isOptional: boolean;
  readonly read: (container: Value, key: Value) => Value;
}

/** Calls the value of a closure; the arguments are evaluated first. */
export function callOf(callee: Run, args: readonly Run[], at: number): Run {
  return (s) => {
    const values = args.map((arg) => arg(s) as Value);
    const target = callee(s);
    if (target === SKIP) return SKIP;
    s.at = at;
    if (target instanceof GoFunction) return target.call(values, s.context);
    if (target === null) return fault("invalid operation: cannot call nil");
    return fault(
      `invalid operation: cannot call non-function of type ${goTypeName(target as Value)}`,
    );
  };
}

/** `.name`. */
export function memberByName(object: Run, name: string, { at, isOptional, read }: MemberSite): Run {
  return (s) => {
    const target = object(s) as Value;
    if (target !== null && typeof target === "object") {
      const prototype = Object.getPrototypeOf(target);
      if (prototype === Object.prototype || prototype === null) {
        if (Object.hasOwn(target, name)) return (target as ValueMap)[name] as Value;
        if (objectOf(target) === undefined) return missingMember(target as ValueMap);
      }
    }
    if (target === (SKIP as unknown)) return SKIP;
    if (isOptional && isNil(target)) return SKIP;
    return readMember(target, name, at, s, read);
  };
}

/** `[key]`. */
export function memberByKey(object: Run, key: Run, { at, isOptional, read }: MemberSite): Run {
  return (s) => {
    const target = object(s) as Value;
    if (target === (SKIP as unknown)) return SKIP;
    if (isOptional && isNil(target)) return SKIP;
    return readMember(target, key(s) as Value, at, s, read);
  };
}

function readMember(
  target: Value,
  key: Value,
  at: number,
  s: State,
  read: MemberSite["read"],
): Value {
  s.at = at;
  chargeBytes(target, s);
  return read(target, key);
}

/** An element of a range that is not made into a list. */
export function elementOfRange(range: (s: State) => IntRange, index: Run, at: number): Run {
  return (s) => {
    const list = range(s);
    const key = index(s) as Value;
    s.at = at;
    return list.fetch(key);
  };
}

/** `$env[name]`. */
export function memberOfEnv(key: Run, at: number): Run {
  return (s) => {
    const name = key(s) as Value;
    s.at = at;
    return fetchMember(wholeEnv(s), name);
  };
}

/** The environment as a value, functions included. */
export function wholeEnv(s: State): Value {
  if (s.functions.size === 0) return s.env;
  const all = newMap();
  for (const name of Object.keys(s.env)) setOwn(all, name, s.env[name] as Value);
  for (const [name, value] of s.functions) setOwn(all, name, value);
  return all;
}

/** `[from:to]`. */
export function sliceOf(list: Run, from: Run | undefined, to: Run | undefined, at: number): Run {
  return (s) => {
    const target = list(s) as Value;
    const last = to?.(s) as Value | undefined;
    const first = from?.(s) as Value | undefined;
    s.at = at;
    chargeBytes(target, s);
    const part = sliceOfValue(target, first, last);
    if (Array.isArray(part)) s.context.step(1 + (part.length >> 2));
    return part;
  };
}

/** `[item, …]`. */
export function listOf(items: readonly Run[], at: number): Run {
  return (s) => {
    const values = items.map((item) => item(s) as Value);
    s.at = at;
    s.context.spend(values.length);
    return values;
  };
}

/** `{key: value, …}`. The first of several equal keys wins. */
export function mapOf(pairs: readonly (readonly [key: Run, value: Run])[], at: number): Run {
  return (s) => {
    const map = newMap();
    for (const [key, value] of pairs) {
      const name = key(s) as Value;
      const item = value(s) as Value;
      s.at = at;
      if (typeof name !== "string") {
        const type = name === null ? "nil" : goTypeName(name);
        return fault(`interface conversion: interface {} is ${type}, not string`);
      }
      if (!Object.hasOwn(map, name)) setOwn(map, name, item);
    }
    s.context.spend(pairs.length);
    return map;
  };
}

/** Finding the bytes of a string takes time in proportion to its length. */
function chargeBytes(target: Value, s: State): void {
  if (typeof target === "string") payForBytes(target, s.context);
}
