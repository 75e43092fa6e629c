/** Pods that nobody waits for, on a real cluster. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import {
  clusterMissing,
  createDeployment,
  loadTestKubeConfig,
  openClusterExecutor,
  removeDeployment,
} from "../../../support/cluster_executor.ts";
import { collectReports, shell, taskSpec } from "../../../support/task_spec.ts";

const title = clusterMissing === undefined
  ? "orphaned pods"
  : `orphaned pods (skipped: ${clusterMissing})`;

describe.skipIf(clusterMissing !== undefined)(title, () => {
  const deployment = createDeployment();
  // Another deployment in the same namespace.
  const other = { ...createDeployment(), namespace: deployment.namespace };
  afterAll(() => removeDeployment(deployment));

  test("are removed by the next server, those of another deployment and running ones never", async () => {
    const dir = await mkdtemp(join(tmpdir(), "sluice-orphans-"));
    const config = {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve(undefined),
    };
    const repository = { type: "folder" as const, path: join(dir, "artifacts") };
    const artifacts = createArtifactStore({ repository, config });
    const options = { dir, clock: systemClock, config, artifacts };
    const client = new KubeClient(await loadTestKubeConfig());
    const pods = async () => {
      const { items } = await client.call<{ items: { metadata: { name: string } }[] }>({
        path: `/api/v1/namespaces/${deployment.namespace}/pods`,
      });
      return items.map(({ metadata }) => metadata.name).sort();
    };
    const task = (id: string) => taskSpec(id, shell("sleep 300"));
    const start = async (executor: Awaited<ReturnType<typeof openClusterExecutor>>, id: string) => {
      const reports = collectReports();
      await executor.start(task(id), reports.report);
      await reports.started;
    };
    const before = await openClusterExecutor(options, deployment);
    await start(before, "orphan");
    await start(before, "adopted");
    await before.close();
    const foreign = await openClusterExecutor(options, other);
    await start(foreign, "foreign");
    expect(await pods()).toEqual(["wf-adopted", "wf-foreign", "wf-orphan"]);
    // As after a wipe of the store: no workflow is known. Restarted tasks are wanted all the same.
    const sweeping = await openClusterExecutor(
      options,
      deployment,
      (_workflow, found) => Promise.resolve(found),
    );
    await start(sweeping, "adopted");
    await expect.poll(pods, { timeout: 60_000 }).toEqual(["wf-adopted", "wf-foreign"]);
    await Promise.all([foreign.close(), sweeping.close()]);
    client.close();
    await rm(dir, { recursive: true, force: true });
  });
});
