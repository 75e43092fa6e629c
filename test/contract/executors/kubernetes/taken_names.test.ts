/** A pod that has the name of a task's pod, and is not the task's. */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import { KubernetesExecutor } from "../../../../src/executors/kubernetes/executor.ts";
import { INSTANCE_LABEL, TASK_ANNOTATION } from "../../../../src/executors/kubernetes/pod_marks.ts";
import type { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { createLogger } from "../../../../src/platform/log.ts";
import { createMetrics } from "../../../../src/platform/metrics.ts";
import { createDeployment } from "../../../support/cluster_executor.ts";
import {
  clientOf,
  type KubeApiServer,
  startKubeApiServer,
} from "../../../support/kube_api_server.ts";
import { collectReports, shell, taskSpec } from "../../../support/task_spec.ts";

let api: KubeApiServer;
let client: KubeClient;
let executor: KubernetesExecutor;

const deployment = createDeployment();
const PODS = "/api/v1/namespaces/default/pods";

beforeAll(async () => {
  api = await startKubeApiServer();
  client = clientOf(api);
  executor = new KubernetesExecutor({
    client,
    memory: deployment.memory,
    instance: deployment.instance,
    clock: systemClock,
    log: createLogger("silent"),
    metrics: createMetrics(),
    namespaces: ["default"],
    helperImage: "i",
    callbackUrl: "http://127.0.0.1:1",
    labelPrefix: "workflows.argoproj.io/",
    secret: "s",
  });
});

afterAll(async () => {
  await executor.close();
  await api.close();
});

/** Puts a pod where that of a new task will be. */
async function occupy(id: string, metadata: JsonObject, status: JsonObject) {
  const task = { ...taskSpec(id, shell("true")), namespace: "default" };
  const body = { metadata: { ...metadata, name: task.podName }, spec: {}, status };
  const pod = await client.call<JsonObject>({ method: "POST", path: PODS, body });
  const uid = async () => {
    const found = await client.call<JsonObject>({ path: `${PODS}/${task.podName}` });
    return (found["metadata"] as JsonObject)["uid"];
  };
  return { task, before: (pod["metadata"] as JsonObject)["uid"], uid };
}

const running = { phase: "Running" };
const failed = { phase: "Failed" };

test.each<[title: string, metadata: JsonObject, status: JsonObject]>([
  ["a user's own", { labels: { app: "web" } }, running],
  ["another deployment's that runs", {
    labels: { [INSTANCE_LABEL]: "another", "workflows.argoproj.io/workflow": "wf" },
    annotations: { [TASK_ANNOTATION]: "t" },
  }, running],
  ["another workflow's that has ended", {
    labels: { "workflows.argoproj.io/workflow": "other" },
  }, failed],
])("a pod of that name stays: %s", async (title, metadata, status) => {
  const { task, before, uid } = await occupy(`stays-${title.length}`, metadata, status);
  const reports = collectReports();
  await executor.start(task, reports.report);
  expect(await reports.ended).toMatchObject({
    phase: "Error",
    message:
      `Pod ${task.podName} is there already and not this workflow's: delete it, or name the workflow otherwise`,
  });
  expect(await uid()).toBe(before);
});

test.each<[title: string, metadata: JsonObject, status: JsonObject]>([
  ["of an earlier start", {
    labels: { [INSTANCE_LABEL]: deployment.instance },
    annotations: { [TASK_ANNOTATION]: "earlier" },
  }, running],
  ["that a workflow of this name has left under another controller", {
    labels: { "workflows.argoproj.io/workflow": "wf" },
  }, failed],
])("a pod of that name makes room: one %s", async (title, metadata, status) => {
  const { task, before, uid } = await occupy(`goes-${title.length}`, metadata, status);
  await executor.start(task, collectReports().report);
  await vi.waitFor(async () => expect(await uid()).not.toBe(before));
});

test("while a pod of that name is being deleted, the task waits, and says so", async () => {
  const going = { deletionTimestamp: "2026-01-01T00:00:00Z" };
  const { task, uid, before } = await occupy("waits", going, running);
  const reports = collectReports();
  await executor.start(task, reports.report);
  await vi.waitFor(() =>
    expect(reports.facts).toContainEqual({
      type: "task-pending",
      task: task.id,
      message: `Pod ${task.podName} that was there before is being deleted`,
    })
  );
  await client.call({ method: "DELETE", path: `${PODS}/${task.podName}` });
  await vi.waitFor(async () => expect(await uid()).not.toBe(before), 5_000);
});
