import { expect, test } from "vitest";
import { sharedCall } from "./shared_call.ts";

test("who asks while a call is under way gets the answer of the next one, shared", async () => {
  const calls: PromiseWithResolvers<number>[] = [];
  const ask = sharedCall(() => {
    const call = Promise.withResolvers<number>();
    calls.push(call);
    return call.promise;
  });
  const [a, b] = [ask(), ask()];
  await Promise.resolve().then().then();
  expect(calls.length).toBe(1);
  const [c, d] = [ask(), ask()];
  calls[0]?.resolve(1);
  expect(await Promise.all([a, b])).toEqual([1, 1]);
  await Promise.resolve().then().then();
  expect(calls.length).toBe(2);
  calls[1]?.reject(new Error("down"));
  await expect(c).rejects.toThrow("down");
  await expect(d).rejects.toThrow("down");
  const e = ask();
  await Promise.resolve().then().then();
  calls[2]?.resolve(3);
  expect(await e).toBe(3);
  const f = ask();
  await Promise.resolve().then().then();
  const g = ask();
  calls[3]?.reject(new Error("down again"));
  await expect(f).rejects.toThrow("down again");
  await expect(g).rejects.toThrow("down again");
  expect(calls.length).toBe(4);
  const h = ask();
  await Promise.resolve().then().then();
  calls[4]?.resolve(5);
  expect(await h).toBe(5);
});
