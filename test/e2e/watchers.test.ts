/**
 * Many watchers while workflows change: each gets every change once, in order. Slow readers are cut off, resume from
 * the version that the error names, and miss nothing either; they disturb nobody. The full size:
 *
 *   WATCHERS=1000 SLOW=10 RATE=500 SECONDS=120 SLOW_UNTIL=15 NOTE=0 deno run -A npm:vitest run test/e2e/watchers.test.ts
 */
import process from "node:process";
import { expect, test } from "vitest";
import { runWatchers, watchRunText } from "../support/watch_run.ts";

const number = (name: string, standard: number) => Number(process.env[name] ?? standard);
const SECONDS = number("SECONDS", 10);
const OPTIONS = {
  watchers: number("WATCHERS", 50),
  slow: number("SLOW", 3),
  rate: number("RATE", 50),
  seconds: SECONDS,
  slowUntil: number("SLOW_UNTIL", 0.8 * SECONDS),
  // Large changes fill the buffers of a slow connection early.
  note: number("NOTE", 60_000),
};

test(
  "every watcher sees every change once; slow ones are cut off, go on, and harm nobody",
  async () => {
    const report = await runWatchers(OPTIONS);
    process.stdout.write(watchRunText(report));
    expect(report.changed).toBe(OPTIONS.rate * OPTIONS.seconds);
    expect(report.wrong).toEqual([]);
    expect(report.cutsOfFast).toEqual([]);
    for (const cuts of report.cutsOfSlow) {
      expect(cuts[0]).toMatch(/read too slowly; go on from resourceVersion \d+/);
    }
    // The changes kept for watchers that resume, and no more.
    expect(report.heap[1] - report.heap[0]).toBeLessThan(200);
  },
  600_000,
);
