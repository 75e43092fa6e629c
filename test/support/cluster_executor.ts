/**
 * The kubernetes executor on a real cluster, for tests: needs `SLUICE_TEST_KUBECONFIG`, and on its node the images
 * `localhost/busybox:1` (with a static `/bin/busybox`) and `localhost/box:1`. `SLUICE_TEST_HOST` is this machine's address
 * as pods reach it.
 */
import { randomUUID } from "node:crypto";
import process from "node:process";
import { KubeClient, KubeError } from "../../src/kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../src/kubernetes/kube_config.ts";
import type { KubeConfig } from "../../src/kubernetes/kube_config.ts";
import { KubernetesExecutor } from "../../src/executors/kubernetes.ts";
import type { LocalExecutorOptions } from "../../src/executors/local_executor.ts";
import type { Executor } from "../../src/executors/port.ts";
import { createTaskCallback } from "../../src/executors/task_callback.ts";
import type { TaskMemory } from "../../src/executors/task_report.ts";
import { createLogger } from "../../src/platform/log.ts";
import { serve } from "../../src/platform/serve.ts";

const { SLUICE_TEST_KUBECONFIG, SLUICE_TEST_HOST = "10.99.0.1" } = process.env;

export const clusterMissing = SLUICE_TEST_KUBECONFIG === undefined
  ? "no cluster; set SLUICE_TEST_KUBECONFIG"
  : undefined;

/** The test cluster's configuration. */
export function loadTestKubeConfig(): Promise<KubeConfig> {
  return loadKubeConfig({ KUBECONFIG: SLUICE_TEST_KUBECONFIG });
}

/** What replicas of one deployment share. */
export interface Deployment {
  instance: string;
  memory: TaskMemory;
}

export function createDeployment(): Deployment {
  const blobs = new Map<string, Uint8Array>();
  return {
    instance: randomUUID(),
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

/** One replica's executor, with the server that pods call. */
export async function openClusterExecutor(
  options: LocalExecutorOptions,
  { instance, memory }: Deployment,
): Promise<Executor> {
  const client = new KubeClient(await loadTestKubeConfig());
  const { artifacts, clock } = options;
  if (artifacts === undefined) throw new Error("the test needs artifacts");
  await client.call({
    method: "POST",
    path: "/api/v1/namespaces/default/configmaps",
    body: {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "cm" },
      data: { "a.txt": "from map" },
    },
  }).catch((error) => {
    if (!(error instanceof KubeError && error.reason === "AlreadyExists")) throw error;
  });
  const secret = `secret of ${instance}`;
  const server = await serve(
    createTaskCallback({ client, artifacts, memory, secret }),
    SLUICE_TEST_HOST,
    0,
  );
  const executor = new KubernetesExecutor({
    client,
    clock,
    memory,
    instance,
    secret,
    artifacts,
    log: createLogger("warn"),
    helperImage: "localhost/busybox:1",
    callbackUrl: `http://${SLUICE_TEST_HOST}:${server.port}`,
  });
  const close = executor.close.bind(executor);
  executor.close = async () => {
    await close();
    await server.close(1_000);
  };
  return executor;
}
