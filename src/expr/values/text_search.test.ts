import fc from "fast-check";
import { expect, test } from "vitest";
import { indexOfText, lastIndexOfText, splitText } from "./text_search.ts";

/** Texts in which long parts occur, or nearly do. */
const few = (maxLength: number) => fc.string({ unit: fc.constantFrom("a", "b"), maxLength });
const repeated = fc.tuple(few(6), fc.nat(40), few(20)).map(([one, times, rest]) =>
  one.repeat(times) + rest
);

test("the searches find what those of the runtime find", () => {
  fc.assert(fc.property(repeated, repeated, fc.nat(50), (text, part, from) => {
    expect(indexOfText(text, part, from)).toBe(text.indexOf(part, from));
    expect(lastIndexOfText(text, part)).toBe(text.lastIndexOf(part));
    expect(splitText(text, part)).toEqual(text.split(part));
    const around = part + text + part + part;
    expect(indexOfText(around, part, from)).toBe(around.indexOf(part, from));
    expect(lastIndexOfText(around, part)).toBe(around.lastIndexOf(part));
    expect(splitText(around, part)).toEqual(around.split(part));
  }));
});
