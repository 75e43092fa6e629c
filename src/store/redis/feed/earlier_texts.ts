/**
 * Earlier texts of changes that don't tell them: those of a workflow that was created lately. The feed has all of its
 * changes, so what one replaced is in those before it.
 */
import type { Change } from "../../port.ts";
import type { FeedEntry } from "./entry.ts";

/**
 * @param earlier changes of one actor, from the one that created it on, oldest first
 * @param wanted the following ones
 * @returns the wanted ones; undefined if the feed no longer has what one of them replaced
 */
export function withEarlierTexts(
  earlier: readonly FeedEntry[],
  wanted: readonly FeedEntry[],
): Change[] | undefined {
  const texts = new EarlierTexts();
  for (const { change } of earlier) texts.apply(change);
  const changes: Change[] = [];
  for (const { change, lacksTexts } of wanted) {
    const before = lacksTexts ? texts.replacedBy(change) : change.before;
    if (lacksTexts && before === undefined) return undefined;
    const isEmpty = before === undefined || Object.keys(before).length === 0;
    changes.push(isEmpty ? change : { ...change, before });
    texts.apply(change);
  }
  return changes;
}

/** Parts of an actor after each of its changes, as far as they are known. */
class EarlierTexts {
  readonly #parts = new Map<string, string>();
  /** There are no other parts. */
  #areAll = false;

  /** The texts of the parts that a change is about to write or drop; undefined if one of them is not known. */
  replacedBy({ put, drop }: Change): Record<string, string> | undefined {
    const found: Record<string, string> = {};
    for (const key of [...Object.keys(put), ...drop]) {
      const text = this.#parts.get(key);
      if (text !== undefined) found[key] = text;
      else if (!this.#areAll) return undefined;
    }
    return found;
  }

  apply({ type, put, drop, mustLoad }: Change): void {
    if (type !== "MODIFIED") this.#parts.clear();
    if (mustLoad === true) this.#areAll = false;
    else if (type !== "MODIFIED") this.#areAll = true;
    for (const key of drop) this.#parts.delete(key);
    for (const key in put) this.#parts.set(key, put[key] ?? "");
  }
}
