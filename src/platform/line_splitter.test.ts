import { expect, test } from "vitest";
import { leastProcessorMs } from "../../test/support/processor_time.ts";
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

test("a long line is not cut inside a character, and each piece says whether it goes on", () => {
  const splitter = new LineSplitter(8);
  const pieces: [string, boolean][] = [];
  for (const line of splitter.linesOf(Buffer.from("abcdefgüxyz\nshort\n12345678\n"))) {
    pieces.push([line, splitter.goesOn]);
  }
  expect(pieces).toEqual([["abcdefg", true], ["üxyz", false], ["short", false], [
    "12345678",
    false,
  ]]);
});

test("lines of any length are whole, however their bytes come", () => {
  const lines = ["", "a", "é".repeat(5_000), "x".repeat(9_999), "", "end"];
  const bytes = Buffer.from(lines.join("\n"));
  for (const length of [1, 3, 1_000, bytes.length]) {
    const splitter = new LineSplitter(10_000);
    const found: string[] = [];
    for (let at = 0; at < bytes.length; at += length) {
      found.push(...splitter.linesOf(bytes.subarray(at, at + length)));
    }
    expect([...found, splitter.takeRest()]).toEqual(lines);
  }
});

test("a long line that comes a little at a time takes no longer for that", () => {
  const read = () => {
    const splitter = new LineSplitter();
    const chunk = Buffer.alloc(512, "x");
    for (let bytes = 0; bytes < 4 * MIB; bytes += chunk.length) {
      for (const _ of splitter.linesOf(chunk));
    }
  };
  expect(leastProcessorMs(read, 200)).toBeLessThan(200);
});
