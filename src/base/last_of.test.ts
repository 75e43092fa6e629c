import { expect, test } from "vitest";
import { lastOf } from "./last_of.ts";

/** Reads the last of some texts; tells how often they were read. */
async function last(texts: readonly string[], count: number) {
  let reads = 0;
  async function* read() {
    reads++;
    yield* texts;
  }
  const found: string[] = [];
  for await (const text of lastOf(read, count, ({ length }) => length)) found.push(text);
  return { found, reads };
}

const texts = Array.from({ length: 10_000 }, (_, at) => `line ${at}`);

test.each([0, 1, 7, 9_999, 10_000, 20_000])("the last %i are read once", async (count) => {
  const wanted = count === 0 ? [] : texts.slice(-count);
  expect(await last(texts, count)).toEqual({ found: wanted, reads: 1 });
});

test("those that are too large to be kept are read again", async () => {
  const large = Array.from({ length: 5 }, (_, at) => String(at).repeat(2 ** 19));
  expect(await last([...texts, ...large], 4)).toEqual({ found: large.slice(1), reads: 2 });
  expect(await last(large, 1)).toEqual({ found: large.slice(4), reads: 1 });
});
