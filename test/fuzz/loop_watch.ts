/**
 * How long the event loop stands still, in processor time of its thread: a busy machine lets every turn take longer, but
 * not cost more.
 */
import { readFileSync } from "node:fs";
import process from "node:process";

/** Time between two looks, ms. */
const LOOK_MS = 5;

/** Processor time of the calling thread so far, ms. */
export const threadMs: () => number = bestClock();

function bestClock(): () => number {
  try {
    readFileSync("/proc/thread-self/schedstat", "latin1");
    return () => Number.parseInt(readFileSync("/proc/thread-self/schedstat", "latin1"), 10) / 1e6;
  } catch {
    return () => {
      const { user, system } = process.cpuUsage();
      return (user + system) / 1_000;
    };
  }
}

let endSpan = (_counts: boolean) => {};

/** Counts what follows as if the loop had turned: for a target that does one thing after the other without a turn between. */
export function beginSpan(): void {
  endSpan(true);
}

/** Leaves out what was done since the last span: no server does it. */
export function skipSpan(): void {
  endSpan(false);
}

/** Runs something; tells the longest that the loop was held meanwhile. */
export async function watchLoop<T>(
  run: () => T | Promise<T>,
): Promise<{ result: PromiseSettledResult<T>; blockMs: number }> {
  let blockMs = 0;
  let last = threadMs();
  endSpan = (counts) => {
    const now = threadMs();
    if (counts) blockMs = Math.max(blockMs, now - last);
    last = now;
  };
  const timer = setInterval(beginSpan, LOOK_MS);
  let result: PromiseSettledResult<T>;
  try {
    const value = run();
    result = { status: "fulfilled", value: value instanceof Promise ? await value : value };
  } catch (reason) {
    result = { status: "rejected", reason };
  }
  clearInterval(timer);
  beginSpan();
  return { result, blockMs };
}
