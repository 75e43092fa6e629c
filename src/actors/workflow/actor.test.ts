import { afterEach, expect, test } from "vitest";
import { Deployment, SHARDS, TTL_MS, until } from "../../../test/support/deployment.ts";
import { DATABASE_LIMITS, type WorkflowSpec } from "../../spec/manifest.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { shardOf, workflowActorId } from "../actor_ids.ts";
import type { Host } from "../host.ts";
import { workflowKind } from "./actor.ts";

const running: Deployment[] = [];

afterEach(() => {
  for (const deployment of running.splice(0)) deployment.stop();
});

function deploy(...args: ConstructorParameters<typeof Deployment>): Deployment {
  const deployment = new Deployment(...args);
  running.push(deployment);
  return deployment;
}

const container = { image: "alpine", command: ["true"] };

/** trigger → wait for the job it started → finish */
const ASYNC_JOB: WorkflowSpec = {
  entrypoint: "main",
  templates: [
    {
      name: "main",
      steps: [
        [{ name: "trigger", template: "trigger" }],
        [{
          name: "wait",
          template: "wait",
          arguments: { parameters: [{ name: "uuid", value: "{{steps.trigger.outputs.result}}" }] },
        }],
        [{ name: "finish", template: "finish" }],
      ],
    },
    { name: "trigger", container },
    { name: "wait", inputs: { parameters: [{ name: "uuid" }] }, suspend: {} },
    { name: "finish", container },
  ],
};

function asyncJobs(): Deployment {
  return deploy((task) => ({
    phase: "Succeeded",
    outputs: { exitCode: "0", ...(task.displayName === "trigger" ? { result: "job-1" } : {}) },
  }));
}

async function waits(deployment: Deployment, name: string): Promise<void> {
  await until(async () => (await deployment.node(name, "wait"))?.phase === "Running");
}

function resume(host: Host, name: string) {
  const nodeFieldSelector = "inputs.parameters.uuid.value=job-1";
  return host.execute("default", name, {
    type: "control",
    request: { type: "resume", nodeFieldSelector },
  });
}

/** The state of its life, as it is stored. */
async function life(deployment: Deployment, name: string): Promise<unknown> {
  return JSON.parse((await deployment.stored(name))?.parts["h"] ?? "{}").machine;
}

test("an async job is triggered, waits, is resumed once, and completes", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  const created = await deployment.submit(host, "job", ASYNC_JOB);
  expect(created.status?.nodes).toBeUndefined();
  expect(created.metadata.resourceVersion).toMatch(/^\d+$/);
  await waits(deployment, "job");
  expect(await life(deployment, "job")).toBe("suspended");
  const resumed = await resume(host, "job");
  const wait = Object.values(resumed.status?.nodes ?? {}).find((node) =>
    node.displayName === "wait"
  );
  expect(wait?.phase).toBe("Succeeded");
  expect(resumed.status?.phase).toBe("Running");
  await expect(resume(host, "job")).rejects.toThrow();
  await until(async () => (await deployment.workflow("job")).status?.phase === "Succeeded");
  expect(await life(deployment, "job")).toBe("succeeded");
  expect([...deployment.executor.tasks.values()].map(({ starts }) => starts)).toEqual([1, 1]);
});

test("the life of a workflow goes on with the next owner where it stopped", async () => {
  const deployment = asyncJobs();
  const a = await deployment.replica("a");
  await deployment.submit(a, "job", ASYNC_JOB);
  await waits(deployment, "job");
  a.halt();
  const b = await deployment.replica("b");
  const answer = resume(b, "job");
  await deployment.clock.advance(2 * TTL_MS);
  await answer;
  await until(async () => (await deployment.workflow("job")).status?.phase === "Succeeded");
  expect(deployment.executor.tasks.size).toBe(2);
});

test("suspend, resume, stop and retry move the machine through its states", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  const control = (type: "suspend" | "resume" | "stop" | "terminate" | "retry") =>
    host.execute("default", "job", { type: "control", request: { type } });
  await deployment.submit(host, "job", ASYNC_JOB);
  await waits(deployment, "job");
  await control("suspend");
  await resume(host, "job");
  expect(await life(deployment, "job")).toBe("suspended");
  expect((await deployment.workflow("job")).status?.phase).toBe("Running");
  await control("resume");
  await until(async () => await life(deployment, "job") === "succeeded");
  await expect(control("suspend")).rejects.toThrow();
  await deployment.submit(host, "job2", ASYNC_JOB);
  await waits(deployment, "job2");
  await host.execute("default", "job2", {
    type: "control",
    request: { type: "stop", nodeFieldSelector: "displayName=wait", message: "job failed" },
  });
  await until(async () => await life(deployment, "job2") === "failed");
  expect((await deployment.node("job2", "wait"))?.message).toBe("job failed");
  await host.execute("default", "job2", { type: "control", request: { type: "retry" } });
  await waits(deployment, "job2");
  expect(await life(deployment, "job2")).toBe("suspended");
  const triggers = [...deployment.executor.tasks.values()].filter(({ task }) =>
    task.workflow === "job2" && task.displayName === "trigger"
  );
  expect(triggers).toHaveLength(1);
});

test("labels of a control request are set and removed with it", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  await deployment.submit(host, "job", ASYNC_JOB);
  await waits(deployment, "job");
  const request = { type: "suspend" } as const;
  await host.execute("default", "job", { type: "control", request, labels: { a: "1", b: "2" } });
  const workflow = await host.execute("default", "job", {
    type: "control",
    request: { type: "resume", nodeFieldSelector: "displayName=wait" },
    labels: { a: null },
  });
  expect(workflow.metadata.labels).toMatchObject({ b: "2" });
  expect(workflow.metadata.labels).not.toHaveProperty("a");
});

test("whoever wants to know only that a workflow was made is told its name, and so is a repeat", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  const metadata = { name: "job", namespace: "default", uid: "uid-job" };
  const workflow = { metadata, spec: ASYNC_JOB };
  const make = () =>
    host.execute("default", "job", { type: "submit", workflow, isBrief: true }, {
      idempotency: { key: "event", fingerprint: "event" },
    });
  const resourceVersion = expect.any(String) as string;
  const told = { metadata: { ...metadata, resourceVersion }, spec: {} };
  expect(await make()).toEqual(told);
  await waits(deployment, "job");
  expect(await make()).toEqual(told);
  const shard = shardOf(workflowActorId("default", "job"), SHARDS);
  const { event } = await deployment.store.shards.findAnswers(shard, ["event"]);
  expect(event?.answer).toEqual({ metadata, spec: {} });
});

test("a workflow template is read when it is needed, as it is then", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  const object = { metadata: { name: "tmpl", namespace: "default" }, spec: ASYNC_JOB };
  await deployment.store.manifests.put({
    kind: "WorkflowTemplate",
    namespace: "default",
    name: "tmpl",
    labels: {},
    text: JSON.stringify(object),
  }, undefined);
  await deployment.submit(host, "job", { workflowTemplateRef: { name: "tmpl" } });
  await waits(deployment, "job");
});

test("a mutex lets one workflow after the other run", async () => {
  const deployment = deploy(() => undefined);
  const host = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "main",
    synchronization: { mutexes: [{ name: "only-one" }] },
    templates: [{ name: "main", container }],
  };
  for (const name of ["one", "two", "three"]) await deployment.submit(host, name, spec);
  for (let round = 1; round <= 3; round++) {
    await until(() => deployment.executor.tasks.size === round);
    await deployment.clock.advance(2_000);
    expect(deployment.executor.tasks.size).toBe(round);
    const id = [...deployment.executor.tasks.keys()][round - 1] ?? "";
    deployment.executor.end(id);
  }
  await until(async () => (await deployment.workflow("three")).status?.phase === "Succeeded");
});

test("workflows of some size that wait for a short while for a lock stay in memory", async () => {
  const deployment = deploy(() => undefined);
  const { shards } = deployment.store;
  const load = shards.loadActor.bind(shards);
  const loaded: string[] = [];
  shards.loadActor = async (shard, id, ...rest) => {
    const actor = await load(shard, id, ...rest);
    if (actor !== undefined && id.startsWith("wf/")) loaded.push(id);
    return actor;
  };
  const host = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "main",
    arguments: { parameters: [{ name: "text", value: "x".repeat(150_000) }] },
    synchronization: { mutexes: [{ name: "only-one" }] },
    templates: [{ name: "main", container }],
  };
  const names = ["one", "two", "three", "four"];
  for (const name of names) await deployment.submit(host, name, spec);
  for (const [round, name] of names.entries()) {
    await until(() => deployment.executor.tasks.size === round + 1);
    deployment.executor.end([...deployment.executor.tasks.keys()][round] ?? "");
    await until(async () => {
      const stored = await load(
        shardOf(workflowActorId("default", name), SHARDS),
        workflowActorId("default", name),
      );
      return JSON.parse(stored?.parts["h"] ?? "{}").phase === "Succeeded";
    });
  }
  expect(loaded).toEqual([]);
});

test.each([
  ["of a config map", "sizes", { configMapKeyRef: { name: "sizes", key: "jobs" } }],
  ["of the database", DATABASE_LIMITS, { database: { key: "jobs" } }],
])("a semaphore %s that grows lets more of those in who wait", async (_, name, semaphore) => {
  const deployment = deploy(() => undefined);
  const host = await deployment.replica("a");
  const put = (size: string) =>
    deployment.store.manifests.put({
      kind: "ConfigMap",
      namespace: "default",
      name,
      labels: {},
      text: JSON.stringify({ metadata: { name }, data: { jobs: size } }),
    }, "*");
  await put("1");
  const spec: WorkflowSpec = {
    entrypoint: "main",
    synchronization: { semaphores: [semaphore] },
    templates: [{ name: "main", container }],
  };
  for (const name of ["one", "two", "three"]) await deployment.submit(host, name, spec);
  await until(() => deployment.executor.tasks.size === 1);
  await deployment.clock.advance(2_000);
  expect(deployment.executor.tasks.size).toBe(1);
  await put("2");
  await host.limitsChanged("default", name, { jobs: "2", other: "text" });
  await until(() => deployment.executor.tasks.size === 2);
  await deployment.clock.advance(2_000);
  expect(deployment.executor.tasks.size).toBe(2);
});

test("deleting a workflow gives back its lock", async () => {
  const deployment = deploy(() => undefined);
  const host = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "main",
    synchronization: { mutexes: [{ name: "only-one" }] },
    templates: [{ name: "main", container }],
  };
  await deployment.submit(host, "one", spec);
  await until(() => deployment.executor.tasks.size === 1);
  await deployment.submit(host, "two", spec);
  await host.execute("default", "one", { type: "delete" });
  await until(() => deployment.executor.tasks.size === 2);
  expect([...deployment.executor.tasks.values()][0]?.cancelled).toBe(true);
});

test("a workflow deletes itself when its time to live is over", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  await deployment.submit(host, "job", {
    entrypoint: "main",
    ttlStrategy: { secondsAfterCompletion: 60 },
    templates: [{ name: "main", container }],
  });
  await until(async () => await life(deployment, "job") === "succeeded");
  await deployment.clock.advance(58_000);
  expect(await deployment.stored("job")).toBeDefined();
  await deployment.clock.advance(5_000);
  expect(await deployment.stored("job")).toBeUndefined();
});

test("a user's text that looks like a part of XState stays as it is", async () => {
  const deployment = asyncJobs();
  const host = await deployment.replica("a");
  const container = { ports: [{}], resources: { requests: {}, limits: {} }, securityContext: {} };
  const trap = { xstate$$type: 1, id: "x", spec: { sidecar: { container } } };
  await deployment.submit(host, "job", { ...ASYNC_JOB, executorPlugins: [trap] });
  await waits(deployment, "job");
  await host.drain();
  const next = await deployment.replica("b");
  const workflow = await resume(next, "job");
  expect(workflow.spec.executorPlugins).toEqual([trap]);
});

test("a repeated request for a lock that arrives late blocks nobody", async () => {
  const deployment = deploy();
  const host = await deployment.replica("a");
  const spec: WorkflowSpec = {
    entrypoint: "work",
    synchronization: { mutexes: [{ name: "m" }] },
    templates: [{ name: "work", container }],
  };
  const ends = (name: string) =>
    until(async () => (await deployment.workflow(name)).status?.phase === "Succeeded");
  const keys = [{ kind: "mutex", key: "default/Mutex/m", limit: 1 }];
  const late = { type: "acquire", holder: "default/first", keys, priority: 0, createdAt: 0 };
  await deployment.submit(host, "first", spec);
  await ends("first");
  await host.deliver("late", "locks", late);
  await deployment.submit(host, "second", spec);
  await ends("second");
  await host.execute("default", "first", { type: "delete" });
  await host.deliver("later", "locks", late);
  await deployment.submit(host, "third", spec);
  await ends("third");
});

test("a lock that is granted too late is given back even when the workflow is deleted in the same batch", async () => {
  const deployment = deploy();
  const host = await deployment.replica("a");
  await deployment.submit(host, "job", {
    entrypoint: "work",
    templates: [{ name: "work", container }],
  });
  await until(async () => (await deployment.workflow("job")).status?.phase === "Succeeded");
  const actor = workflowKind.hydrate(
    workflowActorId("default", "job"),
    await deployment.stored("job"),
  );
  const env = { ...STANDARD_NAMING, now: 0, randomSuffix: () => "x", findManifest: () => null };
  const holder = "default/job#uid-job.0";
  actor.receive({ type: "locks-granted", holder }, env);
  actor.receive({ type: "delete" }, env);
  const releases = actor.take().effects.filter(({ type }) => type === "release-locks");
  expect(releases).toMatchObject([{ holder }]);
});
