import { expect, test } from "vitest";
import { BoundedCache } from "./bounded_cache.ts";

test("forgets what was used longest ago when it is full", () => {
  const cache = new BoundedCache<string, number>(2);
  cache.set("a", 1);
  cache.set("b", 2);
  expect(cache.get("a")).toBe(1);
  expect(cache.set("c", 3)).toBe(3);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([1, undefined, 3]);
  expect(cache.size).toBe(2);
});

test("an entry that is replaced or removed makes room", () => {
  const cache = new BoundedCache<string, number>(2);
  cache.set("a", 1);
  cache.set("a", 2);
  cache.set("b", 3);
  expect(cache.get("a")).toBe(2);
  cache.delete("b");
  cache.delete("nothing");
  cache.set("c", 4);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([2, undefined, 4]);
});

test("entries may have a weight; one that is too heavy alone is not kept", () => {
  const cache = new BoundedCache<string, number>(5, (key) => key.length);
  cache.set("aa", 1);
  cache.set("bbb", 2);
  cache.set("c", 3);
  expect([cache.get("aa"), cache.get("bbb"), cache.get("c")]).toEqual([undefined, 2, 3]);
  cache.set("too heavy", 4);
  expect(cache.size).toBe(0);
});

test("an entry that is used twice in a row, then removed, is like a new one when it comes again", () => {
  const cache = new BoundedCache<string, number>(2);
  cache.set("a", 1);
  cache.set("b", 2);
  expect([cache.get("a"), cache.get("a")]).toEqual([1, 1]);
  cache.delete("a");
  expect(cache.get("a")).toBeUndefined();
  cache.set("a", 3);
  cache.set("c", 4);
  expect([cache.get("a"), cache.get("b"), cache.get("c")]).toEqual([3, undefined, 4]);
});
