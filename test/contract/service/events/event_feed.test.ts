/** `stream/events`: every replica shows what any replica did, on every store. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { unrestrictedCaller } from "../../../../src/auth/caller.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import { createLogger } from "../../../../src/platform/log.ts";
import type { ServiceDeps } from "../../../../src/service/deps.ts";
import { EventFeed } from "../../../../src/service/events/stream/feed.ts";
import { watchEvents } from "../../../../src/service/events/stream/open_stream.ts";
import { Deployment, until } from "../../../support/deployment.ts";
import { STANDARD_NAMING } from "../../../../src/spec/naming.ts";

const HOLD = { entrypoint: "hold", templates: [{ name: "hold", suspend: {} }] };
let deployment: Deployment;
let feed: EventFeed;
let stop: AbortController;

beforeEach(() => {
  deployment = new Deployment();
  feed = newFeed();
  stop = new AbortController();
});
afterEach(() => {
  stop.abort();
  deployment.stop();
});

function newFeed(): EventFeed {
  const { store, clock } = deployment;
  return new EventFeed({ store, clock, log: createLogger("silent"), naming: STANDARD_NAMING });
}

/** Reads a stream of this replica into a growing list. */
async function reading(fieldSelector = "", from = feed): Promise<string[]> {
  const shown: string[] = [];
  const events = await watchEvents(
    { events: from, store: deployment.store } as ServiceDeps,
    unrestrictedCaller(),
    { namespace: "default", fieldSelector },
    stop.signal,
  );
  void (async () => {
    for await (const event of events) {
      const { name } = event.involvedObject as JsonObject;
      shown.push(`${name} ${event.reason}`);
    }
  })();
  return shown;
}

test("follow() tells what other replicas did before and do now, each once", async () => {
  const host = await deployment.replica("other");
  await deployment.submit(host, "early", HOLD);
  const first = await reading();
  await until(() => first.length === 1);
  expect(first).toEqual(["early WorkflowRunning"]);
  const second = await reading();
  await until(() => second.length === 1);
  await deployment.submit(host, "late", HOLD);
  await host.execute("default", "late", { type: "control", request: { type: "resume" } });
  const late = [
    "late WorkflowNodeRunning",
    "late WorkflowNodeSucceeded",
    "late WorkflowRunning",
    "late WorkflowSucceeded",
  ];
  for (const shown of [first, second]) {
    await until(() => shown.length === 5);
    expect(shown.slice(1).sort()).toEqual(late);
  }
  const one = await reading("involvedObject.kind=Workflow,involvedObject.name=late");
  await until(() => one.length === 4);
  expect(one.toSorted()).toEqual(late);
  await deployment.submit(host, "third", HOLD);
  await until(() => first.length === 7);
  expect(one).toHaveLength(4);
});

test("the uid of a workflow selects what happened to it and its nodes, before and now", async () => {
  const host = await deployment.replica("other");
  await deployment.submit(host, "early", HOLD);
  const page = await deployment.store.query.list({ kind: "wf", limit: 1, parts: [] });
  const uid = page.items[0]?.index.uid;
  const shown = await reading(`involvedObject.uid=${uid}`);
  await until(() => shown.length === 1);
  await deployment.submit(host, "late", HOLD);
  await host.execute("default", "early", { type: "control", request: { type: "resume" } });
  await until(() => shown.length === 4);
  expect(shown.toSorted()).toEqual([
    "early WorkflowNodeRunning",
    "early WorkflowNodeSucceeded",
    "early WorkflowRunning",
    "early WorkflowSucceeded",
  ]);
});

const aboutBinding = (name: string) => ({
  apiVersion: "argoproj.io/v1alpha1",
  kind: "WorkflowEventBinding",
  namespace: "default",
  name,
  component: "workflow-server",
});

const trouble = (id: string) => ({
  id,
  at: deployment.clock.now(),
  type: "Warning" as const,
  reason: "WorkflowEventBindingError",
  message: id,
});

const stored = async () =>
  (await deployment.store.manifests.list("Event", { limit: 0 })).items.map(({ name }) => name);

test("report() is heard on every replica, kept for an hour, and stored once for the same trouble", async () => {
  const shown = await reading();
  const other = newFeed();
  const about = aboutBinding("b");
  await other.report(about, trouble("one"));
  await other.report(about, trouble("one"));
  await other.report(about, trouble("two"));
  await until(() => shown.length === 2);
  const later = await reading("type=Warning,source=workflow-server");
  await until(() => later.length === 2);
  expect(await stored()).toHaveLength(2);
  await deployment.clock.advance(2 * 3_600_000);
  // Also while nothing else is reported.
  const past = await reading("type=Warning,source=workflow-server");
  await other.report(about, trouble("three"));
  await until(async () => (await stored()).length === 1);
  await until(() => past.length > 0);
  expect(past).toHaveLength(1);
  await expect(reading("spec.x=1")).rejects.toMatchObject({ status: 400 });
});

test("of a binding that fails in ever new ways only some events are stored, and all of them go", async () => {
  for (let at = 0; at < 500; at++) {
    await feed.report(aboutBinding("b"), trouble(`job ${at} exists`));
  }
  expect(await stored()).toHaveLength(25);
  await deployment.clock.advance(301_000);
  for (const id of ["one more", "two more"]) await feed.report(aboutBinding("b"), trouble(id));
  expect(await stored()).toHaveLength(26);
  for (let at = 0; at < 1_500; at++) await feed.report(aboutBinding(`b${at}`), trouble("fails"));
  expect(await stored()).toHaveLength(1_526);
  await deployment.clock.advance(3_700_000);
  await feed.report(aboutBinding("last"), trouble("fails"));
  await until(async () => (await stored()).length === 1);
});
