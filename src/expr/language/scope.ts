/** Variables: by their full dotted names, as templates use them, and as nested maps, as expressions read them. */
import type { Json } from "../../base/json.ts";
import type { Reference } from "./program.ts";
import {
  fromJson,
  isValueMap,
  newMap,
  ownValue,
  setOwn,
  type Value,
  type ValueMap,
} from "../values/values.ts";

/** The meaning of names while tags are replaced and expressions evaluated. */
export interface Scope {
  /** Value of a full dotted name: null: known, but absent (a skipped producer); undefined: unknown. */
  find(name: string): Json | undefined;
  /**
   * All full dotted names whose first part is `root`, including `root` itself. Called only for what an expression
   * reads.
   */
  names(root: string): Iterable<string>;
}

/** A scope of the given names: `{"inputs.parameters.x": "1"}`. */
export function scopeOf(variables: Readonly<Record<string, Json>>): Scope {
  return {
    find: (name) => Object.hasOwn(variables, name) ? variables[name] : undefined,
    names: (root) =>
      Object.keys(variables).filter((name) => name === root || name.startsWith(`${root}.`)),
  };
}

/** The variables of a scope as nested maps; the map for a first part is made only when an expression reads it. */
export class ScopeEnvironment {
  readonly scope: Scope;
  readonly #roots = new Map<string, Value | undefined>();

  constructor(scope: Scope) {
    this.scope = scope;
  }

  /** The environment for an expression with these references. */
  envFor(references: readonly Reference[]): ValueMap {
    const env = newMap();
    for (const { path: [root] } of references) {
      const value = root === undefined ? undefined : this.#root(root);
      if (root !== undefined && value !== undefined) setOwn(env, root, value);
    }
    return env;
  }

  /** The shortest part of a reference's path that does not exist; undefined if all of it exists. */
  missingPart(reference: Reference): readonly string[] | undefined {
    // Names made by `let` count as missing, as in the reference.
    let value = reference.local ? undefined : this.#root(reference.path[0] ?? "");
    if (value === undefined) return reference.path.slice(0, 1);
    for (let depth = 1; depth < reference.path.length; depth++) {
      value = isValueMap(value) ? ownValue(value, reference.path[depth] as string) : undefined;
      if (value === undefined) return reference.path.slice(0, depth + 1);
    }
    return undefined;
  }

  /** If both `a` and `a.b` exist, `a.b` wins. Values are copied, because functions such as `sprig.set` change them. */
  #root(root: string): Value | undefined {
    if (this.#roots.has(root)) return this.#roots.get(root);
    const whole = newMap();
    const made = new Set<Value>();
    for (const name of this.scope.names(root)) {
      const value = this.scope.find(name);
      if (value === undefined) continue;
      const parts = name.split(".");
      const last = parts.pop() as string;
      let map = whole;
      for (const part of parts) {
        const inner = ownValue(map, part);
        if (inner !== undefined && made.has(inner)) map = inner as ValueMap;
        else {
          const fresh = newMap();
          made.add(fresh);
          setOwn(map, part, fresh);
          map = fresh;
        }
      }
      if (!made.has(ownValue(map, last) ?? null)) {
        setOwn(map, last, fromJson(typeof value === "object" ? structuredClone(value) : value));
      }
    }
    const value = ownValue(whole, root);
    this.#roots.set(root, value);
    return value;
  }
}
