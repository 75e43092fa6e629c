/** Pods that do not ask the cluster's DNS: they find the server all the same. */
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../../../src/base/json.ts";
import { KubernetesClaims } from "../../../../src/executors/kubernetes/claims.ts";
import { PodCreator } from "../../../../src/executors/kubernetes/pod_creator.ts";
import { createPodMetrics } from "../../../../src/executors/kubernetes/pod_metrics.ts";
import type { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import { createMetrics } from "../../../../src/platform/metrics.ts";
import type { TaskSpec } from "../../../../src/engine/effect.ts";
import { createDeployment } from "../../../support/cluster_executor.ts";
import {
  clientOf,
  type KubeApiServer,
  startKubeApiServer,
} from "../../../support/kube_api_server.ts";
import { shell, taskSpec } from "../../../support/task_spec.ts";

let api: KubeApiServer;
let client: KubeClient;
beforeAll(async () => {
  api = await startKubeApiServer();
  client = clientOf(api);
});
afterAll(async () => {
  client.close();
  await api.close();
});

let count = 0;

/** The hosts file's own lines of a pod with an output, or without. */
async function aliasesOf(
  podSpec: TaskSpec["podSpec"],
  { callbackUrl = "http://sluice.workflows:2746", includeResult = true } = {},
) {
  const { memory, instance } = createDeployment();
  const labelPrefix = "workflows.argoproj.io/";
  const creator = new PodCreator({
    client,
    clock: systemClock,
    memory,
    metrics: createPodMetrics(createMetrics(), () => 0),
    instance,
    labelPrefix,
    helperImage: "i",
    callbackUrl,
    secret: "s",
    findAddress: (name) =>
      name === "sluice.workflows" ? Promise.resolve("10.96.0.7") : Promise.reject(new Error(name)),
  }, new KubernetesClaims(client, instance, labelPrefix));
  const task = taskSpec(`dns-${count++}`, shell("true"), { podSpec, includeResult });
  const pod = await creator.ensure(task, 0) as unknown as { spec: JsonObject };
  return pod.spec["hostAliases"];
}

const OWN = { ip: "10.96.0.7", hostnames: ["sluice.workflows"] };

test.each<[string, TaskSpec["podSpec"]]>([
  ["on the network of its machine", { hostNetwork: true }],
  ["with the DNS of its machine", { dnsPolicy: "Default" }],
  ["with a DNS of its own", { dnsPolicy: "None", dnsConfig: { nameservers: ["9.9.9.9"] } }],
])("a pod %s knows where the server is", async (_title, podSpec) => {
  expect(await aliasesOf(podSpec)).toEqual([OWN]);
  const given = { ip: "1.2.3.4", hostnames: ["other"] };
  expect(await aliasesOf({ ...podSpec, hostAliases: [given] })).toEqual([given, OWN]);
});

test("a pod that needs nothing is as its manifest says", async () => {
  const podSpec = { hostNetwork: true };
  expect(await aliasesOf({})).toBeUndefined();
  expect(await aliasesOf({ ...podSpec, dnsPolicy: "ClusterFirstWithHostNet" })).toBeUndefined();
  expect(await aliasesOf(podSpec, { includeResult: false })).toBeUndefined();
  expect(await aliasesOf(podSpec, { callbackUrl: "http://10.0.0.1:2746" })).toBeUndefined();
  expect(await aliasesOf(podSpec, { callbackUrl: "http://[fd00::1]:2746" })).toBeUndefined();
  expect(await aliasesOf(podSpec, { callbackUrl: "http://unknown:2746" })).toBeUndefined();
});
