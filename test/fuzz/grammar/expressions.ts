/** Texts of the expression language: all of its forms, and all functions it has. */
import fc from "fast-check";
import { BUILTINS } from "../../../src/expr/functions/builtins.ts";
import { sprigMap } from "../../../src/expr/functions/sprig.ts";
import { type Piece, times } from "../pieces.ts";
import { regex } from "./regex.ts";
import { OBJECT_NAMES, shortText, wholeNumber } from "./texts.ts";

/** What the names of generated expressions mean. */
export const ENVIRONMENT = {
  payload: {
    n: 42,
    ok: true,
    nothing: null,
    text: "Grüße, 世界 👋",
    long: "ab".repeat(5_000),
    json: '{"a":[1,{"b":null}]}',
    when: "2024-02-29T12:30:45Z",
    tags: ["ci", "release", "ci"],
    users: [{ name: "zoe", age: 31 }, { name: "adam", age: 25 }],
    many: Array.from({ length: 1_000 }, (_, at) => at),
  },
  metadata: { "x-event": ["push"] },
  namespace: "argo",
};

const NAMES = [
  ...["payload", "payload.n", "payload.ok", "payload.nothing", "payload.text", "payload.long"],
  ...["payload.json", "payload.when", "payload.tags", "payload.users", "payload.many", "metadata"],
  ...["namespace", "unknown", "$env", "#", "#acc", "#index", ".name", ".age", "x"],
  ...OBJECT_NAMES.flatMap((name) => [name, `payload.${name}`]),
];
const BINARY = [
  ...[
    "+",
    "-",
    "*",
    "/",
    "%",
    "**",
    "^",
    "..",
    "==",
    "!=",
    "<",
    "<=",
    ">",
    ">=",
    "&&",
    "||",
    "and",
  ],
  ...["or", "??", "?:", "in", "not in", "contains", "startsWith", "endsWith", "|"],
];
const PREDICATES = [
  ...[
    "all",
    "any",
    "one",
    "none",
    "map",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
  ],
  ...["groupBy", "sortBy", "count", "sum"],
];
const ARGO = ["asInt", "asFloat", "toJson", "jsonpath"];
const PLAIN = [...BUILTINS.keys(), ...ARGO];
const SPRIG = Object.keys(sprigMap()).map((name) => `sprig.${name}`);
const REGEX_CALLS = SPRIG.filter((name) => /regex/i.test(name));

const quoted = (text: string) => JSON.stringify(text);

/** An expression, most often one that compiles. */
const expression = fc.letrec<{ any: string; text: string; list: string; call: string }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 3, arbitrary: wholeNumber },
    { weight: 4, arbitrary: fc.constantFrom(...NAMES) },
    {
      weight: 1,
      arbitrary: fc.constantFrom("nil", "true", "false", "1.5", "0x1F", "1e308", "0b1"),
    },
    { weight: 4, arbitrary: tie("text") },
    { weight: 4, arbitrary: tie("list") },
    { weight: 9, arbitrary: tie("call") },
    {
      weight: 4,
      arbitrary: fc.tuple(tie("any"), fc.constantFrom(...BINARY), tie("any"))
        .map(([left, operator, right]) => `(${left} ${operator} ${right})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom("-", "+", "not ", "!"), tie("any"))
        .map(([sign, one]) => `${sign}(${one})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("any"), tie("any"), tie("any"))
        .map(([condition, yes, no]) => `(${condition} ? ${yes} : ${no})`),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(tie("any"), tie("any"))
        .map(([value, rest]) => `(let x = ${value}; ${rest})`),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(tie("any"), tie("any"))
        .map(([list, at]) => `${list}[${at}]`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("list"), wholeNumber, wholeNumber)
        .map(([list, from, to]) => `${list}[${from}:${to}]`),
    },
    {
      weight: 1,
      arbitrary: fc.array(fc.tuple(shortText, tie("any")), { maxLength: 3 })
        .map((all) => `{${all.map(([key, value]) => `${quoted(key)}: ${value}`).join(", ")}}`),
    },
  ),
  text: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 5, arbitrary: shortText.map(quoted) },
    { weight: 1, arbitrary: fc.constantFrom("payload.long", "payload.text", "payload.json") },
    {
      weight: 2,
      arbitrary: fc.tuple(tie("text"), wholeNumber)
        .map(([text, count]) => `repeat(${text}, ${count})`),
    },
    { weight: 1, arbitrary: tie("any").map((one) => `string(${one})`) },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("list"), tie("text"))
        .map(([list, glue]) => `join(map(${list}, string(#)), ${glue})`),
    },
  ),
  list: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 2, arbitrary: fc.constantFrom("payload.tags", "payload.many", "payload.users") },
    { weight: 2, arbitrary: fc.constantFrom("1..10", "1..1000", "1..100000", "1..10000000") },
    {
      weight: 2,
      arbitrary: fc.array(tie("any"), { maxLength: 4 }).map((all) => `[${all.join(", ")}]`),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(fc.constantFrom(...PREDICATES), tie("list"), tie("any"))
        .map(([name, list, body]) => `${name}(${list}, ${body})`),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(tie("list"), tie("any"), tie("any"))
        .map(([list, body, start]) => `reduce(${list}, ${body}, ${start})`),
    },
    { weight: 1, arbitrary: fc.tuple(tie("text"), tie("text")).map((all) => `split(${all})`) },
  ),
  call: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    ...[PLAIN, SPRIG].map((names) => ({
      weight: 4,
      arbitrary: fc.tuple(
        fc.constantFrom(...names),
        fc.array(fc.oneof(tie("any"), tie("text"), tie("list"), wholeNumber), { maxLength: 4 }),
      ).map(([name, values]) => `${name}(${values.join(", ")})`),
    })),
    {
      weight: 2,
      arbitrary: fc.tuple(tie("text"), regex)
        .map(([text, pattern]) => `(${text} matches ${quoted(pattern)})`),
    },
    {
      weight: 2,
      arbitrary: fc.tuple(fc.constantFrom(...REGEX_CALLS), regex, tie("text"), tie("any"))
        .map(([name, pattern, text, last]) =>
          `${name}(${quoted(pattern)}, ${text}${
            /All$|Split$|Replace/.test(name) ? `, ${last}` : ""
          })`
        ),
    },
    {
      // Patterns that are other ones for every element.
      weight: 1,
      arbitrary: fc.tuple(tie("list"), tie("text"), regex)
        .map(([list, text, pattern]) =>
          `map(${list}, sprig.regexMatch(${quoted(pattern)} + string(#), ${text}))`
        ),
    },
  ),
})).any;

const NESTS: readonly (readonly [string, string])[] = [
  ["(", ")"],
  ["[", "]"],
  ["{a: ", "}"],
  ["not ", ""],
  ["-", ""],
  ["map([1], ", ")"],
  ["true ? ", " : 1"],
  ["", " + 1"],
  ["", ".x"],
  ["let x = 1; ", ""],
  ["len(", ")"],
  ["", "|len()"],
];

/** An expression as it is, one nested in itself, and what is none. */
export const expressionPieces: fc.Arbitrary<Piece[]> = fc.oneof(
  { weight: 12, arbitrary: expression.map((one) => [one]) },
  {
    weight: 2,
    arbitrary: fc.tuple(expression, fc.constantFrom(...NESTS), times)
      .map(([one, [open, close], count]) => [
        { text: open, times: count },
        one,
        { text: close, times: count },
      ]),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(expression, shortText, fc.nat(60))
      .map(([one, text, at]) => [one.slice(0, at) + text + one.slice(at)]),
  },
  { weight: 1, arbitrary: shortText.map((one) => [one]) },
);

/** An expression as one text. */
export const expressionText: fc.Arbitrary<string> = expression;
