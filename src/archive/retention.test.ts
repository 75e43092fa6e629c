import { describe, expect, test } from "vitest";
import { governs, parseRetention, ruleAt } from "./retention.ts";

const DAY = 86_400_000;

describe("parseRetention()", () => {
  test.each([
    ["", []],
    [" ; ", []],
    ["30d", [{ keepMs: 30 * DAY }]],
    ["phase=Failed,Error 90d; 12h", [{ phases: ["Failed", "Error"], keepMs: 90 * DAY }, {
      keepMs: DAY / 2,
    }]],
    [
      'namespace=dev labels="app in (a,b), !keep" 7d;forever',
      [{
        namespace: "dev",
        labels: [
          { key: "app", operator: "in", values: ["a", "b"] },
          { key: "keep", operator: "!exists", values: [] },
        ],
        keepMs: 7 * DAY,
      }, {}],
    ],
    ["labels=keep=true forever", [{ labels: [{ key: "keep", operator: "=", values: ["true"] }] }]],
  ])("%s", (text, policies) => {
    expect(parseRetention(text)).toEqual(policies);
  });

  test.each([
    ["30", /"30": a rule is/],
    ["phase=Failed", /a rule is/],
    ["phase=Running 3d", /"Running" is none of/],
    ["name=x 3d", /a rule is/],
    ["namespace=a namespace=b 3d", /a rule is/],
    ["phase=Failed phase=Error 3d", /a rule is/],
    ["namespace= 3d", /a rule is/],
    ["1d; labels=a==b=c 3d", /rule "labels=a==b=c 3d": .*found '='/],
    ["99999999d", /a rule is/],
    [";1d".repeat(101), /at most 100/],
    [" ".repeat(10_001), /at most 10000 characters/],
  ])("refuses %s", (text, message) => {
    expect(() => parseRetention(text)).toThrow(message);
  });
});

test("the first rule that fits counts", () => {
  const policies = parseRetention("labels=keep forever; phase=Failed 90d; 30d");
  const entry = {
    uid: "1",
    namespace: "a",
    name: "x",
    phase: "Failed",
    labels: {},
    createdAt: 0,
    finishedAt: 0,
  };
  const first = (of: Partial<typeof entry> & { labels?: Record<string, string> }) =>
    policies.findIndex((_, at) => governs(policies, at, { ...entry, ...of }));
  expect(first({})).toBe(1);
  expect(first({ phase: "Error" })).toBe(2);
  expect(first({ labels: { keep: "" } })).toBe(0);
  expect(policies.map((policy) => ruleAt(policy, 100 * DAY)?.finishedBefore))
    .toEqual([undefined, 10 * DAY, 70 * DAY]);
});
