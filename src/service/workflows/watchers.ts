/** The watchers of this process by what they watch, so that a change costs only as much as the watchers it reaches. */
import type { Watcher } from "./watcher_queue.ts";

/** What a watcher wants to hear of. */
export interface WatchScope {
  /** "" = all namespaces. */
  namespace: string;
  /** Only this workflow; needs a namespace. */
  name?: string | undefined;
  /** It shows starts and ends in milliseconds. */
  exactTimes?: boolean | undefined;
}

/** Where a workflow is. */
export interface Place {
  namespace: string;
  name: string;
}

/** Tells whether a workflow is within a scope. */
export function inScope(place: Place, scope: WatchScope): boolean {
  return (scope.namespace === "" || scope.namespace === place.namespace) &&
    (scope.name === undefined || scope.name === place.name);
}

export class Watchers {
  readonly #byScope = new Map<string, Set<Watcher>>();

  /** @returns removes the watcher again */
  add(watcher: Watcher, { namespace, name }: WatchScope): () => void {
    const key = namespace !== "" && name !== undefined ? `${namespace}/${name}` : namespace;
    const set = this.#byScope.get(key) ?? new Set();
    this.#byScope.set(key, set);
    set.add(watcher);
    return () => {
      set.delete(watcher);
      if (set.size === 0 && this.#byScope.get(key) === set) this.#byScope.delete(key);
    };
  }

  isWatched({ namespace, name }: Place): boolean {
    return this.#byScope.has("") || this.#byScope.has(namespace) ||
      this.#byScope.has(`${namespace}/${name}`);
  }

  *of({ namespace, name }: Place): Iterable<Watcher> {
    for (const key of ["", namespace, `${namespace}/${name}`]) {
      yield* this.#byScope.get(key) ?? [];
    }
  }

  *all(): Iterable<Watcher> {
    for (const set of this.#byScope.values()) yield* set;
  }
}
