/** Manifests in a cluster: written through, followed, and correct again after missed changes. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/base/json.ts";
import { createClusterManifests } from "../../../src/kubernetes/cluster_manifests.ts";
import { collectionPath, objectPath } from "../../../src/kubernetes/cluster_object.ts";
import { ManifestMirror } from "../../../src/kubernetes/manifest_mirror.ts";
import { ObjectLookup } from "../../../src/kubernetes/object_lookup.ts";
import { followObjects } from "../../../src/kubernetes/object_watch.ts";
import { systemClock } from "../../../src/platform/clock.ts";
import { createLogger } from "../../../src/platform/log.ts";
import { ManifestKind } from "../../../src/spec/manifest.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { type ClusterKinds, defineKinds, kindsAreOn } from "../../support/cluster_kinds.ts";

const KIND = ManifestKind.WorkflowTemplate;

describe(`manifests in the cluster (on ${kindsAreOn})`, () => {
  const id = randomUUID().slice(0, 8);
  let kinds: ClusterKinds;

  beforeAll(async () => {
    kinds = await defineKinds(`m${id}.sluice.test`, `mf-m${id}`);
  });
  afterAll(() => kinds?.remove());

  /** One replica: a store with its copies. */
  function replica() {
    const { client, group } = kinds;
    const { manifests: inner } = openMemoryStore();
    const mirror = new ManifestMirror(inner);
    const { monotonic } = systemClock;
    const lookup = new ObjectLookup({ client, monotonic, log: createLogger("error") });
    return {
      inner,
      mirror,
      manifests: createClusterManifests({ client, group, inner, mirror, lookup }),
    };
  }

  const manifestOf = (name: string, spec: JsonObject, metadata: JsonObject = {}) => ({
    kind: KIND,
    namespace: kinds.namespace,
    name,
    text: JSON.stringify({
      metadata: { ...metadata, name, namespace: kinds.namespace, uid: "made-up", generation: 1 },
      spec,
    }),
    labels: {},
  });
  const path = (name: string) => objectPath(kinds.group, "WorkflowTemplate", kinds.namespace, name);
  const read = (name: string) => kinds.client.call<JsonObject>({ path: path(name) });
  const patch = (name: string, body: JsonObject) =>
    kinds.client.call<JsonObject>({ method: "PATCH", path: path(name), body });

  test("a write makes, changes and deletes the object; versions are the cluster's", async () => {
    const { manifests } = replica();
    const made = await manifests.put(manifestOf("a", { entrypoint: "x" }), undefined);
    if (!("version" in made)) throw new Error(made.conflict);
    const object = await read("a");
    const metadata = object["metadata"] as JsonObject;
    expect(made.version).toBe(metadata["resourceVersion"]);
    expect(made.text).toContain(String(metadata["uid"]));
    expect(object["spec"]).toMatchObject({ entrypoint: "x" });
    expect(await manifests.put(manifestOf("a", {}), undefined)).toEqual({ conflict: "exists" });
    expect(await manifests.put(manifestOf("a", {}), "1")).toEqual({ conflict: "changed" });
    const changed = await manifests.put(manifestOf("a", { entrypoint: "y" }), made.version);
    expect(changed).toHaveProperty("version");
    expect((await read("a"))["spec"]).toMatchObject({ entrypoint: "y" });
    expect((await manifests.list(KIND, { limit: 0 })).items.map(({ version }) => version))
      .toEqual("version" in changed ? [changed.version] : []);
    expect(await manifests.remove(KIND, kinds.namespace, "a", made.version)).toBeUndefined();
    expect(await manifests.remove(KIND, kinds.namespace, "a")).toBeDefined();
    await expect(read("a")).rejects.toThrow(/not found/);
    expect(await manifests.get(KIND, kinds.namespace, "a")).toBeUndefined();
  });

  test("a change by kubectl is neither overwritten nor lost, and members that we don't know stay", async () => {
    const { manifests } = replica();
    const made = await manifests.put(manifestOf("b", { entrypoint: "x" }), undefined);
    const version = "version" in made ? made.version : "";
    await patch("b", {
      metadata: { annotations: { tool: "gitops" } },
      spec: { futureMember: { deep: [1] }, templates: [{ name: "t", suspend: {}, novelty: true }] },
    });
    expect(await manifests.put(manifestOf("b", { entrypoint: "y" }), version))
      .toEqual({ conflict: "changed" });
    const now = await manifests.get(KIND, kinds.namespace, "b");
    expect(now?.text).toContain("gitops");
    const object = JSON.parse(now?.text ?? "") as { metadata: JsonObject; spec: JsonObject };
    const text = JSON.stringify({ ...object, spec: { ...object.spec, entrypoint: "z" } });
    expect(await manifests.put({ ...manifestOf("b", {}), text }, now?.version))
      .toHaveProperty("version");
    expect(await read("b")).toMatchObject({
      metadata: { annotations: { tool: "gitops" } },
      spec: {
        entrypoint: "z",
        futureMember: { deep: [1] },
        templates: [{ name: "t", novelty: true }],
      },
    });
  });

  test("a template that was applied this moment is found by a replica that has not heard of it", async () => {
    const [first, second] = [replica(), replica()];
    await first.manifests.put(manifestOf("c", { entrypoint: "x" }), undefined);
    expect(await second.manifests.get(KIND, kinds.namespace, "c")).toBeDefined();
    expect(await second.manifests.get(KIND, kinds.namespace, "nobody")).toBeUndefined();
  });

  test("config maps and secrets that the store has not are the cluster's; writes stay in the store", async () => {
    const { manifests } = replica();
    const { client, namespace } = kinds;
    await client.call({
      method: "POST",
      path: `/api/v1/namespaces/${namespace}/configmaps`,
      body: {
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name: "limits" },
        data: { size: "2" },
      },
    });
    const found = await manifests.get("ConfigMap", namespace, "limits");
    expect(JSON.parse(found?.text ?? "{}")).toMatchObject({ data: { size: "2" } });
    expect(await manifests.get("Secret", namespace, "limits")).toBeUndefined();
    const text = '{"metadata":{"name":"limits"},"data":{"size":"3"}}';
    const own = { kind: ManifestKind.ConfigMap, namespace, name: "limits", text, labels: {} };
    expect(await manifests.put(own, found?.version)).toHaveProperty("version");
    expect((await manifests.get("ConfigMap", namespace, "limits"))?.text).toBe(text);
    expect(await client.call({ path: `/api/v1/namespaces/${namespace}/configmaps/limits` }))
      .toMatchObject({ data: { size: "2" } });
  });

  test("refusals of the API server reach the caller in its words", async () => {
    const { manifests } = replica();
    const there = manifestOf("d", {});
    const nowhere = {
      ...there,
      namespace: "mf-nowhere",
      text: there.text.replace(kinds.namespace, "mf-nowhere"),
    };
    await expect(manifests.put(nowhere, undefined)).rejects.toMatchObject({ status: 404 });
    await expect(manifests.put({ ...manifestOf("Not_A_Name", {}) }, undefined))
      .rejects.toMatchObject({ status: 400 });
  });

  test("follows what happens, and after a cut finds what was missed, deletions too", async () => {
    const { inner, mirror } = replica();
    const { client, group, namespace } = kinds;
    const names = async () =>
      (await inner.list(KIND, { limit: 0 })).items.map(({ name }) => name).filter((name) =>
        name.startsWith("w-")
      );
    const follow = () => {
      const stop = new AbortController();
      const listed = Promise.withResolvers<void>();
      const running = followObjects(
        {
          client,
          clock: systemClock,
          path: collectionPath(group, "WorkflowTemplate", namespace),
          onTrouble: listed.reject,
          onListed: listed.resolve,
          sink: {
            see: async (object) => void await mirror.keep("WorkflowTemplate", object),
            gone: async ({ metadata: { name, resourceVersion } }) =>
              void await mirror.drop("WorkflowTemplate", namespace, name, resourceVersion),
            listed: async (keys, version) =>
              void await mirror.sweep("WorkflowTemplate", namespace, keys, version),
          },
        },
        stop.signal,
      );
      return { listed: listed.promise, stop: () => (stop.abort(), running) };
    };
    const create = (name: string) =>
      client.call({
        method: "POST",
        path: collectionPath(group, "WorkflowTemplate", namespace),
        body: {
          apiVersion: `${group}/v1alpha1`,
          kind: "WorkflowTemplate",
          metadata: { name },
          spec: {},
        },
      });
    const remove = (name: string) => client.call({ method: "DELETE", path: path(name) });
    await create("w-1");
    const first = follow();
    await first.listed;
    expect(await names()).toEqual(["w-1"]);
    await create("w-2");
    await expect.poll(names).toEqual(["w-1", "w-2"]);
    await remove("w-1");
    await expect.poll(names).toEqual(["w-2"]);
    await first.stop();
    await create("w-3");
    await remove("w-2");
    const second = follow();
    await second.listed;
    expect(await names()).toEqual(["w-3"]);
    await second.stop();
  });
});
