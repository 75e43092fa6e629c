/**
 * Gives memory back after a busy time. What leaves the caches once the work is over stays as garbage: the engine collects when
 * something is allocated, and then hardly anything is. So a process that has come to rest collects its garbage.
 *
 * The engine would do that by itself, and `gc()` could be called. But both drop the hidden classes of objects that nobody
 * holds at that moment, such as all that come with requests, and with them the code that was compiled for these. The first
 * thousand jobs after a rest then cost half as much again, and thousands more until all of it is compiled anew. So the start
 * task turns that off (`--no-memory-reducer`), and lets classes that code was compiled for outlive some collections
 * (`--retain-maps-for-n-gc`).
 */
import process from "node:process";
import type { Clock } from "../clock.ts";

/** How often it looks, ms. */
const LOOK_MS = 10_000;
/** At rest: less than this share of one core since the last look. */
const REST_SHARE = 0.05;
/** Looks in a row at which the process was at rest. By then the caches have let go of what rests. */
const RESTED = 4;
/** Collections, one at each look. The first frees; the others move what is left together, and give pages back. */
const ROUNDS = 3;
/** The heap has grown by so many bytes since the last collection: more than the young generation, which empties by itself. */
const MIN_GROWTH = 24 << 20;
/** A heap that is larger after the first one stays as it is: the others pause for a moment, the longer the more is in use. */
const MAX_HEAP = 256 << 20;
/** Bytes outside of the heap that make the engine collect in small steps. Nobody writes to them, so they take no memory. */
const OUTSIDE = 512 << 20;

export interface IdleCollectionDeps {
  clock: Pick<Clock, "monotonic" | "after">;
  /** Processor time of this process so far, ms. */
  cpuMs(): number;
  /** Bytes of the heap in use. @default those of this process */
  heapUsed?(): number;
  /** Begins to collect all garbage. @default that of the engine */
  collect?(): void;
}

/** Collects after busy times until the signal aborts. */
export function collectWhenIdle(deps: IdleCollectionDeps, signal: AbortSignal): void {
  const { clock, cpuMs, heapUsed = () => process.memoryUsage().heapUsed } = deps;
  const { collect = collectInSteps } = deps;
  let [cpu, at, rested, lowest] = [cpuMs(), clock.monotonic(), 0, heapUsed()];
  let due = 0;
  let cancel = () => {};
  const look = () => {
    const [cpuNow, now, heap] = [cpuMs(), clock.monotonic(), heapUsed()];
    rested = cpuNow - cpu < REST_SHARE * (now - at) ? rested + 1 : 0;
    [cpu, at] = [cpuNow, now];
    lowest = Math.min(lowest, heap);
    if (rested < RESTED) due = 0;
    else if (heap - lowest > MIN_GROWTH) due = ROUNDS;
    else if (heap > MAX_HEAP) due = 0;
    if (due > 0) {
      due--;
      collect();
      // By the next look it is done: what is in use then is not garbage.
      lowest = Infinity;
    }
    cancel = clock.after(LOOK_MS, look, true);
  };
  cancel = clock.after(LOOK_MS, look, true);
  signal.addEventListener("abort", () => cancel(), { once: true });
}

/** So much outside of the heap makes the engine begin a collection, which it carries out in small steps. */
function collectInSteps(): void {
  try {
    new ArrayBuffer(OUTSIDE);
  } catch {
    // Where a process may not even reserve so much, the garbage stays until there is more of it.
  }
}
