import { expect, test } from "vitest";
import { sharedRead } from "./shared_read.ts";

test("those who ask while a read is under way, or soon after, get its answer", async () => {
  let at = 0;
  let reads = 0;
  const first = Promise.withResolvers<string>();
  const ask = sharedRead(
    () => ++reads === 1 ? first.promise : Promise.resolve(`answer ${reads}`),
    1_000,
    { monotonic: () => at },
  );
  const early = [ask(), ask()];
  at = 5_000;
  early.push(ask());
  first.resolve("answer 1");
  expect(await Promise.all(early)).toEqual(["answer 1", "answer 1", "answer 1"]);
  at = 5_999;
  expect(await ask()).toBe("answer 1");
  at = 6_000;
  expect(await ask()).toBe("answer 2");
  expect(reads).toBe(2);
});

test("a failure is not kept", async () => {
  let reads = 0;
  const ask = sharedRead(
    () => ++reads === 1 ? Promise.reject(new Error("gone")) : Promise.resolve("back"),
    1_000,
    { monotonic: () => 0 },
  );
  await expect(ask()).rejects.toThrow("gone");
  expect(await ask()).toBe("back");
});
