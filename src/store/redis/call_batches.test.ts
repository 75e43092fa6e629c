import { expect, test } from "vitest";
import { CallBatches } from "./call_batches.ts";

/** Waits until everything scheduled for the next turn of the event loop has run. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

test("what comes while a call is under way goes together with the next one", async () => {
  const calls: { requests: number[]; end: PromiseWithResolvers<number[]> }[] = [];
  const batches = new CallBatches<number, number>({ max: 3 }, (requests) => {
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

test("as many calls as may be are under way at the same time; each carries what came before it", async () => {
  const calls: { requests: number[]; end: PromiseWithResolvers<number[]> }[] = [];
  const call = (requests: number[]) => {
    const end = Promise.withResolvers<number[]>();
    calls.push({ requests, end });
    return end.promise;
  };
  const batches = new CallBatches<number, number>({ max: 3, maxCalls: 2 }, call);
  const results = [];
  for (const n of [1, 2, 3, 4]) {
    results.push(batches.add(n));
    await turn();
  }
  expect(calls.map(({ requests }) => requests)).toEqual([[1], [2]]);
  calls[1]?.end.resolve([20]);
  expect(await results[1]).toBe(20);
  await turn();
  expect(calls[2]?.requests).toEqual([3, 4]);
  calls[0]?.end.reject(new Error("down"));
  await expect(results[0]).rejects.toThrow("down");
  calls[2]?.end.resolve([30, 40]);
  expect(await Promise.all(results.slice(2))).toEqual([30, 40]);
});

test("enough of them begin before the turn ends, while another call may begin", async () => {
  const calls: number[][] = [];
  const ends: (() => void)[] = [];
  const bounds = { max: 3, maxCalls: 2, enough: 2 };
  const batches = new CallBatches<number, number>(bounds, (requests) => {
    calls.push(requests);
    return new Promise((resolve) => ends.push(() => resolve(requests)));
  });
  const results = [1, 2, 3, 4, 5, 6, 7].map((n) => batches.add(n));
  expect(calls).toEqual([[1, 2], [3, 4]]);
  await turn();
  expect(calls.length).toBe(2);
  ends[0]?.();
  await results[0];
  await turn();
  expect(calls.slice(2)).toEqual([[5, 6, 7]]);
  for (const end of ends) end();
  expect(await Promise.all(results)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  await turn();
  expect(calls.length).toBe(3);
  const last = batches.add(8);
  expect(calls.length).toBe(3);
  await turn();
  ends[3]?.();
  expect(await last).toBe(8);
});
