import { expect, test } from "vitest";
import { LineSplitter } from "./line_splitter.ts";

const MIB = 1024 * 1024;

test("lines that come in pieces, and the last one without an end", () => {
  const splitter = new LineSplitter();
  const lines = ["a", "b\n\nc", "é\nd"].flatMap((text) => [...splitter.linesOf(Buffer.from(text))]);
  expect(lines).toEqual(["ab", "", "cé"]);
  expect(splitter.takeRest()).toBe("d");
  expect(splitter.takeRest()).toBeUndefined();
});

test("a long line is given in pieces", () => {
  const splitter = new LineSplitter();
  const chunk = Buffer.alloc(MIB / 2, "x");
  const lengths = [chunk, chunk, chunk, Buffer.from("\ny\n")].flatMap((bytes) =>
    [...splitter.linesOf(bytes)].map((line) => line.length)
  );
  expect(lengths).toEqual([MIB, MIB / 2, 1]);
});
