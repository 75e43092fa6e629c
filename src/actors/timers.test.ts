import fc from "fast-check";
import { expect, test } from "vitest";
import type { Clock } from "../platform/clock.ts";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { Timers } from "./timers.ts";

const DAY_MS = 86_400_000;

/** Timers over rows that a store would keep: what fires is cleared, a shard that asks is given what it asks for. */
function world(shards: number[]) {
  const clock = new ManualClock(0);
  const rows = new Map<string, number>();
  const fired: [number, string][] = [];
  const timers: Timers = new Timers(clock, (shard, id) => {
    fired.push([clock.now(), `${shard}/${id}`]);
    rows.delete(`${shard}/${id}`);
    timers.clear(shard, id);
  }, load);
  function load(shard: number): void {
    const max = timers.wanted(shard);
    const found = [...rows]
      .filter(([key]) => key.startsWith(`${shard}/`))
      .sort(([, a], [, b]) => a - b)
      .slice(0, max)
      .map(([key, at]) => [key.slice(key.indexOf("/") + 1), at]);
    timers.load(shard, max, Object.fromEntries(found));
  }
  for (const shard of shards) load(shard);
  return {
    clock,
    rows,
    fired,
    timers,
    set(shard: number, id: string, at: number) {
      rows.set(`${shard}/${id}`, at);
      timers.set(shard, id, at);
    },
    clear(shard: number, id: string) {
      rows.delete(`${shard}/${id}`);
      timers.clear(shard, id);
    },
  };
}

test("a clock that is set, and set right again, delays no timer by more than a look at it", async () => {
  const real = new ManualClock();
  let shift = 0;
  const clock: Clock = {
    now: () => real.now() + shift,
    monotonic: () => real.monotonic(),
    after: (ms, run) => real.after(ms, run),
    sleep: (ms, signal) => real.sleep(ms, signal),
  };
  const fired: string[] = [];
  const timers = new Timers(clock, (_, id) => fired.push(id), () => {});
  timers.load(1, 10, {});
  const start = real.now();
  shift = -3_600_000;
  timers.set(1, "before", start + 3_000);
  timers.checkClock();
  await real.advance(5_000);
  expect(fired).toEqual([]);
  shift = 0;
  timers.checkClock();
  await real.advance(1);
  expect(fired).toEqual(["before"]);
  // Set ahead, what is due by the new time comes at once.
  timers.set(1, "after", start + 1_000_000);
  shift = 3_600_000;
  timers.checkClock();
  await real.advance(1);
  expect(fired).toEqual(["before", "after"]);
});

test("timers fire in order at their time, however they were set, moved and cleared", async () => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 500 }).map(String),
    shard: fc.integer({ min: 0, max: 2 }),
    wait: fc.option(fc.integer({ min: 0, max: 60 * DAY_MS }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 2_000, size: "max" }), async (steps) => {
      const { clock, rows, fired, timers, set, clear } = world([0, 1, 2]);
      for (const { id, shard, wait } of steps) {
        if (wait === undefined) clear(shard, id);
        else set(shard, id, wait);
      }
      timers.clearShard(2);
      for (const key of rows.keys()) if (key.startsWith("2/")) rows.delete(key);
      const due = new Map(rows);
      await clock.advance(61 * DAY_MS);
      expect(fired.map(([at]) => at)).toEqual(fired.map(([at]) => at).sort((a, b) => a - b));
      expect(new Map(fired.map(([at, key]) => [key, at]))).toEqual(due);
      expect(fired).toHaveLength(due.size);
    }),
    { numRuns: 60 },
  );
});

test("a timer fires once, also when another shard goes before it is cleared", async () => {
  const clock = new ManualClock(0);
  const fired: string[] = [];
  const timers = new Timers(clock, (_shard, id) => void fired.push(id), () => {});
  for (const shard of [0, 1]) timers.load(shard, timers.wanted(shard), {});
  timers.set(0, "a", 10);
  timers.set(1, "b", 1_000);
  await clock.advance(20);
  timers.clearShard(1);
  timers.set(0, "c", 30);
  await clock.advance(5_000);
  expect(fired).toEqual(["a", "c"]);
});

test("timers that are far ahead are not in memory, and fire at their time", async () => {
  const { clock, fired, timers, set, rows } = world([0]);
  for (let i = 0; i < 10_000; i++) set(0, `t${i}`, DAY_MS + i);
  set(0, "soon", 1_000);
  expect(timers.size).toBeLessThanOrEqual(300);
  await clock.advance(DAY_MS - 1);
  expect(fired).toEqual([[1_000, "0/soon"]]);
  expect(timers.size).toBeLessThanOrEqual(300);
  await clock.advance(20_000);
  expect(fired).toHaveLength(10_001);
  expect(fired.slice(1).every(([at, key]) => key === `0/t${at - DAY_MS}`)).toBe(true);
  expect(rows.size).toBe(0);
});

test("more timers of the same moment than are loaded at once all fire", async () => {
  const { clock, fired, set } = world([0]);
  for (let i = 0; i < 3_500; i++) set(0, `t${i}`, DAY_MS);
  await clock.advance(DAY_MS);
  expect(new Set(fired.map(([, key]) => key)).size).toBe(3_500);
  expect(fired.every(([at]) => at === DAY_MS)).toBe(true);
});
