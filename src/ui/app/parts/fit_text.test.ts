import { expect, test } from "vitest";
import { fitFirst, fitText } from "./fit_text.ts";

/** Each letter is 10 px wide, a W 20. */
const measure = (text: string) =>
  [...text].reduce((sum, letter) => sum + (letter === "W" ? 20 : 10), 0);

test.each<[text: string, width: number, fitted: string]>([
  ["short", 50, "short"],
  ["an-extremely-long-name", 100, "an-ext…ame"],
  ["WWWWWWWWWW", 100, "WWW…W"],
  ["iiiiiiiiiiWWWWWWWWWW", 100, "iiiii…WW"],
  ["😀😀😀😀😀😀", 50, "😀😀😀…😀"],
  ["long", 20, "l…"],
  ["", 20, ""],
  ["W", 10, "…"],
])("%j in %i px is %j", (text, width, fitted) => {
  expect(fitText(text, width, measure)).toBe(fitted);
});

test("of several texts, the first one with room is taken; if none has room, the last one is shortened", () => {
  expect(fitFirst(["long text", "short"], 90, measure)).toBe("long text");
  expect(fitFirst(["long text", "short"], 50, measure)).toBe("short");
  expect(fitFirst(["long text", "short"], 40, measure)).toBe(fitText("short", 40, measure));
});
