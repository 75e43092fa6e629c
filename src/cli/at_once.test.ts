import { expect, test } from "vitest";
import { inOrder } from "./at_once.ts";

test("inOrder() makes no more calls at a time than allowed, and yields in the order of the items", async () => {
  const ends = new Map<number, () => void>();
  const begun: number[] = [];
  const results = inOrder([1, 2, 3, 4], 2, (item) => {
    begun.push(item);
    return new Promise<string>((resolve) => ends.set(item, () => resolve(`done ${item}`)));
  });
  const first = results.next();
  expect(begun).toEqual([1, 2]);
  ends.get(2)?.();
  ends.get(1)?.();
  expect((await first).value).toBe("done 1");
  const second = results.next();
  expect((await second).value).toBe("done 2");
  expect(begun).toEqual([1, 2, 3]);
  const third = results.next();
  ends.get(3)?.();
  expect((await third).value).toBe("done 3");
  const fourth = results.next();
  await Promise.resolve();
  ends.get(4)?.();
  expect(await fourth).toEqual({ done: false, value: "done 4" });
  expect((await results.next()).done).toBe(true);
});

test("inOrder() throws at the item that failed and begins no more", async () => {
  const begun: number[] = [];
  const seen: number[] = [];
  const run = async () => {
    const results = inOrder([1, 2, 3, 4, 5], 2, (item) => {
      begun.push(item);
      return item >= 2 ? Promise.reject(new Error(`no ${item}`)) : Promise.resolve(item);
    });
    for await (const item of results) seen.push(item);
  };
  await expect(run()).rejects.toThrow("no 2");
  expect(seen).toEqual([1]);
  expect(begun).toEqual([1, 2, 3]);
});
