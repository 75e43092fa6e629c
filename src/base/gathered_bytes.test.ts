import { expect, test } from "vitest";
import { GatheredBytes } from "./gathered_bytes.ts";

test("pieces of any size come out as they came in, and stay as they were", () => {
  for (const sizes of [[], [0], [3], [0, 2, 0], [1, 1, 1, 1, 1], [5, 1, 100, 0, 7]]) {
    const pieces = sizes.map((size, at) => new Uint8Array(size).fill(at + 1));
    const gathered = new GatheredBytes();
    for (const piece of pieces) gathered.add(piece);
    expect(gathered.length).toBe(sizes.reduce((sum, size) => sum + size, 0));
    expect([...gathered.bytes]).toEqual(pieces.flatMap((piece) => [...piece]));
    expect(pieces).toEqual(sizes.map((size, at) => new Uint8Array(size).fill(at + 1)));
  }
});
