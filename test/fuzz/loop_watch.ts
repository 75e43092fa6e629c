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

/** Runs something; tells the longest that the loop was held meanwhile. */
export async function watchLoop<T>(
  run: () => T | Promise<T>,
): Promise<{ result: PromiseSettledResult<T>; blockMs: number }> {
  let blockMs = 0;
  let last = threadMs();
  const look = () => {
    const now = threadMs();
    blockMs = Math.max(blockMs, now - last);
    last = now;
  };
  const timer = setInterval(look, LOOK_MS);
  let result: PromiseSettledResult<T>;
  try {
    const value = run();
    result = { status: "fulfilled", value: value instanceof Promise ? await value : value };
  } catch (reason) {
    result = { status: "rejected", reason };
  }
  clearInterval(timer);
  look();
  return { result, blockMs };
}
