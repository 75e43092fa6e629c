/**
 * One call for many askers, where each must get an answer that is no older than its question: those who ask while a call
 * is under way share the next one. When that call fails, they fail with it: they would only wait as long again.
 */
export function sharedCall<T>(call: () => Promise<T>): () => Promise<T> {
  let current: Promise<unknown> | undefined;
  let next: Promise<T> | undefined;
  return () => {
    if (next !== undefined) return next;
    // Also when none is under way: those who ask in the same turn go together.
    const own = (current ?? Promise.resolve()).then(() => {
      next = undefined;
      current = own;
      return call();
    }, (error: unknown) => {
      next = undefined;
      throw error;
    }).finally(() => {
      if (current === own) current = undefined;
    });
    next = own;
    return own;
  };
}
