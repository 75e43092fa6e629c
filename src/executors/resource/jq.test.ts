import { expect, test } from "vitest";
import { readJq } from "./jq.ts";
import { JqError } from "./jq_values.ts";
import { leastProcessorMs } from "../../../test/support/processor_time.ts";

const object = {
  metadata: { name: "job", labels: { a: "b", c: "d" } },
  status: {
    phase: "Succeeded",
    active: 2,
    conditions: [
      { type: "Ready", status: "True", at: 5 },
      { type: "Failed", status: "False", at: 3 },
    ],
    nothing: null,
  },
};

test.each([
  [".", JSON.stringify(object)],
  [".metadata.name", "job"],
  [".status.conditions[0].type", "Ready"],
  [".status.conditions[-1].type", "Failed"],
  ['.metadata["labels"].a', "b"],
  ['.metadata."labels".a', "b"],
  [".metadata.labels", '{"a":"b","c":"d"}'],
  [".nope.more", "null"],
  ['.nope.more // "none"', "none"],
  [".status.nothing // .status.phase", "Succeeded"],
  ['.status.conditions[] | select(.type == "Ready") | .status', "True"],
  ['.status.conditions[] | select(.type == "Ready" and .status != "False").at', "5"],
  ['.status.conditions | map(.type) | join(",")', "Ready,Failed"],
  ["[.status.conditions[].at] | add", "8"],
  [".status.conditions | sort_by(.at) | .[0].type", "Failed"],
  [".status.conditions | max_by(.at).type", "Ready"],
  ['.status.conditions | any(.status == "False")', "true"],
  [".status.conditions[].type", "Ready\nFailed"],
  ["{name: .metadata.name, n: (.status.conditions | length)}", '{"name":"job","n":2}'],
  ['.metadata | {name, "x-y": 1}', '{"name":"job","x-y":1}'],
  ['"\\(.metadata.name)-\\(.status.active + 1)"', "job-3"],
  ['if .status.active > 1 then "many" elif .status.active == 1 then "one" else "none" end', "many"],
  ['.metadata.labels | to_entries | map("\\(.key)=\\(.value)") | join(";")', "a=b;c=d"],
  ['.metadata.labels | with_entries(select(.key != "a"))', '{"c":"d"}'],
  [".metadata.labels | keys", '["a","c"]'],
  ['.metadata | has("name"), has("nope")', "true\nfalse"],
  ['.metadata.name | test("^j") and (startswith("jo") | not | not)', "true"],
  [".metadata.name | @base64 | ., @base64d", "am9i\njob"],
  [".metadata.name[1:]", "ob"],
  [".status.conditions[:1] | length", "1"],
  ["[.. | numbers?]", undefined],
  ["[1, (2, 3) * 10, 7 % 4, 1 - 2, -3, 6 / 4]", "[1,20,30,3,-1,-3,1.5]"],
  ['[3, null, "a", false, {}] | sort', '[null,false,3,"a",{}]'],
  ["[1, 1, 2] | unique | length", "2"],
  ["[[1, [2]], 3] | flatten", "[1,2,3]"],
  [".metadata.name?, .metadata.name.first?", "job"],
  ["[.status.conditions[] | .at] | min, max", "3\n5"],
  ['"5" | tonumber + 1 # a comment', "6"],
  ['{"a": {"b": 1}} * {"a": {"c": 2}}', '{"a":{"b":1,"c":2}}'],
  ["first(.status.conditions[]).type, (.status.conditions | last.type)", "Ready\nFailed"],
])("readJq(%j) is %j", (filter, expected) => {
  if (expected === undefined) expect(() => readJq(filter, object)).toThrow(/no function numbers/);
  else expect(readJq(filter, object)).toBe(expected);
});

test.each([
  [".metadata.name.first", /Cannot index string with "first"/],
  [".metadata.name[]", /Cannot iterate over string/],
  [". as $x | $x", /"as" at character \d+ is not supported/],
  [".a = 1", /"=" at character \d+ is not supported/],
  ["map(", /the end at character \d+ is not supported/],
  ["{a: 1", /should be ","/],
  ['"open', /a text has no end/],
  ["1 / 0", /divisor is zero/],
  ["{} + 1", /object \+ number makes no sense/],
  ["nope(1)", /no function nope with 1 arguments/],
  [`${"(".repeat(2000)}1${")".repeat(2000)}`, /too deep/],
  ["x".repeat(5000), /longer than 4096/],
  [`[${"(1,2,3,4,5,6,7,8,9,10)+".repeat(7)}0]`, /step budget exceeded/],
])("readJq(%j) is refused", (filter, reason) => {
  expect(() => readJq(filter, object)).toThrow(reason);
});

test.each([
  `[${"[.,.]|".repeat(30)}tojson]`,
  `${"[.,.]|".repeat(30)}tojson`,
  `${"{a:.,b:.}|".repeat(40)}@json`,
  `[${"[.,.]|".repeat(30)}.]|flatten`,
  `${"[.,.]|".repeat(40)}. == .`,
  `("a"*100000)|test("(a|aa|aaa|b){300}$")`,
  `("a"*100000)|[.,.,.,.]|map(test("((a{0,15}){0,15}){0,15}$"))`,
  `${"(.,.)|".repeat(40)}.`,
  `[${"(1,2,3,4,5,6,7,8,9,10)+".repeat(7)}0]`,
  `${"[..]|".repeat(60)}length`,
  `${"[.[]?,.]|".repeat(30)}add`,
  `${"(.+.)|".repeat(30)}length`,
  `("ab"*50000)|${'[split("a")[]]|join("aa")|'.repeat(60)}length`,
  `{${Array.from({ length: 600 }, (_, i) => `k${i}:(1,2)`).join()}}`,
  ".".concat(",.".repeat(2_000)),
  ".a".repeat(2_000),
  `[${"(".repeat(90)}.${")".repeat(90)}]`,
  `("a,"*300000)|split(",")|sort|unique|group_by(.)`,
])("filter %# ends in time, whatever it makes", (filter) => {
  const read = () => {
    try {
      readJq(filter, object);
    } catch (error) {
      expect(error).toBeInstanceOf(JqError);
    }
  };
  expect(leastProcessorMs(read, 50)).toBeLessThan(50);
});

test("what a filter makes counts, and the error says so", () => {
  const run = () => readJq(`${"[.,.]|".repeat(30)}tojson`, object);
  expect(run).toThrow(/(step|memory) budget exceeded/);
});
