/**
 * What a part of a page reads once, or follows, is read again when the server could not answer: after pauses that grow, and at
 * once when the network is back or somebody looks again. Whole pages do the same with `usePolled` and `openWatch`.
 */
import { isPassing, type Trouble, troubleOf } from "./api.ts";
import { rest } from "./watch.ts";

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

export interface Telling {
  signal: AbortSignal;
  /** Is told what is wrong before each pause, and `undefined` after it. */
  tell?: (trouble: Trouble | undefined) => void;
}

/**
 * Reads until there is an answer.
 * @throws what another attempt would not better, and anything once the signal has aborted
 */
export async function readAgain<Value>(
  read: () => Promise<Value>,
  telling: Telling,
): Promise<Value> {
  for await (const value of followAgain(() => once(read), telling)) return value;
  throw new Error("It has no value");
}

async function* once<Value>(read: () => Promise<Value>): AsyncIterable<Value> {
  yield await read();
}

/** Follows a stream to its end. One that breaks is opened again. @throws as `readAgain` does */
export async function* followAgain<Item>(
  open: () => AsyncIterable<Item>,
  { signal, tell = () => {} }: Telling,
): AsyncIterable<Item> {
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      for await (const item of open()) {
        pause = FIRST_PAUSE_MS;
        yield item;
      }
      return;
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      tell(troubleOf(error));
      await rest(pause, signal);
      if (signal.aborted) throw error;
      tell(undefined);
    }
  }
}
