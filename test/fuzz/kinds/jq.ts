/** jq filters over an object of the cluster. */
import fc from "fast-check";
import { readJq } from "../../../src/executors/resource/jq.ts";
import { JqError } from "../../../src/executors/resource/jq_values.ts";
import { type DocumentInput, documentInput, documentOf } from "../grammar/documents.ts";
import { regex } from "../grammar/regex.ts";
import { OBJECT_NAMES, shortText, wholeNumber } from "../grammar/texts.ts";
import { EXPRESSION_BLOCK_MS, type FuzzKind } from "../kind.ts";
import { joinPieces, type Piece, times } from "../pieces.ts";

const PATHS = [
  ...[".", "..", ".[]", ".[]?", ".metadata", ".status", ".status.text", ".status.conditions[]"],
  ...[".status.counts", ".text", ".a", ".status.json", ".[0]", ".[1:]", ".status.counts[-1]", "$x"],
  ...OBJECT_NAMES.map((name) => `.${name}`),
];
const PLAIN = [
  ...[
    "not",
    "length",
    "keys",
    "add",
    "tostring",
    "tojson",
    "fromjson",
    "tonumber",
    "type",
    "floor",
  ],
  ...["to_entries", "from_entries", "sort", "unique", "min", "max", "reverse", "flatten", "any"],
  ...["all", "ascii_downcase", "@json", "@text", "@base64", "@base64d", "empty", "values", "first"],
  ...["last", "recurse", "error", "unknown", "env", "input", "paths", "tojson|fromjson"],
  ...[
    "@csv",
    "@tsv",
    "@uri",
    "@html",
    "@sh",
    "todate",
    "fromdate",
    "trim",
    "utf8bytelength",
    "abs",
  ],
  ...["strings", "scalars", "iterables", "toarray", "keys_unsorted"],
];
const WITH_ONE = [
  ...["has", "contains", "join", "split", "test", "startswith", "endswith", "ltrimstr", "map"],
  ...[
    "select",
    "sort_by",
    "group_by",
    "unique_by",
    "min_by",
    "max_by",
    "any",
    "all",
    "first",
    "range",
  ],
  ...["with_entries", "map_values", "recurse", "limit", "until", "repeat"],
  ...["inside", "index", "indices", "flatten", "nth", "getpath", "isempty", "error"],
];
const WITH_TWO = ["any", "all", "limit", "nth", "range", "sub", "gsub"];
const OPERATORS = ["|", ",", "//", "or", "and", "==", "<", ">=", "+", "-", "*", "/", "%"];

const filter = fc.letrec<{ filter: string }>((tie) => ({
  filter: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 5, arbitrary: fc.constantFrom(...PATHS) },
    { weight: 3, arbitrary: fc.constantFrom(...PLAIN) },
    { weight: 2, arbitrary: wholeNumber },
    { weight: 2, arbitrary: shortText.map((text) => JSON.stringify(text)) },
    {
      weight: 6,
      arbitrary: fc.tuple(tie("filter"), fc.constantFrom(...OPERATORS), tie("filter"))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    },
    {
      weight: 3,
      arbitrary: fc.tuple(fc.constantFrom(...WITH_ONE), tie("filter"))
        .map(([name, one]) => `${name}(${one})`),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...WITH_TWO), tie("filter"), tie("filter"))
        .map(([name, one, two]) => `${name}(${one}; ${two})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("filter"), tie("filter"))
        .map(([body, handler]) => `try (${body}) catch (${handler})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("filter"), tie("filter"), fc.constantFrom("reduce", ""))
        .map(([of, body, loop]) =>
          loop === "" ? `((${of}) as $x | ${body})` : `reduce (${of}) as $x (.; ${body})`
        ),
    },
    { weight: 2, arbitrary: regex.map((pattern) => `test(${JSON.stringify(pattern)})`) },
    {
      weight: 1,
      arbitrary: fc.tuple(regex, tie("filter"))
        .map(([pattern, by]) => `gsub(${JSON.stringify(pattern)}; ${by})`),
    },
    { weight: 2, arbitrary: tie("filter").map((one) => `[${one}]`) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("filter"), tie("filter"))
        .map(([key, value]) => `{(${key}): ${value}, a: 1}`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("filter"), tie("filter"), tie("filter"))
        .map((all) => `if ${all[0]} then ${all[1]} else ${all[2]} end`),
    },
    { weight: 1, arbitrary: tie("filter").map((one) => `"x\\(${one})"`) },
  ),
})).filter;

const NESTS: readonly (readonly [string, string])[] = [
  ["[.,.] | ", ""],
  ["[", "]"],
  ["(", ")"],
  [".. | ", ""],
  ["[.[],.[]] | ", ""],
  ["tojson | ", ""],
  [". + . | ", ""],
  ["map(", ")"],
  ["", ".a"],
  ["", "[]"],
  ["-", ""],
];
const pieces: fc.Arbitrary<Piece[]> = fc.oneof(
  { weight: 5, arbitrary: filter.map((one) => [one]) },
  {
    weight: 3,
    arbitrary: fc.tuple(
      filter,
      fc.constantFrom(...NESTS),
      fc.oneof(fc.integer({ min: 1, max: 40 }), times),
    )
      .map(([one, [open, close], count]) => [
        { text: open, times: count },
        one,
        { text: close, times: count },
      ]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(filter, shortText, fc.nat(40))
      .map(([one, text, at]) => [one.slice(0, at) + text + one.slice(at)]),
  },
);

export const JQ: FuzzKind<{ filter: Piece[]; document: DocumentInput }> = {
  inputs: fc.record({ filter: pieces, document: documentInput }),
  maxBlockMs: EXPRESSION_BLOCK_MS,
  outcomes: ["text", "refused"],
  open: () => ({
    run({ filter, document }) {
      try {
        readJq(joinPieces(filter), documentOf(document));
        return "text";
      } catch (error) {
        if (error instanceof JqError) return "refused";
        throw error;
      }
    },
  }),
};
