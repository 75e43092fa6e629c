/** Sets of ids by key: a key without ids has no set. */

/** Adds an id to a set in a map of sets, or removes it. */
export function setId(
  sets: Map<string, Set<string>>,
  key: string,
  id: string,
  isIn: boolean,
): void {
  const set = sets.get(key);
  if (isIn) {
    if (set === undefined) sets.set(key, new Set([id]));
    else set.add(id);
  } else if (set !== undefined) {
    set.delete(id);
    if (set.size === 0) sets.delete(key);
  }
}
