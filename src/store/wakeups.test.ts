import { expect, test } from "vitest";
import { type WaitClock, Wakeups } from "./wakeups.ts";

/** A clock that is moved by hand. It says how many timers it has. */
class HandClock implements WaitClock {
  #now = 0;
  readonly timers = new Set<{ at: number; run: () => void }>();

  monotonic(): number {
    return this.#now;
  }

  after(ms: number, run: () => void): () => void {
    const timer = { at: this.#now + ms, run };
    this.timers.add(timer);
    return () => void this.timers.delete(timer);
  }

  pass(ms: number): void {
    this.#now += ms;
    for (const timer of [...this.timers]) {
      if (timer.at > this.#now) continue;
      this.timers.delete(timer);
      timer.run();
    }
  }
}

test("waits of any length share a timer, and each ends at its time, when it is woken, or by its signal", async () => {
  const clock = new HandClock();
  const wakeups = new Wakeups(clock);
  const one = new AbortController();
  const other = new AbortController();
  const ended: string[] = [];
  const wait = (name: string, topics: string[], ms: number, { signal }: AbortController) =>
    void wakeups.wait(topics, ms, signal).then(() => ended.push(name));
  const endedNow = async () => {
    await new Promise((resolve) => setTimeout(resolve));
    return ended.splice(0);
  };
  wait("long", ["a"], 100, one);
  wait("short", ["a", "b"], 10, one);
  wait("other", ["b"], 50, other);
  expect(clock.timers.size).toBe(1);
  clock.pass(9);
  expect(await endedNow()).toEqual([]);
  clock.pass(1);
  expect(await endedNow()).toEqual(["short"]);
  expect(wakeups.wakeOne("b")).toBe(true);
  expect(wakeups.wakeOne("b")).toBe(false);
  expect(await endedNow()).toEqual(["other"]);
  wait("again", ["b"], 50, other);
  one.abort();
  expect(await endedNow()).toEqual(["long"]);
  clock.pass(49);
  expect(await endedNow()).toEqual([]);
  clock.pass(1);
  expect(await endedNow()).toEqual(["again"]);
  expect(clock.timers.size).toBe(0);
});

test("a long wait ends at a beat, together with others that are about as long", async () => {
  const clock = new HandClock();
  const wakeups = new Wakeups(clock);
  const { signal } = new AbortController();
  clock.pass(30);
  let ended = 0;
  for (const ms of [990, 1_000, 1_010]) void wakeups.wait(["a"], ms, signal).then(() => ended++);
  expect([...clock.timers].map(({ at }) => at)).toEqual([1_000]);
  clock.pass(970);
  await new Promise((resolve) => setTimeout(resolve));
  expect(ended).toBe(3);
});
