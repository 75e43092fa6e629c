import { expect, test } from "vitest";
import type { Subscription } from "../spec/manifest.ts";
import { type SubscribableChange, SubscriptionSet } from "./subscription.ts";

function subscription(name: string, spec: Partial<Subscription["spec"]>, namespace = "a") {
  return {
    metadata: { namespace, name },
    spec: { url: "https://x.example/", secret: { name: "s", key: "k" }, ...spec },
  } satisfies Subscription;
}

const CHANGE: SubscribableChange = {
  change: "Failed",
  namespace: "a",
  workflow: { labels: { team: "data" }, template: "etl" },
  facts: { change: "Failed", workflow: { name: "etl-1", labels: { team: "data" } }, node: null },
};

function about(
  subscriptions: Subscription[],
  change: Partial<SubscribableChange> = {},
  admin = "",
) {
  const faults: unknown[] = [];
  const set = new SubscriptionSet(subscriptions, admin, (_, cause) => faults.push(cause));
  const run = { now: () => Date.UTC(2026, 0, 1) };
  const found = set.about({ ...CHANGE, ...change }, run, (_, cause) => faults.push(cause));
  return { names: found.map(({ metadata }) => metadata.name), faults };
}

test("a subscription is about the changes, labels, template and expression that it names", () => {
  const { names, faults } = about([
    subscription("all", {}),
    subscription("failed", { changes: ["Failed"] }),
    subscription("started", { changes: ["Started"] }),
    subscription("team", { workflows: { labelSelector: "team in (data, web)" } }),
    subscription("other-team", { workflows: { labelSelector: "team=web" } }),
    subscription("template", { workflows: { template: "etl" } }),
    subscription("other-template", { workflows: { template: "other" } }),
    subscription("name", { workflows: { expression: 'workflow.name startsWith "etl"' } }),
    subscription("node", { workflows: { expression: "node != nil" } }),
    subscription("elsewhere", {}, "b"),
  ]);
  expect(names).toEqual(["all", "failed", "team", "template", "name"]);
  expect(faults).toEqual([]);
});

test("only the administrator's namespace has subscriptions about others", () => {
  const given = [
    subscription("every", { workflows: { namespaces: ["*"] } }, "ops"),
    subscription("some", { workflows: { namespaces: ["a", "c"] } }, "ops"),
    subscription("own", {}, "ops"),
    subscription("thief", { workflows: { namespaces: ["*"] } }, "b"),
  ];
  const { names, faults } = about(given, {}, "ops");
  expect(names).toEqual(["every", "some"]);
  expect(faults).toHaveLength(1);
  expect(about(given, {}, "").names).toEqual([]);
});

test("an expression may ask for the time", () => {
  const old = "now() - date(workflow.createdAt) > duration('1h')";
  const facts = (createdAt: string) => ({ facts: { ...CHANGE.facts, workflow: { createdAt } } });
  const asked = [subscription("s", { workflows: { expression: old } })];
  expect(about(asked, facts("2025-12-31T22:59:00Z"))).toEqual({ names: ["s"], faults: [] });
  expect(about(asked, facts("2025-12-31T23:59:00Z"))).toEqual({ names: [], faults: [] });
});

test("an expression that fails is told, and costs nobody else their change", () => {
  const { names, faults } = about([
    subscription("broken", { workflows: { expression: "workflow.labels.x + 1 > 2" } }),
    subscription("well", {}),
  ]);
  expect(names).toEqual(["well"]);
  expect(faults).toHaveLength(1);
});

test("a change of no workflow is for those who do not select workflows", () => {
  const { workflow: _, ...rest } = CHANGE;
  const set = new SubscriptionSet(
    [
      subscription("all", {}),
      subscription("dead", { changes: ["DeadLetter"] }),
      subscription("labels", { workflows: { labelSelector: "team=data" } }),
    ],
    "",
    () => {},
  );
  const found = set.about({ ...rest, change: "DeadLetter" }, {}, () => {});
  expect(found.map(({ metadata }) => metadata.name)).toEqual(["all", "dead"]);
});

/** Takes all steps that it may. */
const ENDLESS = "count(1..9000, # % 7 == 3) + count(1..9000, # % 7 == 4) > 0";
const CHEAP = 'workflow.labels["team"] == "data" && workflow.name startsWith "etl"';

test("expressions of a namespace share a budget, and one that takes too much costs the others nothing", () => {
  const given = Array.from({ length: 100 }, (_, at) =>
    subscription(`s${at}`, {
      workflows: { expression: at % 2 === 0 ? `${ENDLESS} || ${at} < 0` : CHEAP },
    }));
  const { names, faults } = about(given);
  expect(names).toEqual(expect.arrayContaining(
    given.filter((_, at) => at % 2 === 1)
      .map(({ metadata }) => metadata.name),
  ));
  // The last one may take what all others have left.
  expect(faults).toHaveLength(49);
  expect(String(faults[0])).toContain("takes more than 5000 steps");
});

test("alone, an expression may take what any expression may", () => {
  const { names } = about([subscription("s", { workflows: { expression: ENDLESS } })]);
  expect(names).toEqual(["s"]);
});

test("what the subscriptions of a namespace cost takes nothing from the administrator's", () => {
  const expensive = Array.from(
    { length: 100 },
    (_, at) => subscription(`s${at}`, { workflows: { expression: ENDLESS } }),
  );
  const one = subscription("ops", { workflows: { namespaces: ["*"], expression: ENDLESS } }, "ops");
  const { names } = about([...expensive, one], {}, "ops");
  expect(names).toContain("ops");
});
