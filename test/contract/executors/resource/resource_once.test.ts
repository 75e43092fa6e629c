/** Resource templates whose calls' answers get lost, or whose replica dies: on an API server of the test. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { ResourceExecutor } from "../../../../src/executors/resource/executor.ts";
import type { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { ResourceTemplate } from "../../../../src/spec/manifest.ts";
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

async function run(resource: ResourceTemplate, id = "task") {
  const reports = collectReports();
  await executor.start(taskSpec(id, { resource }, { namespace: "default" }), reports.report);
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
  expect(await run(gone)).toEqual({ phase: "Succeeded" });
  const another = await run(gone, "another");
  expect(another).toMatchObject({ phase: "Failed", message: expect.stringContaining("not found") });
});

test("a deletion that was refused first does not take a missing object for deleted", async () => {
  server.refuse(1);
  expect(await run({ action: "delete", manifest: configMap("{name: none}") })).toMatchObject({
    phase: "Failed",
    message: expect.stringContaining("not found"),
  });
});

test("a version that is not the object's any more ends the step", async () => {
  await run(named, "maker");
  const manifest = configMap('{name: one, resourceVersion: "7"}');
  expect(await run({ action: "replace", manifest })).toMatchObject({
    phase: "Failed",
    message: expect.stringContaining("has been modified"),
  });
});
