/**
 * Work that now and then has to wait for something. Nearly always it has not, and then it is done at once: an async function
 * would let its caller wait all the same, and cost a promise for each level.
 */

/** Such work: it yields what it waits for. */
export type Waits<T> = Generator<Promise<unknown>, T, unknown>;

/** Waits for something, within such work. */
export function* waitFor<T>(something: Promise<T>): Waits<T> {
  return (yield something) as T;
}

/** Does the work: at once, unless it has to wait. */
export function carryOut<T>(work: Waits<T>): T | Promise<T> {
  const step = work.next();
  return step.done === true ? step.value : goOn(work, step.value);
}

async function goOn<T>(work: Waits<T>, first: Promise<unknown>): Promise<T> {
  for (let waited = first;;) {
    let found: unknown;
    let failure: { cause: unknown } | undefined;
    try {
      found = await waited;
    } catch (cause) {
      failure = { cause };
    }
    const step = failure === undefined ? work.next(found) : work.throw(failure.cause);
    if (step.done === true) return step.value;
    waited = step.value;
  }
}
