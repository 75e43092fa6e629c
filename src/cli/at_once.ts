/** Many calls of one kind: several at a time, with results in order. */

/** How many calls a command makes at a time. */
export const CALLS_AT_ONCE = 16;

/**
 * Runs `act` for every item, at most `atOnce` at a time, and yields the results in the order of the items. An error of `act` is
 * thrown where its result would be yielded; no further calls begin then.
 */
export async function* inOrder<Item, Result>(
  items: Iterable<Item>,
  atOnce: number,
  act: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const underWay: Promise<Result>[] = [];
  for (const item of items) {
    if (underWay.length >= atOnce) yield await underWay.shift() as Result;
    const call = act(item);
    // Awaited when its turn comes, which does not happen after a failure.
    call.catch(() => {});
    underWay.push(call);
  }
  for (const call of underWay) yield await call;
}
