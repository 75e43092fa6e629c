/**
 * The kubernetes executor on a real cluster, for tests. It needs `SLUICE_TEST_KUBECONFIG`, and the image
 * `localhost/box:1` on the cluster's node (`deno task e2e:cluster` loads it). `SLUICE_TEST_HOST` is this machine's
 * address as pods reach it. Each deployment has its own namespace, so that no test meets another run's pods.
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import type { JsonObject } from "../../src/base/json.ts";
import { unavailable } from "../../src/base/problem.ts";
import { KubeClient, KubeError } from "../../src/kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../src/kubernetes/kube_config.ts";
import type { KubeConfig } from "../../src/kubernetes/kube_config.ts";
import { KubernetesExecutor } from "../../src/executors/kubernetes/executor.ts";
import type { FindUnwanted } from "../../src/executors/kubernetes/orphan_pods.ts";
import type { LocalExecutorOptions } from "../../src/executors/local/executor.ts";
import type { Executor } from "../../src/executors/port.ts";
import { createTaskCallback } from "../../src/executors/kubernetes/task_callback.ts";
import type { TaskMemory } from "../../src/executors/kubernetes/task_report.ts";
import { createLogger } from "../../src/platform/log.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { serve } from "../../src/platform/serve.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

const { SLUICE_TEST_KUBECONFIG, SLUICE_TEST_HOST = "10.99.0.1" } = process.env;

export const clusterMissing = SLUICE_TEST_KUBECONFIG === undefined
  ? "no cluster; set SLUICE_TEST_KUBECONFIG"
  : undefined;

/** The test cluster's configuration. */
export function loadTestKubeConfig(): Promise<KubeConfig> {
  return loadKubeConfig({ KUBECONFIG: SLUICE_TEST_KUBECONFIG });
}

/** What the replicas of one deployment share. */
export interface Deployment {
  instance: string;
  namespace: string;
  memory: TaskMemory;
}

export function createDeployment(): Deployment {
  const blobs = new Map<string, Uint8Array>();
  const instance = randomUUID();
  return {
    instance,
    namespace: `sl-test-${instance.slice(0, 8)}`,
    memory: {
      putBlob: (key, value) => Promise.resolve(void blobs.set(key, value)),
      getBlob: (key) => Promise.resolve(blobs.get(key)),
      removeBlobs(prefix) {
        for (const key of blobs.keys()) if (key.startsWith(prefix)) blobs.delete(key);
        return Promise.resolve();
      },
    },
  };
}

/** A memory whose store answers each second call only, as one that is being failed over. */
export function troubled(memory: TaskMemory): TaskMemory {
  let calls = 0;
  const through = <Result>(act: () => Promise<Result>): Promise<Result> =>
    calls++ % 2 === 0 ? Promise.reject(unavailable("the store does not answer")) : act();
  return {
    putBlob: (key, value) => through(() => memory.putBlob(key, value)),
    getBlob: (key) => through(() => memory.getBlob(key)),
    removeBlobs: (prefix) => through(() => memory.removeBlobs(prefix)),
  };
}

/** Creates an object unless it exists. */
async function ensure(client: KubeClient, path: string, body: JsonObject): Promise<void> {
  await client.call({ method: "POST", path, body }).catch((error) => {
    if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
  });
}

/** Removes the deployment's namespace with its contents. */
export async function removeDeployment({ namespace }: Deployment): Promise<void> {
  if (clusterMissing !== undefined) return;
  const client = new KubeClient(await loadTestKubeConfig());
  await client.call({ method: "DELETE", path: `/api/v1/namespaces/${namespace}` }).catch(() => {});
  client.close();
}

/**
 * One replica's executor, with the server that pods call. It removes unwanted pods twice a second and runs every task
 * in the deployment's namespace.
 */
export async function openClusterExecutor(
  options: LocalExecutorOptions,
  { instance, memory, namespace }: Deployment,
  findUnwanted?: FindUnwanted,
): Promise<Executor> {
  const client = new KubeClient(await loadTestKubeConfig());
  const { artifacts, clock } = options;
  if (artifacts === undefined) throw new Error("the test needs artifacts");
  await ensure(client, "/api/v1/namespaces", { metadata: { name: namespace } });
  const inside = `/api/v1/namespaces/${namespace}`;
  // The controller makes it a moment later; pods are refused until then.
  await ensure(client, `${inside}/serviceaccounts`, { metadata: { name: "default" } });
  await ensure(client, `${inside}/configmaps`, {
    metadata: { name: "cm" },
    data: { "a.txt": "from map" },
  });
  const secret = `secret of ${instance}`;
  const server = await serve(
    createTaskCallback({
      client,
      artifacts,
      memory,
      secret,
      log: createLogger("warn"),
      labelPrefix: STANDARD_NAMING.labelPrefix,
      maxArtifactBytes: 2 ** 30,
    }),
    SLUICE_TEST_HOST,
    0,
  );
  const executor = new KubernetesExecutor({
    labelPrefix: STANDARD_NAMING.labelPrefix,
    client,
    clock,
    memory,
    instance,
    secret,
    artifacts,
    namespaces: [namespace],
    log: createLogger("warn"),
    metrics: createMetrics(),
    helperImage: "localhost/box:1",
    callbackUrl: `http://${SLUICE_TEST_HOST}:${server.port}`,
  });
  if (findUnwanted !== undefined) executor.sweepOrphans(findUnwanted, 500);
  return {
    name: executor.name,
    refuses: (task) => executor.refuses(task),
    start: (task, report) => executor.start({ ...task, namespace }, report),
    cancel: (id) => executor.cancel(id),
    logs: (task, query) => executor.logs({ ...task, namespace }, query),
    clean: (ids) => executor.clean(ids),
    async close() {
      await executor.close();
      await server.close(1_000);
    },
  };
}
