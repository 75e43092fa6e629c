/** Containers of a pod that nobody tells of the end of the main container, against a real cluster. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createArtifactStore } from "../../../../src/artifacts/artifact_store.ts";
import type { Executor } from "../../../../src/executors/port.ts";
import { systemClock } from "../../../../src/platform/clock.ts";
import {
  clusterMissing,
  createDeployment,
  openClusterExecutor,
  removeDeployment,
} from "../../../support/cluster_executor.ts";
import { collectReports, shell, taskSpec } from "../../../support/task_spec.ts";

const title = clusterMissing === undefined
  ? "other containers of a pod"
  : `other containers of a pod (skipped: ${clusterMissing})`;

describe.skipIf(clusterMissing !== undefined)(title, () => {
  const deployment = createDeployment();
  let dir = "";
  let executor: Executor;
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "sluice-others-"));
    const config = {
      configMap: () => Promise.resolve(undefined),
      secret: () => Promise.resolve(undefined),
    };
    const repository = { type: "folder" as const, path: join(dir, "artifacts") };
    const artifacts = createArtifactStore({ repository, config });
    executor = await openClusterExecutor(
      { dir, clock: systemClock, config, artifacts },
      deployment,
    );
  });
  afterAll(async () => {
    await executor.close();
    await removeDeployment(deployment);
    await rm(dir, { recursive: true, force: true });
  });

  /** A task beside which a container runs that the manifest knows nothing of, as those of a service mesh do. */
  function besideProxy(id: string, text: string, proxy: string) {
    const command = ["/bin/sh", "-c", proxy];
    const patch = { containers: [{ name: "proxy", image: "localhost/box:1", command }] };
    return taskSpec(id, { ...shell(text), podSpecPatch: JSON.stringify(patch) });
  }

  test.each([
    ["succeeds", "sleep 1", "trap 'exit 0' TERM; sleep 300 & wait", "Succeeded", undefined],
    [
      "fails with one that fails as it is ended",
      "sleep 1",
      "trap 'exit 6' TERM; sleep 300 & wait",
      "Failed",
      "proxy: Error (exit code 6)",
    ],
    [
      "fails at once when its main container does",
      "sleep 1; exit 3",
      "trap '' TERM; sleep 300",
      "Failed",
      "main: Error (exit code 3)",
    ],
  ])("are ended by the cluster; the step %s", async (name, text, proxy, phase, message) => {
    const { report, ended } = collectReports();
    await executor.start(besideProxy(name.replaceAll(" ", "-").slice(-30), text, proxy), report);
    const outcome = await ended;
    expect(outcome.phase).toBe(phase);
    expect(outcome.message).toBe(message);
  });
});
