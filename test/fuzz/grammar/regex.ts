/** Regular expressions, with what makes their programs large and their runs long: counts in counts, wide alternations. */
import fc from "fast-check";
import { shortText } from "./texts.ts";

const ATOMS: readonly string[] = [
  ...[
    "a",
    "b",
    "ab",
    ".",
    "\\w",
    "\\d",
    "\\s",
    "[a-c]",
    "[^b]",
    "\\pL",
    "\\p{Greek}",
    "[[:alpha:]]",
  ],
  ...[
    "\\x{10ffff}",
    "é",
    "\\b",
    "^",
    "$",
    "\\Q..\\E",
    "(?i)",
    "(?s).",
    "(?U)",
    "\\1",
    "(?=a)",
    "\\z",
  ],
];
const COUNTS: readonly string[] = [
  ...["*", "+", "?", "*?", "+?", "{2}", "{3,}", "{1,5}", "{0,40}", "{500}", "{1000}", "{0,1000}"],
  ...["{1001}", "{99999}", "**", "{,3}"],
];

/** A regular expression, valid as a rule. */
export const regex: fc.Arbitrary<string> = fc.letrec<{ regex: string }>((tie) => ({
  regex: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 5, arbitrary: fc.constantFrom(...ATOMS) },
    { weight: 1, arbitrary: shortText },
    {
      weight: 3,
      arbitrary: fc.array(tie("regex"), { minLength: 1, maxLength: 3 }).map((all) => all.join("")),
    },
    {
      weight: 3,
      arbitrary: fc.array(tie("regex"), { minLength: 1, maxLength: 4 })
        .map((all) => `(${all.join("|")})`),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(tie("regex"), fc.constantFrom(...COUNTS))
        .map(([one, count]) => `(${one})${count}`),
    },
    { weight: 1, arbitrary: tie("regex").map((one) => `(?:${one})$`) },
    { weight: 1, arbitrary: tie("regex").map((one) => `(${one}`) },
  ),
})).regex;
