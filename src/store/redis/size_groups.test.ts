import { expect, test } from "vitest";
import { inSizeGroups } from "./size_groups.ts";

/** Reads texts of one length; tells how many are read together. */
async function groupsOf(count: number, length: number): Promise<number[]> {
  const groups: number[] = [];
  const things = Array.from({ length: count }, (_, index) => index);
  const read = (group: number[]) => {
    groups.push(group.length);
    return Promise.resolve(group.map((one) => [String(one), "x".repeat(length)]));
  };
  const found: unknown[] = [];
  for await (const [one] of inSizeGroups(things, read)) found.push(one);
  expect(found).toEqual(things.map(String));
  return groups;
}

test("small texts are read together, large ones one at a time", async () => {
  expect(await groupsOf(200, 1_000)).toEqual([8, 192]);
  expect(await groupsOf(12, 2_000_000)).toEqual([8, 1, 1, 1, 1]);
  expect(await groupsOf(100, 0)).toEqual([8, 92]);
  expect(await groupsOf(0, 0)).toEqual([]);
});

test("after a large text, small ones come together again", async () => {
  const groups: number[] = [];
  const lengths = [...Array(8).fill(2_000_000), 10, ...Array(100).fill(10)];
  const read = (group: number[]) => {
    groups.push(group.length);
    return Promise.resolve(group.map((length) => "x".repeat(length)));
  };
  for await (const _ of inSizeGroups(lengths, read));
  expect(groups).toEqual([8, 1, 100]);
});

test("a group ends where it is whole", async () => {
  const groups: number[][] = [];
  const read = (group: number[]) => {
    groups.push(group);
    return Promise.resolve(group);
  };
  const isWhole = (group: readonly number[], next: number) =>
    group.reduce((sum, one) => sum + one, next) > 5;
  for await (const _ of inSizeGroups([1, 2, 3, 4, 9, 1], read, isWhole));
  expect(groups).toEqual([[1, 2], [3], [4], [9], [1]]);
});
