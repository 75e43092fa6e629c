/** Resource templates against a real API server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { ResourceExecutor } from "../../../../src/executors/resource/executor.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import type { ResourceTemplate, Template } from "../../../../src/spec/manifest.ts";
import {
  clusterMissing,
  createDeployment,
  loadTestKubeConfig,
} from "../../../support/cluster_executor.ts";
import { collectReports, taskSpec } from "../../../support/task_spec.ts";

const NAMESPACE = "resource-test";
const title = clusterMissing === undefined
  ? "resource templates"
  : `resource templates (skipped: ${clusterMissing})`;

const nothing = () => Promise.resolve(undefined);

describe.skipIf(clusterMissing !== undefined)(title, () => {
  let client: KubeClient;
  let executor: ResourceExecutor;
  beforeAll(async () => {
    client = new KubeClient(await loadTestKubeConfig());
    executor = new ResourceExecutor({
      client,
      clock: systemClock,
      memory: createDeployment().memory,
      artifacts: createArtifactStore({ config: { configMap: nothing, secret: nothing } }),
    });
    const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${NAMESPACE}`;
    await client.call({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: NAMESPACE } },
    });
    await client.call({
      method: "POST",
      path: `${rbac}/rolebindings`,
      body: {
        metadata: { name: "edit" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "edit" },
        subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
      },
    });
  });
  afterAll(async () => {
    await executor.close();
    await client.call({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}` });
    client.close();
  });

  let count = 0;
  async function run(resource: ResourceTemplate, more: Template = {}, id = `r${count++}`) {
    const reports = collectReports();
    const task = taskSpec(id, { resource, ...more }, { namespace: NAMESPACE });
    await executor.start(task, reports.report);
    return await reports.ended;
  }

  const configMap = (data: string) =>
    `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: one}\ndata: {a: ${data}}\n`;
  const read = {
    outputs: { parameters: [{ name: "v", valueFrom: { jsonPath: "{.data.a}" } }] },
  };

  test("create, get, patch, apply and delete", async () => {
    expect(await run({ action: "create", manifest: configMap("x") }, read)).toMatchObject({
      phase: "Succeeded",
      outputs: { parameters: [{ name: "v", value: "x" }] },
    });
    expect(await run({ action: "create", manifest: configMap("x") })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("already exists"),
    });
    await run({ action: "patch", mergeStrategy: "merge", manifest: configMap("w") });
    expect(
      (await run({ action: "get", manifest: configMap("") }, read)).outputs?.parameters?.[0]?.value,
    )
      .toBe("w");
    await run({ action: "apply", manifest: configMap("z") });
    expect(
      (await run({ action: "get", manifest: configMap("") }, read)).outputs?.parameters?.[0]?.value,
    )
      .toBe("z");
    expect(await run({ action: "delete", manifest: configMap("") })).toEqual({
      phase: "Succeeded",
    });
    expect(await run({ action: "get", manifest: configMap("") })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("not found"),
    });
  });

  test("flags, a manifest out of an artifact, and jq paths", async () => {
    const manifest = configMap("x").replace("name: one", "name: two");
    const dry = { action: "create", manifest, flags: ["--dry-run=server"] };
    expect(await run(dry)).toMatchObject({ phase: "Succeeded" });
    expect(await run({ action: "get", manifest })).toMatchObject({ phase: "Failed" });
    const inputs = { artifacts: [{ name: "file", raw: { data: manifest } }] };
    const fromFile = { action: "create", manifestFrom: { artifact: { name: "file" } } };
    const jq = { parameters: [{ name: "v", valueFrom: { jqFilter: ".data.a" } }] };
    expect(await run(fromFile, { inputs, outputs: jq })).toMatchObject({
      phase: "Succeeded",
      outputs: { parameters: [{ name: "v", value: "x" }] },
    });
    const gone = { action: "delete", manifest, flags: ["--ignore-not-found", "--grace-period=0"] };
    expect(await run(gone)).toEqual({ phase: "Succeeded" });
    expect(await run(gone)).toEqual({ phase: "Succeeded" });
    expect(await run({ action: "get", manifest, flags: ["--selector=a"] })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining("--selector is for deletions by kind"),
    });
  });

  test("a replacement, and a deletion that takes a while before the name is free again", async () => {
    const budget = (maxUnavailable: number) =>
      JSON.stringify({
        apiVersion: "policy/v1",
        kind: "PodDisruptionBudget",
        metadata: { name: "b" },
        spec: { maxUnavailable, selector: { matchLabels: { a: "b" } } },
      });
    await run({ action: "create", manifest: budget(1) });
    const outputs = {
      parameters: [{ name: "v", valueFrom: { jqFilter: ".spec.maxUnavailable" } }],
    };
    expect(await run({ action: "replace", manifest: budget(2) }, { outputs })).toMatchObject({
      phase: "Succeeded",
      outputs: { parameters: [{ value: "2" }] },
    });
    const slow = pod("", "trap 'sleep 1; exit' TERM; sleep 60 & wait")
      .replace('"generateName":""', '"name":"slow"');
    const running = { successCondition: "status.phase == Running" };
    expect(await run({ action: "create", manifest: slow, ...running }))
      .toEqual({ phase: "Succeeded" });
    expect(await run({ action: "delete", manifest: slow })).toEqual({ phase: "Succeeded" });
    expect(await run({ action: "create", manifest: slow, ...running }))
      .toEqual({ phase: "Succeeded" });
    await run({ action: "delete", manifest: slow, flags: ["--wait=false"] });
  });

  const pod = (name: string, text: string) =>
    JSON.stringify({
      apiVersion: "v1",
      kind: "Pod",
      metadata: { generateName: name },
      spec: {
        restartPolicy: "Never",
        containers: [{ name: "c", image: "localhost/box:1", command: ["sh", "-c", text] }],
      },
    });
  const conditions = {
    successCondition: "status.phase == Succeeded",
    failureCondition: "status.phase in (Failed, Unknown)",
  };

  test("conditions are waited for", async () => {
    expect(await run({ action: "create", manifest: pod("good-", "sleep 1"), ...conditions }))
      .toEqual({ phase: "Succeeded" });
    expect(await run({ action: "create", manifest: pod("bad-", "exit 1"), ...conditions })).toEqual(
      {
        phase: "Failed",
        message: "failure condition '{status.phase in [Failed Unknown]}' evaluated true",
      },
    );
  });

  test("an object is made once, also when the task is started again", async () => {
    await run({ action: "create", manifest: pod("once-", "true") }, {}, "once");
    await run({ action: "create", manifest: pod("once-", "true") }, {}, "once");
    const pods = await client.call<{ items: { metadata: { generateName?: string } }[] }>({
      path: `/api/v1/namespaces/${NAMESPACE}/pods`,
    });
    expect(pods.items.filter(({ metadata }) => metadata.generateName === "once-")).toHaveLength(1);
  });

  test("a workflow may do no more than its service account", async () => {
    const manifest = "apiVersion: v1\nkind: Namespace\nmetadata: {name: more}\n";
    expect(await run({ action: "create", manifest })).toMatchObject({
      phase: "Failed",
      message: expect.stringContaining(`system:serviceaccount:${NAMESPACE}:default`),
    });
  });
});
