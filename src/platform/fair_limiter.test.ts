import process from "node:process";
import fc from "fast-check";
import { expect, test } from "vitest";
import { FairLimiter } from "./fair_limiter.ts";

/** Begins work that lasts until it is told to end. */
function worker(limiter: FairLimiter) {
  const running: string[] = [];
  const ends = new Map<string, (() => void)[]>();
  return {
    running,
    count: (name: string) => running.filter((one) => one === name).length,
    async begin(name: string, signal?: AbortSignal) {
      await limiter.run(name, () => {
        running.push(name);
        return new Promise<void>((resolve) => {
          ends.set(name, [...ends.get(name) ?? [], resolve]);
        });
      }, signal);
    },
    async end(name: string) {
      const [first, ...rest] = ends.get(name) ?? [];
      ends.set(name, rest);
      if (first === undefined) return;
      running.splice(running.indexOf(name), 1);
      first();
      await settled();
    },
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test("one alone has three quarters, and whoever comes next finds a place", async () => {
  const work = worker(new FairLimiter(256));
  for (let index = 0; index < 10_000; index++) void work.begin("a");
  await settled();
  expect(work.count("a")).toBe(192);
  for (const name of ["b", "c", "d"]) {
    for (let index = 0; index < 300; index++) void work.begin(name);
    await settled();
    expect(work.count(name)).toBeGreaterThan(0);
  }
  expect([work.count("b"), work.count("c"), work.count("d")]).toEqual([48, 12, 3]);
  void work.begin("e");
  await settled();
  expect(work.count("e")).toBe(1);
});

test("a small one gives all its places to one who is alone", async () => {
  for (const limit of [1, 2, 3]) {
    const work = worker(new FairLimiter(limit));
    for (let index = 0; index < 5; index++) void work.begin("a");
    await settled();
    expect(work.count("a")).toBe(limit);
  }
});

test("those who wait get their turn one after the other", async () => {
  const limiter = new FairLimiter(1);
  const order: string[] = [];
  const all = ["a", "a", "a", "a", "b", "b", "c"].map((name) =>
    limiter.run(name, async () => {
      order.push(name);
      await settled();
    })
  );
  await Promise.all(all);
  expect(order.join("")).toBe("aabcaba");
});

test("who gives up waiting holds no place, and leaves the others in their order", async () => {
  const limiter = new FairLimiter(1);
  const work = worker(limiter);
  void work.begin("a");
  const stop = new AbortController();
  const given = work.begin("b", stop.signal).catch((error) => String(error));
  void work.begin("b");
  await settled();
  stop.abort("enough");
  expect(await given).toBe("enough");
  await work.end("a");
  expect(work.running).toEqual(["b"]);
  expect(await work.begin("c", stop.signal).catch((error) => String(error))).toBe("enough");
  await work.end("b");
  expect(limiter.isFull("x")).toBe(false);
});

test("whatever happens: never more than the limit, nobody over their share, no place is lost", async () => {
  const step = fc.record({
    act: fc.constantFrom("begin", "begin", "end", "stop"),
    name: fc.constantFrom("a", "b", "c", "d"),
  });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.array(step), async (limit, steps) => {
      const limiter = new FairLimiter(limit);
      const work = worker(limiter);
      const stops: AbortController[] = [];
      for (const { act, name } of steps) {
        if (act === "begin") {
          const stop = new AbortController();
          stops.push(stop);
          work.begin(name, stop.signal).catch(() => {});
        } else if (act === "end") await work.end(name);
        else stops.shift()?.abort();
        await settled();
        expect(work.running.length).toBeLessThanOrEqual(limit);
        const isNewServed = work.running.length === limit || !limiter.isFull("new");
        expect(isNewServed).toBe(true);
      }
      for (const stop of stops) stop.abort();
      while (work.running.length > 0) await work.end(work.running[0] ?? "");
      for (let index = 0; index < limit; index++) void work.begin(`own ${index}`);
      await settled();
      expect(work.running.length).toBe(limit);
    }),
    { numRuns: 300 },
  );
});

test("a hundred thousand that wait cost little each", async () => {
  const limiter = new FairLimiter(16);
  let done = 0;
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: 100_000 }, (_, index) =>
      limiter.run(`ns-${index % 500}`, () => {
        done++;
        return Promise.resolve();
      })),
  );
  const { user, system } = process.cpuUsage(before);
  expect(done).toBe(100_000);
  expect((user + system) / 1000).toBeLessThan(5_000);
});
