import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runToEnd } from "../../../base/steps.ts";
import { NAME_CODE, PHRASES } from "./phrases.ts";
import {
  NAMELESS,
  type Shortening,
  shorteningOf,
  shortKey,
  shortParts,
  shortText,
  wholeKey,
  wholePartsSteps,
  wholeText,
} from "./short_texts.ts";

const how = shorteningOf(3, "wf/core/job-77") ?? NAMELESS;
const NODE = JSON.stringify({
  schema: 2,
  id: "job-77-124260039",
  name: "job-77[1].wait",
  displayName: "wait",
  role: "member",
  order: 4,
  owner: "job-77-2527168040",
  boundary: "job-77",
  step: "wait",
  parents: ["job-77-2527168040"],
  templateName: "wait",
  templateScope: "local/",
  inputs: { parameters: [{ name: "uuid", value: "job-77" }] },
  type: "Suspend",
  phase: "Running",
  startedAt: 1795463972344,
  progress: "0/1",
});

/** Texts that are full of phrases, codes, names and characters that mean something to searches. */
const words = [
  ...PHRASES,
  "job-77",
  NAME_CODE,
  "\x01",
  "\x03",
  "\x1f",
  "\x1f0",
  "\x00",
  "$&",
  "$1",
  "%1",
  "ü",
  "\ud83d",
];
const anyText = fc.array(fc.oneof(fc.constantFrom(...words), fc.string())).map((all) =>
  all.join("")
);
const anyHow: fc.Arbitrary<Shortening> = fc.oneof(
  fc.constant(how),
  fc.constant(NAMELESS),
  fc.oneof(fc.string(), fc.constantFrom("$&$&", "own", '":"', "Running", "schema")).map((name) =>
    shorteningOf(3, `wf/core/${name}`) ?? NAMELESS
  ),
);

test("every text and key becomes again what it was", () => {
  fc.assert(fc.property(anyText, anyHow, (text, how) => {
    expect(wholeText(shortText(text, how), how)).toBe(text);
    const key = `n:${text}`;
    expect(wholeKey(shortKey(key, how), how)).toBe(key);
    const parts = { h: text, s: text, [key]: text };
    expect(runToEnd(wholePartsSteps(shortParts(parts, how), how))).toEqual(parts);
  }));
});

test("a text of any length and of any characters becomes again what it was", () => {
  for (const piece of [NODE, "x", "ü", "\u4e2d", '\u4e2d"', `"job-77\u4e2d"`]) {
    const text = piece.repeat(70_000 / piece.length);
    for (const one of [text, `${text}\x02`, `${text}"\x02"${NODE}`]) {
      expect(wholeText(shortText(one, how), how)).toBe(one);
    }
  }
});

test("two keys stay two", () => {
  const rest = fc.constantFrom(
    "job-77-1",
    `${NAME_CODE}-1`,
    "\x01job-77-1",
    `\x01${NAME_CODE}-1`,
    "-1",
  );
  fc.assert(fc.property(rest, rest, anyHow, (one, two, how) => {
    expect(shortKey(`n:${one}`, how) === shortKey(`n:${two}`, how)).toBe(one === two);
  }));
});

test("a node needs less than a quarter of its characters, and none of them was in JSON", () => {
  const short = shortText(NODE, how);
  expect(short.length).toBeLessThan(NODE.length / 4);
  expect(shortKey("n:job-77-124260039", how)).toBe(`n:${NAME_CODE}-124260039`);
  // deno-lint-ignore no-control-regex -- these are the codes
  expect(short).toMatch(/[\x02-\x1f]/);
});

test("texts of earlier layouts stay as they are", () => {
  expect(shorteningOf(2, "wf/core/job-77")).toBeUndefined();
});

test("the list of phrases is that of layout 3", () => {
  expect(new Set(PHRASES).size).toBe(PHRASES.length);
  const digest = createHash("sha256").update(JSON.stringify(PHRASES)).digest("hex");
  expect(digest.slice(0, 16)).toBe("dc7caee0b091d953");
});
