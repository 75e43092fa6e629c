/** Resource templates whose calls' answers get lost, or whose replica dies: on an API server of the test. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { ResourceExecutor } from "../../../../src/executors/resource/executor.ts";
import type { JsonObject } from "../../../../src/base/json.ts";
import {
  KubeClient,
  KubeError,
  type KubeRequest,
  type WatchEvent,
} from "../../../../src/kubernetes/kube_client.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { Parameter, ResourceTemplate } from "../../../../src/spec/manifest.ts";
import { createDeployment } from "../../../support/cluster_executor.ts";
import {
  clientOf,
  type KubeApiServer,
  startKubeApiServer,
} from "../../../support/kube_api_server.ts";
import { collectReports, taskSpec } from "../../../support/task_spec.ts";

const PATH = "/api/v1/namespaces/default/configmaps";
let server: KubeApiServer;
let client: KubeClient;
let executor: ResourceExecutor;
let memory = createDeployment().memory;
beforeEach(async () => {
  server = await startKubeApiServer();
  client = clientOf(server);
  memory = createDeployment().memory;
  executor = new ResourceExecutor({ client, clock: systemClock, memory });
});
afterEach(async () => {
  await executor.close();
  client.close();
  await server.close();
});

async function run(resource: ResourceTemplate, id = "task", parameters: Parameter[] = []) {
  const reports = collectReports();
  const template = { resource, outputs: { parameters } };
  await executor.start(taskSpec(id, template, { namespace: "default" }), reports.report);
  return await reports.ended;
}

function configMap(metadata: string): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: ${metadata}\n`;
}

async function names(): Promise<string[]> {
  const { items } = await client.call<{ items: { metadata: { name: string } }[] }>({ path: PATH });
  return items.map(({ metadata }) => metadata.name).sort();
}

const named = { action: "create", manifest: configMap("{name: one}") };
const generated = { action: "create", manifest: configMap("{generateName: some-}") };

test.each([["a name of its own", named], ["a name that is generated", generated]])(
  "an object with %s is made once, although the answer got lost",
  async (_title, resource) => {
    server.lose(1);
    expect(await run(resource)).toEqual({ phase: "Succeeded" });
    expect(await names()).toHaveLength(1);
  },
);

test.each([["a name of its own", named], ["a name that is generated", generated]])(
  "an object with %s is made once, although the replica died before it was noted",
  async (_title, resource) => {
    await run(resource);
    await memory.removeBlobs("");
    expect(await run(resource)).toEqual({ phase: "Succeeded" });
    expect(await names()).toHaveLength(1);
    expect(await run(resource, "another")).toMatchObject(
      resource === named
        ? { phase: "Failed", message: expect.stringContaining("already exists") }
        : { phase: "Succeeded" },
    );
  },
);

test("a generated name that is taken is not used", async () => {
  await run(generated);
  const [taken = ""] = await names();
  expect(taken).toMatch(/^some-[a-z0-9]{5}$/);
  await client.call({ method: "DELETE", path: `${PATH}/${taken}` });
  await client.call({ method: "POST", path: PATH, body: { metadata: { name: taken } } });
  await memory.removeBlobs("");
  expect(await run(generated)).toEqual({ phase: "Succeeded" });
  expect(await names()).toHaveLength(2);
});

test("an object is deleted, although the answer got lost or the replica died", async () => {
  const gone = { action: "delete", manifest: configMap("{name: one}") };
  await run(named, "maker");
  server.lose(1);
  expect(await run(gone)).toEqual({ phase: "Succeeded" });
  expect(await names()).toEqual([]);
  const strict = { ...gone, flags: ["--ignore-not-found=false"] };
  expect(await run(strict)).toMatchObject({ phase: "Failed" });
  await run(named, "second maker");
  server.lose(1);
  expect(await run(strict, "strict")).toEqual({ phase: "Succeeded" });
  expect(await names()).toEqual([]);
  expect(await run(strict, "strict")).toEqual({ phase: "Succeeded" });
});

test("a deletion that was refused first does not take a missing object for deleted", async () => {
  server.refuse(1);
  const flags = ["--ignore-not-found=false"];
  expect(await run({ action: "delete", flags, manifest: configMap("{name: none}") })).toMatchObject(
    { phase: "Failed", message: expect.stringContaining("not found") },
  );
});

test("where there is no object, a deletion succeeds and its outputs are empty", async () => {
  const manifest = configMap("{name: none}");
  const parameters = [
    { name: "a", valueFrom: { jsonPath: "{.data.a}" } },
    { name: "b", valueFrom: { jqFilter: ".data.b", default: "nothing" } },
  ];
  const none = {
    phase: "Succeeded",
    outputs: { parameters: [{ value: "" }, { value: "nothing" }] },
  };
  expect(await run({ action: "delete", manifest }, "gone", parameters)).toMatchObject(none);
  const get = { action: "get", manifest, flags: ["--ignore-not-found"] };
  expect(await run(get, "unread", parameters)).toMatchObject(none);
});

test.each([
  ["without a name", configMap("{generateName: some-}"), [], "has no metadata.name"],
  ["with an empty name", configMap('{name: ""}'), [], "has no metadata.name"],
  ["with a name that leads to all of them", configMap('{name: "."}'), [], "can't be the name"],
  ["by an empty selector", "", ["configmap", "--selector="], "flags name no object"],
])("an object %s is not deleted, nor is any other", async (_title, manifest, flags, message) => {
  await run(named, "maker");
  expect(await run({ action: "delete", manifest, flags })).toMatchObject({
    phase: "Failed",
    message: expect.stringContaining(message),
  });
  expect(await names()).toEqual(["one"]);
});

/** A client of a cluster where an object stays for three looks after its deletion, and what it was asked. */
class Lingering extends KubeClient {
  readonly asked: string[] = [];

  override async call<Answer = JsonObject>(request: KubeRequest): Promise<Answer> {
    const { method = "GET", path } = request;
    if (!path.includes("/configmaps")) return await super.call<Answer>(request);
    this.asked.push(method);
    if (this.asked.length > 3) throw new KubeError(404, "NotFound", "gone");
    return { metadata: { uid: "u", deletionTimestamp: "2026-11-28T00:00:00Z" } } as Answer;
  }
}

test("a deletion ends when the object is gone, unless the flags say otherwise", async () => {
  for (
    const [flags, asked] of [[[], 4], [["--wait=false"], 1], [["--dry-run=server"], 1]] as const
  ) {
    const lingering = new Lingering(client.config);
    const patient = new ResourceExecutor({ client: lingering, clock: systemClock, memory });
    const reports = collectReports();
    const manifest = configMap("{name: one}");
    const resource = { action: "delete", manifest, flags: [...flags] };
    await patient.start(taskSpec("t", { resource }, { namespace: "default" }), reports.report);
    expect(await reports.ended).toEqual({ phase: "Succeeded" });
    expect(lingering.asked).toHaveLength(asked);
    await patient.close();
    lingering.close();
  }
});

/** A client of an account that may not watch, and how often it has read an object. */
class Blind extends KubeClient {
  reads = 0;

  override call<Answer = JsonObject>(request: KubeRequest): Promise<Answer> {
    if (request.path.endsWith("/one")) this.reads++;
    return super.call<Answer>(request);
  }

  // deno-lint-ignore require-yield
  override async *watch(): AsyncGenerator<WatchEvent> {
    throw new KubeError(403, "Forbidden", "configmaps is forbidden: cannot watch");
  }
}

test("an object that the account may not watch is read now and then", async () => {
  const blind = new Blind(client.config);
  const patient = new ResourceExecutor({ client: blind, clock: systemClock, memory });
  const reports = collectReports();
  const resource = { ...named, successCondition: "data.a == x" };
  await patient.start(taskSpec("t", { resource }, { namespace: "default" }), reports.report);
  await systemClock.sleep(2_000);
  expect(blind.reads).toBe(0);
  await client.call({ method: "PATCH", path: `${PATH}/one`, body: { data: { a: "x" } } });
  expect(await reports.ended).toEqual({ phase: "Succeeded" });
  expect(blind.reads).toBe(1);
  await patient.close();
  blind.close();
}, 15_000);

test("an object is replaced as it is now, where the manifest names no version", async () => {
  await run(named, "maker");
  const manifest = `${configMap("{name: one}")}data: {a: new}\n`;
  const parameters = [{ name: "a", valueFrom: { jsonPath: "{.data.a}" } }];
  expect(await run({ action: "replace", manifest }, "next", parameters))
    .toMatchObject({ phase: "Succeeded", outputs: { parameters: [{ value: "new" }] } });
});

test("a version that is not the object's any more ends the step", async () => {
  await run(named, "maker");
  const manifest = configMap('{name: one, resourceVersion: "7"}');
  expect(await run({ action: "replace", manifest })).toMatchObject({
    phase: "Failed",
    message: expect.stringContaining("has been modified"),
  });
});
