import { expect, test } from "vitest";
import { allows, callersByRules, namespacesOf, parseAccessRules } from "./access_rules.ts";
import type { Access } from "./port.ts";

const RULES = parseAccessRules(`
rules:
  - subjects: [ci]
    namespaces: [build]
    resources: [workflows]
    verbs: [create, get]
  - groups: [admins]
    namespaces: ["*"]
    apiGroups: ["*"]
    resources: ["*"]
    verbs: ["*"]
  - subjects: [caller]
    namespaces: [build]
    resources: [workflowtemplates]
    verbs: [get, list]
    resourceNames: [deploy]
`);

const ask = (verb: Access["verb"], resource: string, namespace: string, name?: string): Access => ({
  verb,
  resource,
  namespace,
  ...(name === undefined ? {} : { name }),
});

test.each([
  ["ci", [], ask("create", "workflows", "build"), true],
  ["ci", [], ask("delete", "workflows", "build", "x"), false],
  ["ci", [], ask("create", "workflows", "other"), false],
  ["ci", [], ask("get", "workflows", ""), false],
  ["ci", [], { ...ask("get", "workflows", "build"), group: "" }, false],
  ["someone", ["admins"], ask("delete", "cronworkflows", ""), true],
  ["someone", ["admins"], { ...ask("get", "pods/log", "x"), group: "" }, true],
  ["caller", [], ask("get", "workflowtemplates", "build", "deploy"), true],
  ["caller", [], ask("get", "workflowtemplates", "build", "other"), false],
  ["caller", [], ask("list", "workflowtemplates", "build"), false],
  [undefined, [], ask("create", "workflows", "build"), false],
])("allows(%s %j, %j) is %s", (subject, groups, access, expected) => {
  const identity = { ...(subject === undefined ? {} : { subject }), groups };
  expect(allows(RULES, identity, access as Access)).toBe(expected);
});

test.each<[string, string[], Parameters<typeof namespacesOf>[2], string[]]>([
  ["ci", [], undefined, ["build"]],
  ["ci", [], { verb: "create", resource: "workflows" }, ["build"]],
  ["ci", [], { verb: "delete", resource: "workflows" }, []],
  // Its rule names objects, so it grants nothing for the namespace.
  ["caller", [], { verb: "get", resource: "workflowtemplates" }, []],
  ["caller", [], undefined, ["build"]],
  ["ci", ["admins"], { verb: "create", resource: "workflows" }, ["*"]],
  ["nobody", [], undefined, []],
])("namespacesOf(%s %j, %j) is %j", (subject, groups, right, expected) => {
  expect(namespacesOf(RULES, { subject, groups }, right)).toEqual(expected);
});

test.each([
  ["[]", "list under `rules`"],
  ["rules: [{subjects: [a]}]", "rules[0].namespaces is empty"],
  ["rules: [{namespaces: [a], resources: [b], verbs: [c]}]", "neither subjects nor groups"],
  ["rules: [{subject: a}]", "rules[0].subject is unknown"],
  [
    "rules: [{subjects: [1], namespaces: [a], resources: [b], verbs: [c]}]",
    "rules[0].subjects must be",
  ],
])("parseAccessRules(%s) says %s", (text, message) => {
  expect(() => parseAccessRules(text)).toThrow(message);
});

test("callersByRules() grants everything only to callers who need no token", async () => {
  const access: Access = { verb: "get", resource: "workflows", namespace: "build" };
  const mayOf = (isOff: boolean, takesTokens: boolean, subject?: string) =>
    callersByRules(isOff, takesTokens, () => RULES)(subject === undefined ? {} : { subject })
      .may(access);
  expect(await mayOf(true, false)).toBe(true);
  expect(await mayOf(true, false, "stranger")).toBe(true);
  expect(await mayOf(true, true)).toBe(true);
  expect(await mayOf(true, true, "stranger")).toBe(false);
  expect(await mayOf(false, true)).toBe(false);
  expect(await mayOf(false, true, "ci")).toBe(true);
});
