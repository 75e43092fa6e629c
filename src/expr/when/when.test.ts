import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { evaluateCronWhen, evaluateWhen, WhenError } from "./when.ts";

function failure(run: () => unknown): WhenError {
  try {
    run();
  } catch (error) {
    if (error instanceof WhenError) return error;
    throw error;
  }
  throw new Error("no error");
}

describe("evaluateWhen()", () => {
  test.each([
    ["", true],
    ["true", true],
    ["foo == foo", true],
    ['heads == "heads"', true],
    ["\"heads' == heads", true],
    ["10 > 9", true],
    ["007 == 7", true],
    ["1 + 1 == 2", true],
    ["1/2 == 0.5", true],
    ["a < b", true],
    ["foo in (foo, bar)", true],
    ['foo =~ "^f.o$"', true],
    ["foo =~ fo", true],
    ["foo !~ bar", true],
    ["2020-01-01 == 2020-01-01", true],
    ["null == null", true],
    ["[my-var] == [my-var]", true],
    ['1 == "1"', false],
    ['"true" == true', false],
    ['"10" > "9"', false],
    ["Foo == foo", false],
    ["2 ** 3 ** 2 == 64", true],
    ["10 - 3 - 2 == 5", true],
    ["-2 ** 2 == 4", true],
    ["1 < 2 == true", true],
    ["true || false && false", true],
    ["false && foo", false],
    ["!(x in (a, b))", true],
    ["(16 >> 2) == 4", true],
    ["~1 == -2", true],
    ["0xff == 255", true],
    ['"2024-01-01" == 1704067200', true],
    ['"2024-01-01T10:00:00Z" > "2024-01-01"', true],
    ['"3:04PM" < 0', true],
    ["true ? false : true", false],
    ["false ? false : true", true],
    ["(1, 2) == (1, 2)", true],
    ['foo\\ bar == "foo bar"', true],
    ["x IN (x, y)", true],
    ["a + 1 == a1", true],
    ["(true) false", true],
    ["é == é", true],
  ])("%s is %s", (text, want) => {
    expect(evaluateWhen(text)).toBe(want);
  });

  test.each([
    [
      "foo-bar == foo-bar",
      "Failed to evaluate 'when' expresion 'foo-bar == foo-bar': Value 'foo' cannot be used with the modifier '-', it is not a number",
    ],
    [
      "a b == c",
      "Invalid 'when' expression 'a b == c': Cannot transition token types from VARIABLE [a] to VARIABLE [b]",
    ],
    [
      " == x",
      "Invalid 'when' expression ' == x': Cannot transition token types from UNKNOWN [<nil>] to COMPARATOR [==]",
    ],
    ["v1.2.3 == x", "Failed to evaluate 'when' expresion 'v1.2.3 == x': No parameter 'v1' found."],
    [
      "foo.bar == x",
      "Invalid 'when' expression 'foo.bar == x': Unable to access unexported field 'bar' in token 'foo.bar'",
    ],
    ["foo. == x", "Invalid 'when' expression 'foo. == x': Hanging accessor on token 'foo.'"],
    [
      "@x == y",
      "Invalid 'when' expression '@x == y': Invalid token: '@' (hint: try wrapping the affected expression in quotes (\"))",
    ],
    [
      "not true",
      "Invalid 'when' expression 'not true': Cannot transition token types from VARIABLE [not] to BOOLEAN [true]",
    ],
    [
      "!foo",
      "Failed to parse 'when' expression '!foo': Cannot transition token types from PREFIX [!] to STRING [foo]",
    ],
    ["len(a) == 1", "Invalid 'when' expression 'len(a) == 1': Undefined function len"],
    [
      "1 (2)",
      "Invalid 'when' expression '1 (2)': Cannot transition token types from NUMERIC [1] to CLAUSE [40]",
    ],
    ["foo", "Expected boolean evaluation for 'foo'. Got foo"],
    ["1000000 * 1", "Expected boolean evaluation for '1000000 * 1'. Got 1e+06"],
    ["()", "Expected boolean evaluation for '()'. Got <nil>"],
    ["a,b,c", "Expected boolean evaluation for 'a,b,c'. Got [a b c]"],
    [
      "1.2.3 == 1",
      "Invalid 'when' expression '1.2.3 == 1': Unable to parse numeric value '1.2.3' to float64\n",
    ],
    ["0xzz", "Invalid 'when' expression '0xzz': Unable to parse hex value '' to uint64\n"],
    [
      '"a" + "2024-01-01"',
      "Invalid 'when' expression '\"a\" + \"2024-01-01\"': Cannot transition token types from MODIFIER [+] to TIME [2024-01-01 00:00:00 +0000 UTC]",
    ],
    [
      'foo =~ "x" ? true : false',
      "Failed to parse 'when' expression 'foo =~ \"x\" ? true : false': Cannot transition token types from PATTERN [x] to TERNARY [?]",
    ],
    [
      "a ? , b",
      "Invalid 'when' expression 'a ? , b': Unable to plan token kind: 'SEPARATOR', value: ','",
    ],
    [
      "x in (x)",
      "Failed to evaluate 'when' expresion 'x in (x)': Value 'x' cannot be used with the comparator 'in', it is not a number",
    ],
    ["\\", "Invalid 'when' expression '\\': Unexpected end of expression"],
  ])("%s fails", (text, want) => {
    expect(failure(() => evaluateWhen(text)).message).toBe(want);
  });

  test.each([
    ["foo-bar == x", "double quotes"],
    ["{{steps.a.outputs.result}} == 1", "not replaced"],
    ["x = y", "`==`"],
    ["a == b and c == d", "`&&`"],
    ["!foo", "`!=`"],
    ["1.5e3 == 1", "exponent"],
    ['"5" > 1', "quotes around numbers"],
    ["== x", "both sides"],
    ["foo", "comparison"],
  ])("%s: the hint says what to write", (text, want) => {
    expect(failure(() => evaluateWhen(text)).hint).toContain(want);
  });

  test("hostile text ends soon with a WhenError", () => {
    const texts = [
      "(".repeat(100_000),
      "(".repeat(5000) + ")".repeat(5000),
      "1+".repeat(50_000) + "1",
      "-".repeat(100_000),
    ];
    for (const text of texts) expect(failure(() => evaluateWhen(text))).toBeInstanceOf(WhenError);
  });

  test("any text gives a verdict or a WhenError", () => {
    const pieces = fc.constantFrom(
      ..."a|b.C|1|.5|0x|'|\"|(|)|,|==|=~|!|-|~|in|&&|?|:|??|+|**|<<|%| |[|]|\\|true|2024-01-01|x*"
        .split("|"),
      "|",
      "||",
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(pieces, { maxLength: 30 }).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        try {
          expect(typeof evaluateWhen(text)).toBe("boolean");
        } catch (error) {
          expect(error).toBeInstanceOf(WhenError);
        }
      }),
      { numRuns: 5000 },
    );
  });
});

test("evaluateCronWhen() takes bare words as unknown names", () => {
  expect(evaluateCronWhen("")).toBe(true);
  expect(evaluateCronWhen("1 < 2")).toBe(true);
  expect(failure(() => evaluateCronWhen("foo == foo")).message).toBe("No parameter 'foo' found.");
});
