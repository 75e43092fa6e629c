import process from "node:process";
import { afterAll, expect, test } from "vitest";
import { systemClock } from "../../platform/clock.ts";
import { Jq } from "./jq.ts";

const jq = new Jq(systemClock);
afterAll(() => jq.close());
const readJq = (filter: string) => jq.read("default", filter, object);

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
    '{z: "<", "10": 1, "2": 2}, (.status.conditions[0] | tojson)',
    '{"10":1,"2":2,"z":"\\u003c"}\n{"at":5,"status":"True","type":"Ready"}',
  ],
  // An object of the cluster has the order of its keys, as in the reference.
  [".status.conditions[0] | [.[]], keys_unsorted", '[5,"True","Ready"]\n["at","status","type"]'],
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
  ["del(.status, .metadata.labels)", '{"metadata":{"name":"job"}}'],
  [".metadata | [paths]", '[["labels"],["labels","a"],["labels","c"],["name"]]'],
  ['.metadata | [paths(type == "string")] | length', "3"],
  ['.metadata.name | [match("[jb]"; "g").offset], capture("(?<start>.)o")', '[0,2]\n{"start":"j"}'],
  ['"v1.2" | [scan("[0-9]")]', '["1","2"]'],
  ["def double(f): f * 2; double(.status.active)", "4"],
  [
    ".metadata | .name |= ascii_upcase | .labels.e = 1",
    '{"labels":{"a":"b","c":"d","e":1},"name":"JOB"}',
  ],
  [".metadata.labels += {x: 1} | .metadata.labels | length", "3"],
  ["[foreach .status.conditions[].at as $n (0; . + $n)]", "[5,8]"],
  [". as {metadata: {$name}, status: {conditions: [$first]}} | $name, $first.type", "job\nReady"],
  ["-.status.active", "-2"],
  ["[limit(3; repeat(1))], ([1, [2]] | getpath([1, 0]))", "[1,1,1]\n2"],
  ["1, 1.0, 100000000000000000001, 1e-7", "1\n1\n100000000000000000000\n1e-7"],
])("readJq(%j) is %j", async (filter, expected) => {
  expect(await readJq(filter)).toBe(expected);
});

test.each([
  [".metadata.name.first", 'Cannot index string with string ("first")'],
  [".metadata.name[]", 'Cannot iterate over string ("job")'],
  ["($x)", "$x is not defined at <top-level>, line 1, column 2"],
  ["nope(1)", "nope/1 is not defined at <top-level>, line 1, column 1"],
  [".a[", "syntax error, unexpected end of file at <top-level>, line 1, column 3"],
  ["--help", "help/0 is not defined at <top-level>, line 1, column 3"],
  ["1 / 0", "number (1) and number (0) cannot be divided because the divisor is zero"],
  ['error("no such thing: it is gone")', "no such thing: it is gone"],
  ['debug("seen") | error({a: 1})', '(not a string): {"a":1}'],
  ["[1e1000]", "unsupported value"],
  ['include "etc/passwd"; .', "module not found: etc/passwd"],
  ["input", "break"],
])("readJq(%j) is refused: %s", async (filter, reason) => {
  await expect(readJq(filter)).rejects.toThrow(reason);
});

test("a filter sees no variable of the server", async () => {
  expect(JSON.parse(await readJq("$ENV, env | keys").then((text) => text.split("\n")[0] ?? "")))
    .toEqual(["HOME", "LANG", "LOGNAME", "PATH", "PWD", "USER", "_"]);
  expect(await readJq("$ENV.PATH")).not.toBe(process.env["PATH"]);
});

test.each([
  ["last(range(1e12))", /not answered within 2 s/],
  ["range(1e12)", /not answered within 2 s/],
  ['("a"*100000) | test("(a|aa|aaa|b){300}$")', /not answered within 2 s|retry-limit/],
  ["[range(1e9)]", /not answered within 2 s|needs more than 64 MiB/],
  [`${"[.,.]|".repeat(30)}tojson`, /not answered within 2 s|needs more than 64 MiB/],
  ['reduce range(40) as $x ("a"; . + .)', /needs more than 64 MiB/],
  ["def f: [f]; f", /needs more than 64 MiB/],
  ['"a" * 2000000', /longer than 1048576 characters/],
  [`${"(".repeat(20_000)}1${")".repeat(20_000)}`, /memory exhausted/],
  ["reduce range(5000) as $x (1; [.])", /jq failed|too deep/],
])("the hostile filter %j ends, and the next one works", async (filter, reason) => {
  await expect(readJq(filter)).rejects.toThrow(reason);
  expect(await readJq(".metadata.name")).toBe("job");
});

test("namespaces take turns", async () => {
  const order: string[] = [];
  const note = (name: string) => order.push(name);
  await Promise.all([
    ...[1, 2, 3, 4].map((n) => jq.read("crowd", `${n}`, object).then(note)),
    jq.read("other", '"other"', object).then(note),
  ]);
  expect(order).toEqual(["1", "2", "other", "3", "4"]);
});

test("what waits is given up when its task is cancelled", async () => {
  const stop = new AbortController();
  const first = readJq("last(range(1e5))");
  const second = jq.read("default", ".", object, stop.signal);
  stop.abort(new Error("cancelled"));
  await expect(second).rejects.toThrow("cancelled");
  expect(await first).toBe("99999");
});

test("closing ends what runs, and nothing is begun after it", async () => {
  const closing = new Jq(systemClock);
  const running = closing.read("default", "last(range(1e12))", object);
  const refused = expect(running).rejects.toThrow("the process of jq has ended");
  closing.close();
  await refused;
  await expect(closing.read("default", ".", object)).rejects.toThrow("the server stops");
});

test("the process may be started by another command", async () => {
  const other = new Jq(systemClock, [
    "/bin/sh",
    "-c",
    'while read -r line; do echo \'{"text":"other"}\'; done',
  ]);
  expect(await other.read("default", ".", object)).toBe("other");
  other.close();
  const missing = new Jq(systemClock, ["/nowhere/jq"]);
  await expect(missing.read("default", ".", object)).rejects.toThrow("the process of jq has ended");
});
