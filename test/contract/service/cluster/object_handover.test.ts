/** A Workflow object whose leader dies in the middle of its work. */
import { afterAll, beforeAll, expect, test } from "vitest";
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

test("the next leader shows what the one before has claimed and not shown", async () => {
  const { client, group } = kinds;
  const instance = await startInstance({ gatekeeper: { server: true, authenticators: [] } });
  const calls = new ObjectCalls(client, group);
  const options = { calls, storeId: "store", rate: 100 };
  const [first, second] = [1, 2].map(() => new WorkflowObjects(instance.service, options));
  const place = { namespace: NAMESPACE, name: "one" };
  await client.call({
    method: "POST",
    path: collectionPath(group, "Workflow", NAMESPACE),
    body: {
      apiVersion: `${group}/v1alpha1`,
      kind: "Workflow",
      metadata: { name: place.name },
      spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
    },
  });
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
