import { setImmediate } from "node:timers";
import { expect, test } from "vitest";
import { Turns } from "./turns.ts";

/** Keeps the thread busy. */
function work(ms: number): void {
  const begun = performance.now();
  while (performance.now() - begun < ms);
}

/** How often a timer gets its turn while this runs. */
async function ticksDuring(run: () => Promise<unknown>): Promise<number> {
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  await run();
  clearInterval(timer);
  return ticks;
}

test("many works that begin together share one turn of the event loop", async () => {
  let done = 0;
  const one = async () => {
    const turns = new Turns();
    for (let piece = 0; piece < 3; piece++) {
      await turns.pause();
      await turns.run(steps());
    }
    done++;
  };
  function* steps() {
    work(5);
    yield;
  }
  const ticks = await ticksDuring(() => Promise.all(Array.from({ length: 40 }, one)));
  expect(done).toBe(40);
  // All of it takes 600 ms.
  expect(ticks).toBeGreaterThan(10);
});

test("short works that begin together wait for their turn before their first step", async () => {
  function* steps() {
    work(5);
    yield;
    return 1;
  }
  const ticks = await ticksDuring(async () => {
    const results = await Promise.all(
      Array.from({ length: 80 }, () => new Turns().run(steps())),
    );
    expect(results).toHaveLength(80);
  });
  // All of it takes 400 ms.
  expect(ticks).toBeGreaterThan(6);
});

test("works go on in the order in which they paused", async () => {
  work(1);
  const order: number[] = [];
  await Promise.all([1, 2, 3].map(async (name) => {
    const turns = new Turns();
    await turns.pause();
    work(25);
    await turns.pause();
    order.push(name);
  }));
  expect(order).toEqual([1, 2, 3]);
});

test("works that wait are not held up by other work that takes long in each turn of the loop", async () => {
  let isOver = false;
  let turns = 0;
  const busy = () => {
    turns++;
    work(25);
    if (!isOver) setImmediate(busy);
  };
  setImmediate(busy);
  const short = async () => {
    await new Turns().pause();
    await new Turns().do(() => work(0.1));
  };
  await Promise.all(Array.from({ length: 100 }, async (_, number) => {
    // They come in different turns.
    await new Promise((resolve) => setTimeout(resolve, number % 10));
    await short();
  }));
  isOver = true;
  expect(turns).toBeLessThan(20);
});

test("of works that wait, no more than a turn go on together", async () => {
  const ticks = await ticksDuring(() =>
    Promise.all(Array.from({ length: 50 }, async () => {
      const turns = new Turns();
      await turns.pause();
      // As a store answers that is on this machine.
      for (let hop = 0; hop < 5; hop++) await undefined;
      await turns.do(() => work(5));
      work(5);
    }))
  );
  // All of it takes 500 ms.
  expect(ticks).toBeGreaterThan(8);
});

/** What was done, in order, by works that begin together: each wants so many pieces of 25 ms. */
async function orderOf(
  works: { name: string; lane?: string; pieces: number }[],
): Promise<string[]> {
  const order: string[] = [];
  await Promise.all(works.map(async ({ name, lane, pieces }) => {
    const turns = new Turns(lane);
    for (let piece = 0; piece < pieces; piece++) {
      await turns.do(() => {
        work(25);
        order.push(name);
      });
    }
  }));
  return order;
}

test("a request does not wait until hundreds of other works have had their turn", async () => {
  const events = Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, lane: "ns", pieces: 2 }));
  const order = await orderOf([...events, { name: "read", pieces: 3 }]);
  expect(order).toHaveLength(43);
  expect(order.lastIndexOf("read")).toBeLessThan(9);
});

test("requests do not keep other works from their turn", async () => {
  const reads = Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, pieces: 2 }));
  const order = await orderOf([...reads, { name: "event", lane: "ns", pieces: 3 }]);
  expect(order.lastIndexOf("event")).toBeLessThan(9);
});

test("works of one lane do not wait until many of another have had their turn", async () => {
  const many = Array.from({ length: 20 }, (_, i) => ({ name: `${i}`, lane: "many", pieces: 2 }));
  const order = await orderOf([...many, { name: "one", lane: "one", pieces: 3 }]);
  expect(order.lastIndexOf("one")).toBeLessThan(9);
});
