import { expect, test } from "vitest";
import { TextLines } from "./text_lines.ts";

test("lines that come in chunks, and what is left of the last one", () => {
  const lines = new TextLines();
  const found = ["a", "b\n\nc", "d", "", "\n", "\ne\nf"].map((chunk) => lines.add(chunk));
  expect(found).toEqual([[], ["ab", ""], [], [], ["cd"], ["", "e"]]);
  expect(lines.rest).toBe("f");
});

test("what a long line costs grows with its length, not with the square of it", () => {
  const lines = new TextLines();
  const chunk = "x".repeat(2 ** 16);
  for (let count = 0; count < 2 ** 10; count++) expect(lines.add(chunk)).toEqual([]);
  const [line] = lines.add("y\n");
  expect([line?.length, line?.at(-1), lines.rest]).toEqual([2 ** 26 + 1, "y", ""]);
});
