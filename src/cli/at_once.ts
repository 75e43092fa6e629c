/** Many calls of one kind: some at once, told in the order of what was asked. */

/** How many calls a command has under way. */
export const CALLS_AT_ONCE = 16;

/**
 * Runs `act` for every item, at most `atOnce` at a time, and yields the results in the items' order. What an `act` throws is
 * thrown when its turn to be yielded comes; no more are begun then.
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
    // Waited for when its turn comes, which it never does behind one that failed.
    call.catch(() => {});
    underWay.push(call);
  }
  for (const call of underWay) yield await call;
}
