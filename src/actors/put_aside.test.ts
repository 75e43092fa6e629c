/** Workflows that cannot be loaded or cannot go on: each is ended by its header alone, and harms no other. */
import { afterEach, expect, test } from "vitest";
import { Deployment, until } from "../../test/support/deployment.ts";
import type { WorkflowSpec } from "../spec/manifest.ts";
import type { StoredActor } from "../store/port.ts";
import type { ActorKind, HotActor } from "./hot_actor.ts";
import { locksKind } from "./locks_actor.ts";
import { workflowKind } from "./workflow/actor.ts";

const running: Deployment[] = [];

afterEach(() => {
  for (const deployment of running.splice(0)) deployment.stop();
});

const SPEC: WorkflowSpec = {
  entrypoint: "main",
  templates: [
    { name: "main", steps: [[{ name: "w", template: "w" }, { name: "c", template: "c" }]] },
    { name: "w", suspend: {} },
    { name: "c", container: { image: "i", command: ["c"] } },
  ],
};
const BAD = "wf/default/bad";

/** Workflows of which one is damaged, or has met a defect of ours, once `trouble.is` is set. */
function deploy(hydrate: (stored: StoredActor) => HotActor) {
  const trouble = { is: false, loads: 0 };
  const kind: ActorKind = {
    ...workflowKind,
    hydrate(id, stored) {
      if (!trouble.is || id !== BAD || stored === undefined) {
        return workflowKind.hydrate(id, stored);
      }
      trouble.loads++;
      return hydrate(stored);
    },
  };
  const deployment = new Deployment(undefined, [kind, locksKind]);
  running.push(deployment);
  return { deployment, trouble };
}

function withPart(stored: StoredActor, key: string, text: string): HotActor {
  return workflowKind.hydrate(BAD, { ...stored, parts: { ...stored.parts, [key]: text } });
}

function withoutAdvance(stored: StoredActor): HotActor {
  const actor = workflowKind.hydrate(BAD, stored);
  return Object.assign(Object.create(actor) as HotActor, {
    exists: () => actor.exists(),
    receive: actor.receive.bind(actor),
    prepareTake: () => undefined,
    take: actor.take.bind(actor),
    weight: () => 1,
    rests: () => true,
    isOver: () => false,
    isGrowing: () => false,
    advance() {
      if (!(stored.parts["h"] ?? "").includes('"isAside":true')) throw new RangeError("too deep");
    },
  });
}

const resume = { type: "control", request: { type: "resume" } } as const;

test.each<[string, (stored: StoredActor) => HotActor, RegExp]>([
  ["a damaged node", (stored) => withPart(stored, "n:bad-1", "{"), /put aside: .*JSON/],
  ["a damaged spec", (stored) => withPart(stored, "s", "nonsense"), /put aside: .*JSON/],
  ["a defect whenever it goes on", withoutAdvance, /put aside: too deep/],
])(
  "a workflow with %s is put aside when it was tried three times",
  async (_what, hydrate, text) => {
    const { deployment, trouble } = deploy(hydrate);
    const first = await deployment.replica("a");
    for (const name of ["bad", "good"]) await deployment.submit(first, name, SPEC);
    await until(async () => (await deployment.node("good", "w"))?.phase === "Running");
    await first.drain();

    trouble.is = true;
    const host = await deployment.replica("b");
    const results = await Promise.allSettled([
      host.execute("default", "bad", resume),
      host.execute("default", "good", resume),
    ]);
    expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
    expect(String((results[0] as PromiseRejectedResult).reason)).toMatch(text);
    const { h = "{}" } = (await deployment.stored("bad"))?.parts ?? {};
    expect(JSON.parse(h)).toMatchObject({ phase: "Error", machine: "aside", isAside: true });
    expect(JSON.parse(h).message).toMatch(text);
    const loads = trouble.loads;

    // It is not tried again: what comes for it changes nothing, and others are told.
    await expect(host.execute("default", "bad", resume)).rejects.toThrow(text);
    await expect(host.execute("default", "bad", { type: "control", request: { type: "retry" } }))
      .rejects.toThrow(/delete it, or submit it again/);
    expect(trouble.loads - loads).toBeLessThanOrEqual(1);
    await host.execute("default", "bad", { type: "delete" });
    expect(await deployment.stored("bad")).toBeUndefined();
  },
);

test("locks of the nodes of a workflow that is put aside are free for others", async () => {
  const { deployment, trouble } = deploy((stored) => withPart(stored, "n:bad-1", "{"));
  const first = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "main",
    templates: [
      { name: "main", steps: [[{ name: "w", template: "locked" }]] },
      { name: "locked", synchronization: { mutexes: [{ name: "m" }] }, suspend: {} },
    ],
  };
  await deployment.submit(first, "bad", spec);
  await until(async () => (await deployment.node("bad", "w"))?.phase === "Running");
  await deployment.submit(first, "next", spec);
  await until(async () => (await deployment.node("next", "w"))?.phase === "Pending");
  await first.drain();

  trouble.is = true;
  const host = await deployment.replica("b");
  await expect(host.execute("default", "bad", resume)).rejects.toThrow(/put aside/);
  await until(async () => (await deployment.node("next", "w"))?.phase === "Running");
});

test("a damaged command out of a mailbox harms no workflow", async () => {
  const { deployment } = deploy((stored) => workflowKind.hydrate(BAD, stored));
  const host = await deployment.replica("a");
  await deployment.submit(host, "bad", SPEC);
  await until(async () => (await deployment.node("bad", "w"))?.phase === "Running");
  const bodies = [
    null,
    { type: "control" },
    { type: "submit", workflow: null },
    { type: "task-ended", task: "x" },
    { type: "locks-waiting", holder: 7 },
  ];
  for (const [at, body] of bodies.entries()) await host.deliver(`broken-${at}`, BAD, body);
  await host.execute("default", "bad", resume);
  await until(async () => (await deployment.node("bad", "c")) !== undefined);
  expect((await deployment.stored("bad"))?.parts["h"]).not.toContain("isAside");
});

test.each<[string, string, unknown]>([
  ["a time that is none", "h", { startedAt: "a" }],
  ["a date that no calendar has", "h", { startedAt: 9e15 }],
  ["labels that are no texts", "h", { metadata: { name: "bad", labels: { a: 1 } } }],
  ["templates that are no list", "s", { spec: { templates: {} } }],
])("a stored part with %s is damaged", async (_what, key, members) => {
  const { deployment } = deploy((stored) => workflowKind.hydrate(BAD, stored));
  const host = await deployment.replica("a");
  await deployment.submit(host, "bad", SPEC);
  const stored = await deployment.stored("bad") as StoredActor;
  const text = JSON.stringify({ ...JSON.parse(stored.parts[key] ?? ""), ...members as object });
  expect(() => withPart(stored, key, text)).toThrow(`part "${key}" is damaged`);
});
