import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { Budget } from "./budget.ts";

const MIB = 1024 * 1024;

test("bytes are counted up to the bound, entries up to theirs", async () => {
  const budget = new Budget(10);
  budget.take(10);
  expect(() => budget.take(1)).toThrow("it has more than 10 bytes; --max-artifact-bytes sets");
  const bytes = async function* () {
    yield new Uint8Array(8);
    yield new Uint8Array(8);
  };
  await expect(buffer(new Budget(10).count(bytes()))).rejects.toThrow(
    "more than 10 bytes",
  );
  const many = new Budget(10);
  for (let entry = 0; entry < 200_000; entry++) many.takeEntry();
  expect(() => many.takeEntry()).toThrow("more than 200000 entries");
});

test("what unpacks to very much more than it was is refused, unless it is small", () => {
  const small = new Budget(1024 * MIB);
  small.take(64 * MIB);
  small.checkRatio(1);
  small.take(1);
  expect(() => small.checkRatio(1)).toThrow("more than 200 times as large");
  small.checkRatio(MIB);
});
