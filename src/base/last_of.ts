/** The last values of a sequence whose length nobody knows. */
import { Chain } from "./chain.ts";

/** Characters of values that are kept meanwhile. */
const MAX_KEPT = 2 ** 20;
/** What any value takes besides its characters. */
const VALUE_SIZE = 64;

/**
 * The last `count` values. They are kept while the sequence is read. If they are too large for that, it is read a second
 * time; what it then has at its end in addition comes too.
 *
 * @param read begins to read the sequence
 * @param sizeOf characters of a value
 */
export async function* lastOf<T>(
  read: () => AsyncIterable<T>,
  count: number,
  sizeOf: (value: T) => number,
): AsyncGenerator<T> {
  const kept = new Chain<T>();
  const weigh = (value: T) => VALUE_SIZE + sizeOf(value);
  let total = 0;
  let keptCount = 0;
  let size = 0;
  for await (const value of read()) {
    total++;
    if (size > MAX_KEPT) continue;
    kept.add(value);
    size += weigh(value);
    const { first } = kept;
    if (++keptCount > count && first !== undefined) {
      kept.remove(first);
      keptCount--;
      size -= weigh(first.value);
    }
    if (size > MAX_KEPT) kept.takeAll();
  }
  if (size <= MAX_KEPT) {
    yield* kept;
    return;
  }
  let toSkip = total - count;
  for await (const value of read()) {
    if (toSkip-- <= 0) yield value;
  }
}
