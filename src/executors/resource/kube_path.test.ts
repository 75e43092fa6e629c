/** Templates and what kubectl makes of them (`kubectl get -o jsonpath=…`, 1.33). */
import { expect, test } from "vitest";
import { readKubePath } from "./kube_path_apply.ts";

const object = {
  kind: "Pod",
  status: { bytes: [1_000_000, -123_456_789, 4e21, 1_234_567.5, 0.000001] },
  metadata: { name: "orc", annotations: { "a.b/c": "x<y" }, labels: { l: "v" } },
  spec: {
    seconds: 30,
    links: true,
    none: null,
    containers: [
      {
        name: "one",
        env: [{ name: "A", value: "1" }, { name: "B", value: "2" }],
        ports: [{ port: 80 }, { port: 90, name: "p" }],
      },
      { name: "two", size: 1.5 },
      { name: "three" },
    ],
  },
};

test.each([
  ["{.metadata.name}", "orc"],
  ["{$.metadata.name}{@.kind}", "orcPod"],
  ["{ .metadata.name }", "orc"],
  ["{.metadata['name']}", "orc"],
  ["{.metadata.annotations.a\\.b/c}", "x<y"],
  ["{.metadata.annotations['a\\.b/c']}", "x<y"],
  ["{.metadata.annotations}", '{"a.b/c":"x\\u003cy"}'],
  ["n={.spec.seconds}, {.spec.links}", "n=30, true"],
  ["{.spec.none}", "null"],
  ["{.spec.containers[1].size}", "1.5"],
  ["{.spec.containers[*].name}", "one two three"],
  ["{.spec.containers[-1:].name}", "three"],
  ["{.spec.containers[-1].name}", "three"],
  ["{.spec.containers[0:3:2].name}", "one three"],
  ["{.spec.containers[:2].name}", "one two"],
  ["{.spec.containers[1:1].name}", ""],
  ["{.spec.containers[0,2].name}", "one three"],
  ["{.spec.containers[].name}", "one"],
  ["{.spec.containers[0].env}", '[{"name":"A","value":"1"},{"name":"B","value":"2"}]'],
  ["{.spec.containers[0]['name', 'none']}", "one"],
  ['{.spec.containers[?(@.name=="two")].size}', "1.5"],
  ["{.spec.containers[?(@.name == 'two')].name}", "two"],
  ["{.spec.containers[?(@.name!='two')].name}", "one three"],
  ['{.spec.containers[?(@.name=="a)b")].name}', ""],
  ["{.spec.containers[?(@.ports)].name}", "one"],
  ["{.spec.containers[?(@.ports[0].port==80)].name}", "one"],
  ["{.spec.containers[0].ports[?(@.port>80)].name}", "p"],
  ["{.spec.containers[?(@.none==1)].name}", ""],
  [
    "{range .spec.containers[*]}[{.name}{range .env[*]} {.name}{end}]{end}.",
    "[one A B][two][three].",
  ],
  ['{range .spec.containers[*]}{.name}{"\\n"}{end}', "one\ntwo\nthree\n"],
  ["{range .nope[*]}x{end}y", "y"],
  ["{.spec..name}", "one A B p two three"],
  ["{..port}", "80 90"],
  ["{.metadata.labels.*}", "v"],
  ["{.status.bytes[*]}", "1000000 -123456789 4e+21 1.2345675e+06 1e-06"],
  ["{.nope.more}", ""],
  ["{.nope[0]}", ""],
  ["{'it\\'s'}{5}{1.5}{true}", "it's51.5true"],
  // Without braces, which kubectl prints as it is.
  [".metadata.name", "orc"],
  ["metadata.name", "orc"],
])("%j reads %j", (template, expected) => {
  expect(readKubePath(template, object)).toBe(expected);
});

test.each([
  ["{.spec.containers[7].name}", "array index out of bounds: index 7, length 3"],
  ["{.spec.containers[2:1].name}", "starting index 2 is greater than ending index 1"],
  ["{.metadata[0]}", "is not a list"],
  ["{.spec.containers[?(@.name>1)].name}", "incompatible types for comparison"],
  ["{.spec.containers[abc]}", "invalid array index abc"],
  ["{.metadata.name", "unclosed action"],
  ["{end}", "not in range, nothing to end"],
  ["{foo}", "unrecognized identifier foo"],
  ["{.a#}{#}", "unrecognized character in action: #"],
  ["{'open}", "unterminated quoted string"],
  ["{.spec.containers[0:2:0]}", "step must be > 0"],
])("%s is refused", (template, reason) => {
  expect(() => readKubePath(template, object)).toThrow(
    new RegExp(reason.replace(/[[\]()+*]/g, ".")),
  );
});

test("a template has a longest length", () => {
  expect(() => readKubePath(`{${".".repeat(5000)}}`, object)).toThrow("longer than 4096");
});

test("a path that grows without end stops at its budget", () => {
  let deep: unknown = {};
  for (let depth = 0; depth < 200; depth++) deep = { a: deep, b: deep };
  expect(() => readKubePath("{..a..a..a..a}", deep as never)).toThrow("budget exceeded");
});

test("a long list within an object ends at the budget, not at the size of the stack", () => {
  const object = { a: Array<number>(300_000).fill(0), b: 1 };
  expect(() => readKubePath("{..b}", object)).toThrow("step budget exceeded");
});
