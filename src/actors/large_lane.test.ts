import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { LargeLane } from "./large_lane.ts";

const LARGE = 1_000;
const lease = { shard: 1, epoch: 1 };

function world() {
  const clock = new ManualClock(0);
  const lane = new LargeLane(clock);
  /** A turn of so many ms, after which the actor goes on growing or not. */
  const turn = async (actor: string, ms: number, isGrowing = true, weight = LARGE) => {
    await clock.advance(ms);
    lane.note(actor, lease, weight, isGrowing);
  };
  return { clock, lane, turn };
}

test("small ones and those that do not grow never wait", async () => {
  const { lane, turn } = world();
  await turn("large", 10);
  await turn("small", 10, true, LARGE - 1);
  await turn("still", 10, false);
  expect(lane.waitOf("small")).toBe(0);
  expect(lane.waitOf("still")).toBe(0);
  expect(lane.waitOf("unknown")).toBe(0);
});

test("of the large ones, one grows until it has grown up", async () => {
  const { lane, turn } = world();
  await turn("a", 10);
  await turn("b", 10);
  expect(lane.waitOf("a")).toBe(0);
  expect(lane.waitOf("b")).toBeGreaterThan(0);
  await turn("a", 10, false);
  expect(lane.waitOf("b")).toBe(0);
});

test("one that is silent for too long loses the lane", async () => {
  const { clock, lane, turn } = world();
  await turn("a", 10);
  await turn("b", 10);
  await clock.advance(9_000);
  expect(lane.waitOf("b")).toBeGreaterThan(0);
  await clock.advance(2_000);
  expect(lane.waitOf("b")).toBe(0);
  expect(lane.waitOf("a")).toBeGreaterThan(0);
});

test("the lane is free when the lease of its holder is gone", async () => {
  const { lane, turn } = world();
  await turn("a", 10);
  lane.note("b", { shard: 2, epoch: 1 }, LARGE, true);
  lane.dropLease(lease);
  expect(lane.waitOf("b")).toBe(0);
});

test("it rests as long as its turn took while others are at work", async () => {
  const { clock, lane, turn } = world();
  await turn("a", 10);
  await turn("small", 1, false);
  expect(lane.waitOf("a")).toBe(0);
  await turn("a", 40);
  expect(lane.waitOf("a")).toBe(40);
  await clock.advance(30);
  expect(lane.waitOf("a")).toBe(10);
  await clock.advance(10);
  expect(lane.waitOf("a")).toBe(0);
});

test("it never rests when nobody else is at work", async () => {
  const { clock, lane, turn } = world();
  await turn("small", 1, false);
  await turn("a", 10);
  await clock.advance(1_000);
  expect(lane.waitOf("a")).toBe(0);
  await turn("a", 40);
  expect(lane.waitOf("a")).toBe(0);
});

test("no rest is longer than a second, however often it is given commands", async () => {
  const { lane, turn } = world();
  await turn("a", 10);
  for (let n = 0; n < 10; n++) {
    await turn("small", 1, false);
    await turn("a", 5_000);
    expect(lane.waitOf("a")).toBeLessThanOrEqual(1_000);
  }
});
