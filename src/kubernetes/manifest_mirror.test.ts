import { expect, test } from "vitest";
import { ManifestKind } from "../spec/manifest.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import type { ClusterObject } from "./cluster_object.ts";
import { clusterVersion, ManifestMirror } from "./manifest_mirror.ts";

const KIND = ManifestKind.WorkflowTemplate;

function templateOf(name: string, version: string, entrypoint = "main"): ClusterObject {
  return {
    metadata: { namespace: "ns", name, uid: `uid-${name}`, resourceVersion: version },
    spec: { entrypoint, templates: [{ name: "main", suspend: {} }] },
  };
}

function setUp() {
  const { manifests } = openMemoryStore();
  const mirror = new ManifestMirror(manifests);
  const versionOf = async (name: string) => {
    const stored = await manifests.get(KIND, "ns", name);
    return stored && clusterVersion(stored);
  };
  return { manifests, mirror, versionOf };
}

test("a copy never goes back in time", async () => {
  const { mirror, versionOf } = setUp();
  await mirror.keep("WorkflowTemplate", templateOf("a", "99"));
  await mirror.keep("WorkflowTemplate", templateOf("a", "100"));
  const kept = await mirror.keep("WorkflowTemplate", templateOf("a", "9", "old"));
  expect(kept.text).not.toContain("old");
  expect(await versionOf("a")).toBe("100");
  await mirror.drop("WorkflowTemplate", "ns", "a", "99");
  expect(await versionOf("a")).toBe("100");
  await mirror.drop("WorkflowTemplate", "ns", "a", "101");
  expect(await versionOf("a")).toBeUndefined();
});

test("many writers at once leave the newest", async () => {
  const { mirror, versionOf } = setUp();
  const versions = Array.from({ length: 8 }, (_, index) => String(95 + ((index * 5) % 8)));
  await Promise.all(versions.map((one) => mirror.keep("WorkflowTemplate", templateOf("a", one))));
  expect(await versionOf("a")).toBe("102");
});

test("sweep() takes away what is gone, and neither what is newer nor what was never in the cluster", async () => {
  const { manifests, mirror, versionOf } = setUp();
  for (const [name, version] of [["kept", "5"], ["gone", "6"], ["newer", "20"]] as const) {
    await mirror.keep("WorkflowTemplate", templateOf(name, version));
  }
  const text = '{"metadata":{"name":"mine"},"spec":{}}';
  await manifests.put({ kind: KIND, namespace: "ns", name: "mine", text, labels: {} }, undefined);
  const strangers = await mirror.sweep("WorkflowTemplate", "ns", new Set(["ns/kept"]), "10");
  expect(strangers).toBe(1);
  const { items } = await manifests.list(KIND, { limit: 0 });
  expect(items.map(({ name }) => name)).toEqual(["kept", "mine", "newer"]);
  expect(await versionOf("mine")).toBeUndefined();
});

test("what is no manifest of its kind is refused, and leaves what is there", async () => {
  const { mirror, versionOf } = setUp();
  await mirror.keep("WorkflowTemplate", templateOf("a", "1"));
  const bad = { ...templateOf("a", "2"), spec: { templates: 7 } };
  await expect(mirror.keep("WorkflowTemplate", bad)).rejects.toThrow(/templates/);
  expect(await versionOf("a")).toBe("1");
});
