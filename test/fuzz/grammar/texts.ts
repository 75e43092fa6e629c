/** Texts that programs are surprised by. */
import fc from "fast-check";

/** Names that objects of JavaScript have already. */
export const OBJECT_NAMES: readonly string[] = [
  ...["__proto__", "constructor", "prototype", "toString", "valueOf", "hasOwnProperty", "then"],
  ...["__defineGetter__", "toJSON", "length"],
];

/** Short texts of every sort: letters beyond ASCII, halves of a surrogate pair, controls, formats, other languages' syntax. */
const ODD_TEXTS: readonly string[] = [
  ...["", " ", "\u0000", "\ud800", "\udc00a", "é", "e\u0301", "👩‍👩‍👧", "ß", "İ", "\u2028", "\ufeff"],
  ...["\u202e", "\uffff", "\r\n", "\t", "\\", '"', "'", "`", "%s", "%d", "%999999999d", "%[9]d"],
  ...["{{", "}}", "{{=", "{{x}}", "{{{{x}}}}", "${x}", "$(x)", "../..", "/", "a/b", ".", "-", "--"],
  ...["0", "-0", "00", "1e999", "-1", "9223372036854775808", "NaN", "null", "true", "2024-01-01"],
  ...[
    "2024-02-29T12:30:45Z",
    "1h30m",
    "-9223372036854775808ns",
    "[]",
    "{}",
    '{"a":[1,{"b":null}]}',
  ],
  ...["aGk=", "MFRGG===", "%zz", "http://[::1", "a=b&a=c", "1.2.3-rc.1", "v1", ">=1 <2 || ~3"],
  ...OBJECT_NAMES,
];

/** A short text. */
export const shortText: fc.Arbitrary<string> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("a", "b", "x", "ab", "foo", "bar", "main") },
  { weight: 3, arbitrary: fc.constantFrom(...ODD_TEXTS) },
  { weight: 1, arbitrary: fc.string({ maxLength: 12 }) },
  { weight: 1, arbitrary: fc.string({ unit: "binary", maxLength: 6 }) },
);

/** Whole numbers: small ones, and those at the edge of something. */
export const wholeNumber: fc.Arbitrary<string> = fc.oneof(
  { weight: 5, arbitrary: fc.integer({ min: -3, max: 12 }).map(String) },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      ...["-1", "100", "255", "1000", "1024", "65536", "100000", "1000000", "100000000"],
      ...["2147483648", "9007199254740993", "9223372036854775807", "-9223372036854775808"],
    ),
  },
);

/** JSON values, with names that objects have already among their keys. */
export const jsonValue: fc.Arbitrary<fc.JsonValue> = fc.letrec<{ value: fc.JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<fc.JsonValue>(null, true, 0, 1, -1, 1.5, 1e308, 2 ** 53),
    shortText,
    fc.array(tie("value"), { maxLength: 5 }),
    // From text, as it comes in: so `__proto__` is a key like any other.
    fc.array(fc.tuple(shortText, tie("value")), { maxLength: 5 }).map((members) =>
      JSON.parse(
        `{${
          members.map(([key, value]) => `${JSON.stringify(key)}:${JSON.stringify(value)}`).join(",")
        }}`,
      ) as fc.JsonValue
    ),
  ),
})).value;
