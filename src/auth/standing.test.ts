import { expect, test } from "vitest";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import { callerByRules, parseAccessRules } from "./access_rules.ts";
import { unrestrictedCaller } from "./caller.ts";
import { standingOf } from "./standing.ts";

const WATCH = { verb: "watch", resource: "workflows", namespace: "a" } as const;
const rulesFor = (verbs: string) =>
  parseAccessRules(
    `rules: [{ subjects: [x], namespaces: [a], resources: [workflows], verbs: [${verbs}] }]`,
  );

test("what was granted holds until it is taken back, and what was refused does not count", async () => {
  let rules = rulesFor("watch, get");
  const standing = standingOf(callerByRules({ subject: "x" }, () => rules));
  expect(await standing?.caller.may(WATCH)).toBe(true);
  expect(await standing?.caller.may({ ...WATCH, namespace: "b" })).toBe(false);
  const again = () => callerByRules({ subject: "x" }, () => rules);
  expect(await standing?.holds(again)).toBe(true);
  rules = rulesFor("watch");
  expect(await standing?.holds(again)).toBe(true);
  rules = rulesFor("get");
  expect(await standing?.holds(again)).toBe(false);
});

test("a credential that is no longer valid ends it; one that can't be checked now does not", async () => {
  const standing = standingOf(callerByRules({ subject: "x" }, () => rulesFor("watch")));
  expect(await standing?.caller.may(WATCH)).toBe(true);
  const refuse = (error: Problem) => () => Promise.reject(error);
  const expired = new Problem(ProblemCode.Unauthenticated, "expired");
  expect(await standing?.holds(refuse(expired))).toBe(false);
  expect(await standing?.holds(refuse(unavailable("no provider")))).toBe(true);
});

test("whoever may do everything is not asked again", () => {
  expect(standingOf(unrestrictedCaller())).toBeUndefined();
});
