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
  [
    ".",
    '{"metadata":{"labels":{"a":"b","c":"d"},"name":"job"},"status":{"active":2,"conditions":[{"at":5,"status":"True","type":"Ready"},{"at":3,"status":"False","type":"Failed"}],"nothing":null,"phase":"Succeeded"}}',
  ],
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
  ["{name: .metadata.name, n: (.status.conditions | length)}", '{"n":2,"name":"job"}'],
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
  ["[.. | numbers]", "[2,5,3]"],
  [
    '{z: "<", "10": 1, "2": 2}, ({b: 1, a: "<"} | tojson)',
    '{"10":1,"2":2,"z":"\\u003c"}\n{"a":"<","b":1}',
  ],
  ["{b: 1, a: 2} | [.[]], keys_unsorted, (to_entries | map(.key))", '[2,1]\n["a","b"]\n["a","b"]'],
  ['"  two \\n"', "two"],
  ["any(.status.conditions[]; .at > 4), all(.status.conditions[]; .at > 4)", "true\nfalse"],
  [
    "[limit(1; .status.conditions[].at)], [nth(1; .status.conditions[].at)], isempty(empty)",
    "[5]\n[3]\ntrue",
  ],
  ["[range(3)], [range(1; 3)], [range(5; 0; -2)]", "[0,1,2]\n[1,2]\n[5,3,1]"],
  [".metadata.labels | map_values(ascii_upcase)", '{"a":"B","c":"D"}'],
  ['"v1.2.2" | sub("^v"; ""), gsub("[.]2"; "-x"), gsub(""; "_")', "1.2.2\nv1-x-x\n_v_1_._2_._2_"],
  ['"a,b,a" | index("a"), rindex("a"), indices(","), (split(",") | index("b"))', "0\n4\n[1,3]\n1"],
  ['["b", [["a"]]] | flatten(1), inside(["b", [["a"]], 1])', '["b",["a"]]\ntrue'],
  ['[1, "a\\"b", null, true] | @csv, @tsv', '1,"a""b",,true\n1\ta"b\t\ttrue'],
  ['"a b&ü" | @uri, @html, @sh', "a%20b%26%C3%BC\na b&amp;ü\n'a b&ü'"],
  ['"2024-01-02T03:04:05Z" | fromdate | ., todate', "1704164645\n2024-01-02T03:04:05Z"],
  ['try error("x") catch ("was " + .), (try .status.phase.x), "end"', "was x\nend"],
  ['.status | getpath(["conditions", 0, "type"]), (.nope | getpath(["a"]))', "Ready\nnull"],
  ['.metadata.name as $n | .status.conditions[] | "\\($n)/\\(.type)"', "job/Ready\njob/Failed"],
  ["[(1, 2) as $x | (3, 4) as $y | [$x, $y]]", "[[1,3],[1,4],[2,3],[2,4]]"],
  ["[1 as $x | (2 as $x | $x), $x, (1 + 1 as $y | $x + $y)]", "[2,1,3]"],
  ["[3, 1] | map(. as $x | [10, 20] | map(. + $x))", "[[13,23],[11,21]]"],
  ["reduce .status.conditions[].at as $n (0; . + $n)", "8"],
  ["[[1, 2] | first(.[] as $x | $x), limit(3; (.[] as $x | $x, $x))]", "[1,1,1,2]"],
  ["{a: (1 as $x | $x + 1)}", '{"a":2}'],
  ['"Ö" | ascii_downcase, utf8bytelength', "Ö\n2"],
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
  expect(readJq(filter, object)).toBe(expected);
});

test.each([
  [".metadata.name.first", /Cannot index string with "first"/],
  [".metadata.name[]", /Cannot iterate over string/],
  [". as [$x] | $x", /bound to one variable/],
  [". as $x | 1, ($y)", /\$y is not defined/],
  ["(. as $x | $x) | $x", /\$x is not defined/],
  ["def f: 1; f", /no function def/],
  [".a = 1", /"=" at character \d+ is not supported/],
  ["map(", /the end at character \d+ is not supported/],
  ["{a: 1", /should be ","/],
  ['"open', /a text has no end/],
  ["1 / 0", /divisor is zero/],
  ["{} + 1", /object \+ number makes no sense/],
  ["nope(1)", /no function nope with 1 arguments/],
  ["[1e1000]", /unsupported value/],
  ['"a" | sub("(?<x>a)"; "b")', /groups with names are not supported/],
  ["range(0; 1; 0)", /steps of zero/],
  ["[{}] | @csv", /@csv of object makes no sense/],
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
  `("a"*500000)|gsub("a";"bb")`,
  `("a"*100000)|${'gsub("";"b")|'.repeat(20)}length`,
  `[range(1e12)]|length`,
  `${". as $x|[$x,$x]|".repeat(30)}tojson`,
  `reduce range(1e9) as $x ([]; . + [$x])`,
  `reduce (.,.) as $x (.; [.,.,$x])|${"reduce (.,.) as $x (.; [.,.,$x])|".repeat(20)}tojson`,
  `range(1;1e300;1e-300)`,
  `[limit(1e9;range(1e9))]|map_values(.+1)`,
  `("a,"*100000)|indices("a")|@csv`,
  `("<"*200000)|@html|@html|@uri`,
  `{${
    Array.from({ length: 300 }, (_, i) => `k${i}:.`).join()
  }}|[.,.,.]|map(map_values(map_values(.)))|tojson`,
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
