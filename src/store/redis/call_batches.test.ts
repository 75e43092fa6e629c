import { expect, test } from "vitest";
import { CallBatches } from "./call_batches.ts";

/** Waits until everything scheduled for the next turn of the event loop has run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what comes while a call is under way goes together with the next one", async () => {
  const calls: { requests: number[]; end: PromiseWithResolvers<number[]> }[] = [];
  const batches = new CallBatches<number, number>(3, (requests) => {
    const end = Promise.withResolvers<number[]>();
    calls.push({ requests, end });
    return end.promise;
  });
  const first = [batches.add(1), batches.add(2)];
  await turn();
  const second = [3, 4, 5, 6].map((n) => batches.add(n));
  expect(calls.map(({ requests }) => requests)).toEqual([[1, 2]]);
  calls[0]?.end.resolve([10, 20]);
  expect(await Promise.all(first)).toEqual([10, 20]);
  await turn();
  expect(calls[1]?.requests).toEqual([3, 4, 5]);
  calls[1]?.end.reject(new Error("down"));
  for (const one of second) await expect(one).rejects.toThrow("down");
  const third = batches.add(7);
  await turn();
  calls[2]?.end.resolve([70]);
  expect(await third).toBe(70);
});
