/** Workflow objects whose leader dies in the middle of its work, or goes on elsewhere. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { ManifestMirror } from "../../../../src/kubernetes/manifest_mirror.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { startClusterSource } from "../../../../src/service/cluster/source.ts";
import { collectionPath } from "../../../../src/kubernetes/cluster_object.ts";
import { ObjectCalls } from "../../../../src/service/cluster/object_calls.ts";
import { factsOf } from "../../../../src/service/cluster/object_facts.ts";
import { WorkflowObjects } from "../../../../src/service/cluster/workflow_objects.ts";
import { startInstance } from "../../../support/api_server.ts";
import { type ClusterKinds, defineKinds } from "../../../support/cluster_kinds.ts";
import { STANDARD_NAMING } from "../../../../src/spec/naming.ts";

const NAMESPACE = "handover";

let kinds: ClusterKinds;
beforeAll(async () => {
  kinds = await defineKinds("handover.test", NAMESPACE, true);
});
afterAll(() => kinds.remove());

async function createObject(namespace: string, name: string): Promise<void> {
  await kinds.client.call({
    method: "POST",
    path: collectionPath(kinds.group, "Workflow", namespace),
    body: {
      apiVersion: `${kinds.group}/v1alpha1`,
      kind: "Workflow",
      metadata: { name },
      spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
    },
  });
}

test("the next leader shows what the one before has claimed and not shown", async () => {
  const { client, group } = kinds;
  const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  const calls = new ObjectCalls(client, group);
  const options = { calls, storeId: "store", rate: 100 };
  const [first, second] = [1, 2].map(() => new WorkflowObjects(instance.service, options));
  const place = { namespace: NAMESPACE, name: "one" };
  await createObject(NAMESPACE, place.name);
  const read = async () => {
    const object = await calls.read(place);
    if (object === undefined) throw new Error("the object is gone");
    return object;
  };
  // The first leader claims and submits, and never gets to write.
  await first?.sink(NAMESPACE).see(await read());
  expect(factsOf(await read(), STANDARD_NAMING.labelPrefix).run).toMatchObject({
    store: "store",
    version: "",
  });
  expect(await instance.service.workflows.find(NAMESPACE, place.name)).toBeDefined();

  // The workflow's changes were reported before the second leader knew the object.
  await second?.sink(NAMESPACE).see(await read());
  const stop = new AbortController();
  const writing = second?.run(stop.signal);
  await expect.poll(async () => factsOf(await read(), STANDARD_NAMING.labelPrefix).run?.version).not
    .toBe("");
  stop.abort();
  await writing;
  await instance.stop();
});

test(
  "objects are shown although others are in a namespace that is not watched any more",
  async () => {
    const { client, group, server } = kinds;
    const gatekeeper = { server: true, authenticators: [] } as const;
    const instance = await startInstance({ gatekeeper, executors: [] });
    const { store, host } = instance.service;
    await client.call({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: "former" } },
    });
    const calls = new ObjectCalls(client, group);
    const former = new WorkflowObjects(instance.service, { calls, storeId: "former", rate: 100 });
    const [replica = ""] = await store.membership.replicas();
    const mirror = new ManifestMirror(store.manifests);
    const options = { client, group, namespaces: [NAMESPACE], replica, mirror, statusRate: 100 };
    const source = await startClusterSource(
      instance.service,
      options,
      new AbortController().signal,
    );
    await createObject(NAMESPACE, "seen");
    const place = { namespace: NAMESPACE, name: "seen" };
    const phase = async () => {
      const object = await calls.read(place);
      return object && factsOf(object, STANDARD_NAMING.labelPrefix).phase;
    };
    await expect.poll(phase, { timeout: 10_000 }).toBe("Running");
    await createObject("former", "left");
    const left = await calls.read({ namespace: "former", name: "left" });
    if (left !== undefined) await former.sink("former").see(left);
    expect(await instance.service.workflows.find("former", "left")).toBeDefined();
    server?.forbid(["/namespaces/former/workflows/left"]);
    // What was written until now followed from the object alone.
    await systemClock.sleep(1_500);
    await host.execute(NAMESPACE, "seen", { type: "control", request: { type: "stop" } });
    await expect.poll(phase, { timeout: 5_000 }).toBe("Failed");
    await source.stop();
    await instance.stop();
  },
  30_000,
);
