import { partTexts } from "../../base/part_text.ts";
import { afterEach, expect, test } from "vitest";
import { Deployment, SHARDS, TTL_MS, until } from "../../../test/support/deployment.ts";
import type { WorkflowSpec } from "../../spec/manifest.ts";
import { shardOf, workflowActorId } from "../actor_ids.ts";
import type { Host } from "../host.ts";
import { locksKind } from "../locks_actor.ts";
import { createWorkflowKind } from "./actor.ts";

const running: Deployment[] = [];

afterEach(() => {
  for (const deployment of running.splice(0)) deployment.stop();
});

/** More nodes than a deletion looks at. */
const MANY = 600;
const container = { image: "alpine", command: ["true"] };

function fanOut(count: number): WorkflowSpec {
  const work = { name: "work", template: "work", withSequence: { count: String(count) } };
  return {
    entrypoint: "main",
    templates: [
      { name: "main", steps: [[work, { name: "locked", template: "locked" }]] },
      { name: "work", container },
      { name: "locked", container, synchronization: { mutexes: [{ name: "m" }] } },
    ],
  };
}

/** Tasks run until they are ended. */
async function deploy(maxNodes?: number): Promise<{ deployment: Deployment; host: Host }> {
  const kinds = [createWorkflowKind(maxNodes === undefined ? {} : { maxNodes }), locksKind];
  const deployment = new Deployment(() => undefined, kinds);
  running.push(deployment);
  return { deployment, host: await deployment.replica("a") };
}

async function started(deployment: Deployment, host: Host, count: number): Promise<void> {
  await deployment.submit(host, "wf", fanOut(count));
  await until(() => deployment.executor.tasks.size === count + 1);
  await deployment.submit(host, "next", fanOut(1));
  await until(async () => (await deployment.node("next", "locked"))?.phase === "Pending");
}

/** Ends the replica, changes what is stored of the workflow, and starts another replica. */
async function again(
  deployment: Deployment,
  host: Host,
  put: Record<string, string> = {},
): Promise<Host> {
  host.halt();
  await deployment.clock.advance(2 * TTL_MS);
  const id = workflowActorId("default", "wf");
  const lease = await deployment.store.membership.acquire(shardOf(id, SHARDS), "test", TTL_MS);
  if (lease === undefined) throw new Error("the shard is not free");
  if (Object.keys(put).length > 0) {
    await deployment.store.shards.commit({
      ...lease,
      actors: [{ id, put: partTexts(put), drop: [] }],
      outboxPut: {},
      outboxDrop: [],
      timersSet: {},
      timersClear: [],
      answers: [],
    });
  }
  await deployment.store.membership.release(lease);
  const next = await deployment.replica("b");
  await deployment.clock.advance(TTL_MS);
  return next;
}

const remove = (host: Host, uid = "uid-wf") =>
  host.execute("default", "wf", { type: "delete", uid });
const terminate = (host: Host) =>
  host.execute("default", "wf", { type: "control", request: { type: "terminate" } });

function tasksOf(deployment: Deployment, workflow: string) {
  return [...deployment.executor.tasks.values()].filter(({ task }) => task.workflow === workflow);
}

async function everythingIsFree(deployment: Deployment): Promise<void> {
  await until(() => tasksOf(deployment, "wf").every(({ cancelled }) => cancelled));
  await until(async () => (await deployment.node("next", "locked"))?.phase === "Running");
}

const DAMAGES: Record<string, (parts: Record<string, string>) => Record<string, string>> = {
  "nothing is damaged": () => ({}),
  "one node cannot be read": (parts) => {
    const [key = ""] = Object.keys(parts).filter((one) => one.startsWith("n:"));
    return { [key]: "{" };
  },
  "no node can be read": (parts) =>
    Object.fromEntries(
      Object.keys(parts).filter((key) => key.startsWith("n:")).map((key) => [key, "null"]),
    ),
  "the specs cannot be read": () => ({ s: "[]" }),
  "the header cannot be read": () => ({ h: '{"schema":2,"metadata":1}' }),
};

test.each([
  ...Object.keys(DAMAGES).map((title) => [title, 2] as const),
  ...Object.keys(DAMAGES).map((title) => [title, MANY] as const),
])(
  "a deletion when %s, with %i nodes, ends its tasks and gives back its locks",
  async (title, count) => {
    const { deployment, host } = await deploy();
    await started(deployment, host, count);
    const parts = (await deployment.stored("wf"))?.parts ?? {};
    const next = await again(deployment, host, DAMAGES[title]?.(parts));
    if (title !== "the header cannot be read") {
      await expect(remove(next, "another")).rejects.toThrow("has another uid");
    }
    await remove(next);
    expect(await deployment.stored("wf")).toBeUndefined();
    await everythingIsFree(deployment);
    await deployment.submit(next, "wf", fanOut(1));
    await until(async () => (await deployment.node("wf", "work(0:0)"))?.phase === "Pending");
  },
);

test("a large workflow that is in memory is deleted, and what it left is cleaned up", async () => {
  const { deployment, host } = await deploy();
  const cleaned: string[] = [];
  deployment.executor.clean = (tasks) => {
    cleaned.push(...tasks);
    return Promise.resolve();
  };
  await started(deployment, host, MANY);
  const tasks = tasksOf(deployment, "wf").map(({ task }) => task.id);
  await remove(host);
  await everythingIsFree(deployment);
  await until(() => cleaned.length >= tasks.length);
  expect(new Set(cleaned)).toEqual(new Set(tasks));
  const shard = shardOf(workflowActorId("default", "wf"), SHARDS);
  await until(async () => {
    await deployment.clock.advance(100);
    const { outbox } = await deployment.store.shards.loadShard(shard);
    return !Object.keys(outbox).some((row) => row.includes("sweep"));
  });
});

test.each(["one node cannot be read", "no node can be read", "the specs cannot be read"])(
  "a workflow is over when %s, terminated or put aside",
  async (title) => {
    const { deployment, host } = await deploy();
    await started(deployment, host, 2);
    const parts = (await deployment.stored("wf"))?.parts ?? {};
    const next = await again(deployment, host, DAMAGES[title]?.(parts));
    // What was under way may have touched it first, and then it was put aside.
    const told = await terminate(next).then(
      ({ status }) => status?.message ?? "",
      (error: Error) => error.message,
    );
    expect(told).toMatch(/Stopped with strategy 'Terminate'; it cannot be loaded: part|put aside/);
    await everythingIsFree(deployment);
    const { items } = await deployment.store.query.list({
      kind: "wf",
      limit: 0,
      phases: ["Failed", "Error"],
    });
    expect(items.map(({ index }) => index.name)).toEqual(["wf"]);
    expect(items[0]?.index.labels).toMatchObject({ "workflows.argoproj.io/completed": "true" });
    await expect(terminate(next)).rejects.toThrow(/completed workflow|put aside/);
    const retry = { type: "control", request: { type: "retry" } } as const;
    await expect(next.execute("default", "wf", retry)).rejects.toThrow("cannot be read");
    await remove(next);
    expect(await deployment.stored("wf")).toBeUndefined();
  },
);

test("a workflow whose header cannot be read is not terminated, but says what to do", async () => {
  const { deployment, host } = await deploy();
  await started(deployment, host, 2);
  const next = await again(deployment, host, { h: "" });
  await expect(terminate(next)).rejects.toThrow(/cannot be read.*delete it/s);
});

test("of a workflow with too many nodes to be loaded only the header ends", async () => {
  const { deployment, host } = await deploy(50);
  const wait = { name: "wait", template: "wait", withSequence: { count: "60" } };
  const spec = {
    entrypoint: "main",
    templates: [{ name: "main", steps: [[wait]] }, { name: "wait", suspend: {} }],
  };
  await deployment.submit(host, "wf", spec);
  await until(async () => (await deployment.node("wf", "wait(59:59)"))?.phase === "Running");
  const next = await again(deployment, host);
  const answer = await terminate(next);
  expect(answer.status).toMatchObject({
    phase: "Failed",
    message: "Stopped with strategy 'Terminate'; it has too many nodes to be loaded",
  });
  // Nothing of it was written over: it can be read as before.
  expect((await deployment.workflow("wf")).spec.templates).toHaveLength(2);
  expect((await deployment.node("wf", "wait(59:59)"))?.phase).toBe("Running");
});

test("a healthy workflow is terminated as ever", async () => {
  const { deployment, host } = await deploy();
  await started(deployment, host, 60);
  const next = await again(deployment, host);
  expect((await terminate(next)).status?.phase).toBe("Running");
  await until(async () => (await deployment.workflow("wf")).status?.phase === "Failed");
  expect((await deployment.workflow("wf")).status?.message)
    .toBe("Stopped with strategy 'Terminate'");
  expect((await deployment.node("wf", "work(0:0)"))?.phase).toBe("Failed");
  await everythingIsFree(deployment);
});
