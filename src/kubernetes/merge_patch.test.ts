import { expect, test } from "vitest";
import type { JsonObject } from "../base/json.ts";
import { mergePatch } from "./merge_patch.ts";

const ROWS: [before: JsonObject, after: JsonObject, patch: JsonObject | undefined][] = [
  [{}, {}, undefined],
  [{ a: 1 }, { a: 1 }, undefined],
  [{ a: { x: 1, y: [1, 2] } }, { a: { y: [1, 2], x: 1 } }, undefined],
  [{ a: 1 }, {}, { a: null }],
  [{}, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, { a: { c: 3 } }],
  [{ a: { b: 1, c: 2 } }, { a: { b: 1 } }, { a: { c: null } }],
  [{ a: [{ n: 1 }, { n: 2 }] }, { a: [{ n: 1 }] }, { a: [{ n: 1 }] }],
  [{ a: [1] }, { a: { b: 1 } }, { a: { b: 1 } }],
  [{ a: "1" }, { a: 1 }, { a: 1 }],
];

test("mergePatch() holds what differs and nothing else", () => {
  for (const [before, after, patch] of ROWS) expect(mergePatch(before, after)).toEqual(patch);
});
