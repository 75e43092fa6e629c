/** Processor time, for tests that bound it. */
import process from "node:process";

/** What the yardstick takes on the machine for which the bounds were set, ms. */
const NOMINAL_MS = 22;
/** The machine is never taken for slower than so many times. */
const MOST_SLOWNESS = 4;

/**
 * Processor time of this thread so far, milliseconds. Deno counts a thread's time by tens of milliseconds only, so there it is the
 * time of the process, with what the garbage collector and the compiler do beside it.
 */
function processorTime(): number {
  const { user, system } = "deno" in process.versions
    ? process.cpuUsage()
    : process.threadCpuUsage();
  return (user + system) / 1_000;
}

/**
 * Least processor time of several runs, milliseconds. No further run is made once one was well below the bound. What is above
 * it is told as the machine for which the bounds were set would have taken it: for each run by how slow the machine was right
 * before and after it, since others come and go.
 */
export function leastProcessorMs(run: () => void, mostMs: number, tries = 6): number {
  let least = Infinity;
  let before = 1;
  for (let i = 0; i < tries && least > mostMs * 0.8; i++) {
    const ms = timeOf(run);
    const after = ms > mostMs ? slowness() : 1;
    least = Math.min(least, ms / Math.min(before, after));
    before = after;
  }
  return least;
}

function timeOf(run: () => void): number {
  const before = processorTime();
  run();
  return processorTime() - before;
}

/**
 * How many times as long as usual work takes at this moment: at least 1. Processor time grows too when others use the same
 * cores and caches.
 */
function slowness(): number {
  const least = Math.min(timeOf(yardstick), timeOf(yardstick), timeOf(yardstick));
  return Math.min(MOST_SLOWNESS, Math.max(1, least / NOMINAL_MS));
}

/** Allocates, compares and sorts, as an evaluation does. */
function yardstick(): void {
  const items = Array.from({ length: 60_000 }, (_, i) => ({ key: `k${(i * 7_919) % 60_000}` }));
  items.sort((a, b) => a.key < b.key ? -1 : 1);
}
