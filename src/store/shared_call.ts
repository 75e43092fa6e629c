/**
 * One call for many askers, where each must get an answer that is no older than its question: those who ask while a call
 * is under way share the next one.
 */
export function sharedCall<T>(call: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    // Also when none is under way: those who ask in the same turn go together.
    const before = (current ?? Promise.resolve()).then(() => {}, () => {});
    const own = before.then(() => {
      next = undefined;
      current = own;
      return call();
    }).finally(() => {
      if (current === own) current = undefined;
    });
    next = own;
    return own;
  };
}
