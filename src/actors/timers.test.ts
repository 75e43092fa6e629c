import fc from "fast-check";
import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { Timers } from "./timers.ts";

const DAY_MS = 86_400_000;

test("timers fire in order at their time, however they were set, moved and cleared", async () => {
  const step = fc.record({
    id: fc.integer({ min: 0, max: 20 }).map(String),
    shard: fc.integer({ min: 0, max: 2 }),
    wait: fc.option(fc.integer({ min: 0, max: 60 * DAY_MS }), { nil: undefined }),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const clock = new ManualClock(0);
      const fired: [number, string][] = [];
      const timers = new Timers(clock, (shard, id) => {
        fired.push([clock.now(), `${shard}/${id}`]);
        timers.clear(shard, id);
      });
      const due = new Map<string, number>();
      for (const { id, shard, wait } of steps) {
        if (wait === undefined) {
          timers.clear(shard, id);
          due.delete(`${shard}/${id}`);
        } else {
          timers.set(shard, id, wait);
          due.set(`${shard}/${id}`, wait);
        }
      }
      timers.clearShard(2);
      for (const key of due.keys()) if (key.startsWith("2/")) due.delete(key);
      expect(timers.size).toBe(due.size);
      await clock.advance(61 * DAY_MS);
      expect(fired.map(([at]) => at)).toEqual(fired.map(([at]) => at).sort((a, b) => a - b));
      expect(new Map(fired.map(([at, key]) => [key, at]))).toEqual(due);
      expect(fired).toHaveLength(due.size);
    }),
    { numRuns: 100 },
  );
});

test("a timer fires once, also when another shard goes before it is cleared", async () => {
  const clock = new ManualClock(0);
  const fired: string[] = [];
  const timers = new Timers(clock, (_shard, id) => void fired.push(id));
  timers.set(0, "a", 10);
  timers.set(1, "b", 1_000);
  await clock.advance(20);
  timers.clearShard(1);
  timers.set(0, "c", 30);
  await clock.advance(5_000);
  expect(fired).toEqual(["a", "c"]);
});
