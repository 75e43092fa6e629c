import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import type { Clock } from "./clock.ts";
import { SharedClock } from "./shared_clock.ts";

const HOUR_MS = 3_600_000;

/** A machine whose time of day is off, and the true time. */
function machine(shift: () => number): { own: Clock; truth: ManualClock } {
  const truth = new ManualClock();
  const own: Clock = {
    now: () => truth.now() + shift(),
    monotonic: () => truth.monotonic() - 7,
    after: (...args) => truth.after(...args),
    sleep: (...args) => truth.sleep(...args),
  };
  return { own, truth };
}

test("shows the time that it was told, carried on, whatever the machine's own is set to", async () => {
  let shift = HOUR_MS;
  const { own, truth } = machine(() => shift);
  const clock = new SharedClock(own, () => Promise.resolve(truth.now()));
  expect(clock.now()).toBe(truth.now() + HOUR_MS);
  await clock.look();
  expect(clock.now()).toBe(truth.now());
  shift = -HOUR_MS;
  await truth.advance(5_000);
  expect(clock.now()).toBe(truth.now());
});

test("an answer that took long sets it only when it can't be right; it is never ahead", async () => {
  const { own, truth } = machine(() => 300);
  let wayMs = 400;
  let step = 0;
  const clock = new SharedClock(own, async () => {
    await truth.sleep(wayMs);
    const now = truth.now() + step;
    await truth.sleep(wayMs);
    return now;
  });
  const look = async () => {
    const looking = clock.look();
    await truth.advance(wayMs);
    await truth.advance(wayMs);
    await looking;
    return clock.now() - truth.now();
  };
  expect(await look()).toBe(-400);
  wayMs = 10;
  expect(await look()).toBe(-10);
  wayMs = 400;
  expect(await look()).toBe(-10);
  step = 10_000;
  expect(await look()).toBe(10_000 - 400);
  step = -10_000;
  expect(await look()).toBe(-10_000 - 400);
});

test("follows until it is told to stop, also over answers that fail", async () => {
  const { own, truth } = machine(() => HOUR_MS);
  let asked = 0;
  const clock = new SharedClock(own, () => {
    asked++;
    return asked < 3 ? Promise.reject(new Error("away")) : Promise.resolve(truth.now());
  });
  const stop = new AbortController();
  const following = clock.follow(stop.signal);
  await truth.advance(0);
  expect(clock.now()).toBe(truth.now() + HOUR_MS);
  await truth.advance(2_500);
  expect(asked).toBe(3);
  expect(clock.now()).toBe(truth.now());
  stop.abort();
  await following;
  await truth.advance(5_000);
  expect(asked).toBe(3);
});

test("does not ask while it hears the time anyway", async () => {
  const { own, truth } = machine(() => HOUR_MS);
  let asked = 0;
  const clock = new SharedClock(own, () => Promise.resolve(truth.now() + 0 * ++asked));
  const stop = new AbortController();
  const following = clock.follow(stop.signal);
  await truth.advance(0);
  for (let second = 0; second < 10; second++) {
    await truth.advance(1_000);
    clock.hear(truth.now(), clock.monotonic());
  }
  expect(asked).toBe(1);
  await truth.advance(3_000);
  expect(asked).toBeGreaterThan(1);
  stop.abort();
  await following;
});

test("what it hears sets it", () => {
  const { own, truth } = machine(() => HOUR_MS);
  const clock = new SharedClock(own, () => Promise.reject(new Error("away")));
  clock.hear(truth.now(), clock.monotonic());
  expect(clock.now()).toBe(truth.now());
});
