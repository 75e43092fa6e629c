import process from "node:process";
import { expect, test } from "vitest";
import { collectWhenIdle } from "./idle_collection.ts";

const MIB = 1 << 20;

/** A process whose looks come when the test says so. @param inUse what a collection leaves, MiB */
function idling(inUse = 52) {
  let [now, cpu, heap, collections] = [0, 0, 50 * MIB, 0];
  let look = () => {};
  const stop = new AbortController();
  collectWhenIdle({
    clock: {
      monotonic: () => now,
      after: (_ms, run) => (look = run, () => void (look = () => {})),
    },
    cpuMs: () => cpu,
    heapUsed: () => heap,
    collect: () => {
      collections++;
      heap = inUse * MIB;
    },
  }, stop.signal);
  return {
    stop,
    collections: () => collections,
    /** Looks pass, at each of which so much processor time was used. */
    pass: (looks: number, cpuMs: number, growth = 0) => {
      for (let i = 0; i < looks; i++) {
        now += 10_000;
        cpu += cpuMs;
        heap += growth * MIB;
        look();
      }
    },
  };
}

test("garbage is collected after a busy time, when the process has rested for a while", () => {
  const { pass, collections } = idling();
  pass(3, 8_000, 20);
  expect(collections()).toBe(0);
  pass(3, 100);
  expect(collections()).toBe(0);
  pass(1, 100);
  expect(collections()).toBe(1);
  pass(50, 100);
  expect(collections()).toBe(3);
  // What an idle process allocates is collected in the end.
  pass(9, 100, 3);
  expect(collections()).toBe(4);
  // Whoever comes meanwhile is not disturbed.
  pass(1, 8_000);
  pass(20, 100);
  expect(collections()).toBe(4);
});

test("a heap of which much is in use is collected only once", () => {
  const { pass, collections } = idling(300);
  pass(3, 8_000, 150);
  pass(50, 100);
  expect(collections()).toBe(1);
});

test("a process that works is left alone", () => {
  const { pass, collections, stop } = idling();
  pass(20, 600, 5);
  expect(collections()).toBe(0);
  stop.abort();
  pass(20, 0, -5);
  expect(collections()).toBe(0);
});

test("the engine collects when it is asked to", async () => {
  let look = () => {};
  let now = 0;
  const stop = new AbortController();
  // Much more than the tests beside this one may allocate meanwhile.
  const garbage = Array.from({ length: 1_200_000 }, (_, i) => ({ i }));
  let told = 0;
  const { heapUsed } = process.memoryUsage();
  collectWhenIdle({
    clock: { monotonic: () => now, after: (_ms, run) => (look = run, () => {}) },
    cpuMs: () => 0,
    // As if all of it had just come.
    heapUsed: () => (told++ === 0 ? 0 : 200 * MIB),
  }, stop.signal);
  garbage.length = 0;
  for (let i = 0; i < 4; i++) {
    now += 10_000;
    look();
  }
  // The engine marks a large heap in small steps.
  await expect.poll(() => process.memoryUsage().heapUsed, { timeout: 15_000 })
    .toBeLessThan(heapUsed - 12 * MIB);
});
