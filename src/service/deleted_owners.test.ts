import { expect, test } from "vitest";
import { ManifestMirror } from "../kubernetes/manifest_mirror.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { openMemoryStore } from "../store/memory/store.ts";
import { noteLostOwner } from "./deleted_owners.ts";

function cronOf(name: string, more: object = {}) {
  return {
    metadata: { namespace: "ns", name, uid: `uid-${name}`, resourceVersion: "5", ...more },
    spec: {
      schedules: ["* * * * *"],
      workflowSpec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
    },
  };
}

test("objects that are gone from the cluster are noted before their copies go, with what the cluster was asked for", async () => {
  const { manifests } = openMemoryStore();
  const mirror = new ManifestMirror(manifests, (gone) => noteLostOwner(manifests, gone, 1_000));
  await mirror.keep("CronWorkflow", cronOf("a"));
  await mirror.keep("CronWorkflow", cronOf("b", { finalizers: ["orphan"] }));
  const template = { ...cronOf("t"), spec: { templates: [{ name: "main", suspend: {} }] } };
  await mirror.keep("WorkflowTemplate", template);
  for (const name of ["a", "b"]) await mirror.drop("CronWorkflow", "ns", name, "6");
  await mirror.drop("WorkflowTemplate", "ns", "t", "6");
  const { items } = await manifests.list(ManifestKind.DeletedOwner, { limit: 0 });
  expect(items.map(({ text }) => JSON.parse(text))).toEqual([
    { namespace: "ns", name: "a", uid: "uid-a", orphans: false, at: 1_000 },
    { namespace: "ns", name: "b", uid: "uid-b", orphans: true, at: 1_000 },
  ]);
});

test("what somebody asked for here counts more than what the cluster tells", async () => {
  const { manifests } = openMemoryStore();
  const asked = { namespace: "ns", name: "a", uid: "uid-a", orphans: true, at: 1 };
  const place = { kind: ManifestKind.DeletedOwner, namespace: "ns", name: "uid-a", labels: {} };
  await manifests.put({ ...place, text: JSON.stringify(asked) }, undefined);
  const mirror = new ManifestMirror(manifests, (gone) => noteLostOwner(manifests, gone, 1_000));
  await mirror.keep("CronWorkflow", cronOf("a"));
  await mirror.drop("CronWorkflow", "ns", "a", "6");
  const stored = await manifests.get(ManifestKind.DeletedOwner, "ns", "uid-a");
  expect(JSON.parse(stored?.text ?? "")).toEqual(asked);
});
