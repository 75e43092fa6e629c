import { beforeEach, expect, test } from "vitest";
import type { Lease } from "../store/port.ts";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { ActorCache } from "./actor_cache.ts";
import type { HotEntry } from "./hot_actor.ts";

const LEASE: Lease = { shard: 1, epoch: 1 };
/** Longer than what waits may stay beside the tenth. */
const LONG_MS = 20_000;

let clock: ManualClock;
beforeEach(() => void (clock = new ManualClock()));

function entry(id: string, weight: number, rests: boolean, isOver = false): HotEntry {
  const actor = {
    id,
    exists: () => true,
    receive: () => undefined,
    advance() {},
    take: () => ({ put: [], drop: [], effects: [], needs: [] }),
    weight: () => weight,
    rests: () => rests,
    isOver: () => isOver,
    isGrowing: () => false,
  };
  return { actor, version: "1" };
}

function touch(cache: ActorCache, id: string, weight: number, rests: boolean): void {
  if (cache.pin(id, LEASE) === undefined) cache.add(id, LEASE, entry(id, weight, rests));
  cache.unpin(id, LEASE);
}

function has(cache: ActorCache, id: string): boolean {
  const isThere = cache.pin(id, LEASE) !== undefined;
  if (isThere) cache.unpin(id, LEASE);
  return isThere;
}

test("what rests has a tenth of the room, whatever comes", async () => {
  const cache = new ActorCache(100, clock);
  for (let i = 0; i < 50; i++) touch(cache, `busy-${i}`, 1, false);
  for (let i = 0; i < 1_000; i++) touch(cache, `resting-${i}`, 1, true);
  expect(cache.size).toBe(100);
  await clock.advance(LONG_MS);
  expect(cache.size).toBe(60);
  expect(has(cache, "busy-0")).toBe(true);
  expect(has(cache, "resting-989")).toBe(false);
  expect(has(cache, "resting-990")).toBe(true);
});

test("a small one that waits stays for a while; a large one, and what is over, does not", async () => {
  const cache = new ActorCache(100, clock);
  for (let i = 0; i < 20; i++) touch(cache, `waiting-${i}`, 1, true);
  await clock.advance(10_000);
  for (let i = 0; i < 20; i++) cache.add(`over-${i}`, LEASE, entry(`over-${i}`, 1, true, true));
  for (let i = 0; i < 20; i++) cache.unpin(`over-${i}`, LEASE);
  expect(cache.size).toBe(30);
  touch(cache, "large", 11, true);
  touch(cache, "waiting-0", 1, true);
  expect(has(cache, "large")).toBe(false);
  expect(cache.size).toBe(20);
  await clock.advance(10_000);
  expect(cache.size).toBe(11);
  expect(has(cache, "waiting-0")).toBe(true);
});

test("one that waits for a lock stays for a while, whatever it weighs, within the limit", async () => {
  const cache = new ActorCache(100, clock);
  const waiter = entry("waiter", 60, true);
  cache.add("waiter", LEASE, { ...waiter, actor: { ...waiter.actor, awaitsLock: () => true } });
  cache.unpin("waiter", LEASE);
  touch(cache, "small", 1, true);
  expect(has(cache, "waiter")).toBe(true);
  await clock.advance(LONG_MS);
  expect(has(cache, "waiter")).toBe(false);
  cache.add("waiter", LEASE, { ...waiter, actor: { ...waiter.actor, awaitsLock: () => true } });
  cache.unpin("waiter", LEASE);
  for (let i = 0; i < 100; i++) touch(cache, `busy-${i}`, 1, false);
  expect(has(cache, "waiter")).toBe(false);
});

test("beyond the limit the longest untouched leave, those that rest first", () => {
  const cache = new ActorCache(100, clock);
  for (let i = 0; i < 5; i++) touch(cache, `resting-${i}`, 1, true);
  for (let i = 0; i < 101; i++) touch(cache, `busy-${i}`, 1, false);
  expect(cache.size).toBe(100);
  expect(has(cache, "resting-4")).toBe(false);
  expect(has(cache, "busy-0")).toBe(false);
  expect(has(cache, "busy-1")).toBe(true);
});

test("the last one touched stays, whatever it weighs; a pinned one too", () => {
  const cache = new ActorCache(100, clock);
  cache.add("pinned", LEASE, entry("pinned", 1, true));
  touch(cache, "large", 1_000, true);
  expect(has(cache, "large")).toBe(true);
  touch(cache, "small", 1, true);
  expect(has(cache, "large")).toBe(false);
  expect(cache.size).toBe(2);
  cache.unpin("pinned", LEASE);
  expect(has(cache, "pinned")).toBe(true);
});

test("an actor that begins to run moves to those that run", async () => {
  const cache = new ActorCache(100, clock);
  touch(cache, "one", 1, true);
  cache.add("one", LEASE, entry("one", 1, false));
  cache.unpin("one", LEASE);
  for (let i = 0; i < 1_000; i++) touch(cache, `resting-${i}`, 1, true);
  await clock.advance(LONG_MS);
  expect(has(cache, "one")).toBe(true);
  expect(cache.size).toBe(11);
});

test("one that must stay does, and takes no room from the others; later it is one of them", () => {
  let holder = "large";
  const cache = new ActorCache(100, clock, (id) => id === holder);
  touch(cache, "large", 1_000, false);
  for (let i = 0; i < 100; i++) touch(cache, `busy-${i}`, 1, false);
  expect(cache.size).toBe(101);
  expect(has(cache, "large")).toBe(true);
  expect(has(cache, "busy-0")).toBe(true);
  holder = "";
  touch(cache, "small", 1, false);
  touch(cache, "small", 1, false);
  expect(has(cache, "large")).toBe(false);
});
