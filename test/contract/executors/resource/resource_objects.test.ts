/** Resource templates that name their object by flags, on an API server of the test or a real one. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ResourceExecutor } from "../../../../src/executors/resource/executor.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { TaskSpec } from "../../../../src/engine/effect.ts";
import type { ResourceTemplate, Template } from "../../../../src/spec/manifest.ts";
import { type ClusterKinds, defineKinds, kindsAreOn } from "../../../support/cluster_kinds.ts";
import { createDeployment, troubled } from "../../../support/cluster_executor.ts";
import { collectReports, taskSpec } from "../../../support/task_spec.ts";

const NAMESPACE = "resource-objects";

describe(`resource templates (on ${kindsAreOn})`, () => {
  let kinds: ClusterKinds;
  let executor: ResourceExecutor;
  beforeAll(async () => {
    kinds = await defineKinds("resource-objects.test", NAMESPACE);
    const { client } = kinds;
    await client.call({
      method: "POST",
      path: `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}/rolebindings`,
      body: {
        metadata: { name: "edit" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
        subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
      },
    });
    const { memory } = createDeployment();
    const { group } = kinds;
    executor = new ResourceExecutor({ client, clock: systemClock, memory, group });
  });
  afterAll(async () => {
    await executor.close();
    await kinds.remove();
  });

  let count = 0;
  async function run(resource: ResourceTemplate, more: Template = {}, of: Partial<TaskSpec> = {}) {
    const reports = collectReports();
    const task = taskSpec(`f${count++}`, { resource, ...more }, { namespace: NAMESPACE, ...of });
    await executor.start(task, reports.report);
    return await reports.ended;
  }

  const make = (name: string, app: string) =>
    run({
      action: "create",
      manifest: JSON.stringify({
        apiVersion: "v1",
        kind: "ConfigMap",
        metadata: { name, labels: { app } },
        data: { a: "x" },
      }),
    });
  const read = (jqFilter: string): Template => ({
    outputs: { parameters: [{ name: "v", valueFrom: { jqFilter } }] },
  });
  const value = (v: string) => ({
    phase: "Succeeded",
    outputs: { parameters: [expect.objectContaining({ name: "v", value: v })] },
  });

  test("an object is made once, also while the store does not answer", async () => {
    const { client, group } = kinds;
    const memory = troubled(createDeployment().memory);
    const patient = new ResourceExecutor({ client, clock: systemClock, memory, group });
    const manifest = JSON.stringify({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "patient" },
    });
    const reports = collectReports();
    const resource = { action: "create", manifest };
    const task = taskSpec("patient", { resource }, { namespace: NAMESPACE });
    await patient.start(task, reports.report);
    expect(await reports.ended).toMatchObject({ phase: "Succeeded" });
    await patient.close();
  });

  test("an object is read by its name, and its outputs by jq", async () => {
    await make("read", "web");
    const filter = '.data | to_entries | map("\\(.key)=\\(.value)") | join(",")';
    expect(await run({ action: "get", flags: ["configmap", "read"] }, read(filter)))
      .toMatchObject(value("a=x"));
    expect(await run({ action: "get", flags: ["cm/nope"] })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("not found"),
    });
    expect(await run({ action: "get", flags: ["configmap"] })).toMatchObject({
      phase: "Failed",
      message: 'flags name no object, only its kind "configmap"',
    });
  });

  test("an object is patched: by operations, and by a part of it", async () => {
    await make("patched", "web");
    const manifest =
      "- {op: replace, path: /data/a, value: w}\n- {op: add, path: /data/b, value: z}";
    const flags = ["configmap", "patched"];
    expect(
      await run(
        { action: "patch", mergeStrategy: "json", flags, manifest },
        read(".data | tojson"),
      ),
    ).toMatchObject(value('{"a":"w","b":"z"}'));
    expect(
      await run({ action: "patch", mergeStrategy: "merge", flags, manifest: "data: {b: null}" }, {
        ...read('.data | keys | join(" ")'),
      }),
    ).toMatchObject(value("a"));
    expect(await run({ action: "patch", mergeStrategy: "json", manifest })).toMatchObject({
      phase: "Failed",
      message: "a JSON patch needs the object in flags, for example [deployment, web]",
    });
    expect(await run({ action: "patch", mergeStrategy: "json", flags, manifest: "a: b" }))
      .toMatchObject({ phase: "Failed", message: "a JSON patch must be a list of operations" });
  });

  test("an object may belong to the Workflow object, where there is one", async () => {
    const manifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: owned}\n";
    const resource = { action: "create", setOwnerReference: true, manifest };
    expect(await run(resource, {}, { workflow: "by-rest" })).toMatchObject({
      phase: "Failed",
      message:
        "setOwnerReference needs a Workflow object in the cluster, and by-rest was not made as one",
    });
    const { metadata } = await kinds.client.call<{ metadata: { uid: string } }>({
      method: "POST",
      path: `/apis/${kinds.group}/v1alpha1/namespaces/${NAMESPACE}/workflows`,
      body: {
        apiVersion: `${kinds.group}/v1alpha1`,
        kind: "Workflow",
        metadata: { name: "owner" },
        spec: {},
      },
    });
    const owner = '.metadata.ownerReferences[0] | [.kind, .name, .uid == $uid] | join(" ")'
      .replace("$uid", JSON.stringify(metadata.uid));
    expect(
      await run(resource, read(owner), { workflow: "owner", workflowUid: metadata.uid }),
    ).toMatchObject(value("Workflow owner true"));
  });

  test("objects are deleted by name, or by their labels", async () => {
    await Promise.all([make("one", "old"), make("two", "old"), make("three", "new")]);
    const names = async () => {
      const { items } = await kinds.client.call<{ items: { metadata: { name: string } }[] }>({
        path: `/api/v1/namespaces/${NAMESPACE}/configmaps`,
      });
      return items.map(({ metadata }) => metadata.name)
        .filter((name) => ["one", "two", "three"].includes(name));
    };
    expect(await run({ action: "delete", flags: ["configmap", "--selector", "app=old"] }))
      .toEqual({ phase: "Succeeded" });
    expect(await names()).toEqual(["three"]);
    expect(await run({ action: "delete", flags: ["configmap", "three"] }))
      .toEqual({ phase: "Succeeded" });
    expect(await names()).toEqual([]);
    expect(await run({ action: "delete", flags: ["configmap", "three", "--ignore-not-found"] }))
      .toEqual({ phase: "Succeeded" });
    expect(await run({ action: "get", flags: ["configmap", "--selector=a=b"] }))
      .toMatchObject({ phase: "Failed", message: expect.stringContaining("deletions by kind") });
  });
});
