/** Volume claims of workflows against a real API server. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../../../src/base/json.ts";
import { KubernetesClaims } from "../../../../src/executors/kubernetes/claims.ts";
import { KubeClient } from "../../../../src/kubernetes/kube_client.ts";
import { clusterMissing, loadTestKubeConfig } from "../../../support/cluster_executor.ts";
import { taskSpec } from "../../../support/task_spec.ts";
import { STANDARD_NAMING } from "../../../../src/spec/naming.ts";

const NAMESPACE = `claims-test-${Date.now()}`;
const PATH = `/api/v1/namespaces/${NAMESPACE}/persistentvolumeclaims`;
const title = clusterMissing === undefined
  ? "volume claims"
  : `volume claims (skipped: ${clusterMissing})`;

describe.skipIf(clusterMissing !== undefined)(title, () => {
  let client: KubeClient;
  beforeAll(async () => {
    client = new KubeClient(await loadTestKubeConfig());
    await client.call({
      method: "POST",
      path: "/api/v1/namespaces",
      body: { metadata: { name: NAMESPACE } },
    });
    // The controller makes it a moment later; pods are refused until then.
    await client.call({
      method: "POST",
      path: `/api/v1/namespaces/${NAMESPACE}/serviceaccounts`,
      body: { metadata: { name: "default" } },
    }).catch(() => {});
  });
  afterAll(async () => {
    await client.call({ method: "DELETE", path: `/api/v1/namespaces/${NAMESPACE}` });
    client.close();
  });

  const claims = () => new KubernetesClaims(client, "test", STANDARD_NAMING.labelPrefix);
  const spec = {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1Mi" } },
  };
  const task = (workflowUid: string) =>
    taskSpec("t", { container: { image: "i" } }, {
      namespace: NAMESPACE,
      workflow: "wf",
      workflowUid,
      podSpec: {
        volumeClaimTemplates: [{ metadata: { name: "data", labels: { a: "b" } }, spec }],
      },
    });
  const removal = (workflowUid: string) => ({
    namespace: NAMESPACE,
    workflow: "wf",
    workflowUid,
    names: ["data"],
  });
  /** Names of the claims that are not being deleted. */
  async function present(): Promise<string[]> {
    const { items } = await client.call<{ items: JsonObject[] }>({ path: PATH });
    return items.flatMap(({ metadata }) =>
      isJsonObject(metadata) && metadata["deletionTimestamp"] === undefined
        ? [String(metadata["name"])]
        : []
    );
  }

  test("are made once, by whichever replica comes first, and removed for their workflow only", async () => {
    const [one, other] = [claims(), claims()];
    await Promise.all([one.ensure(task("u1")), other.ensure(task("u1"))]);
    await one.ensure(task("u1"));
    expect(await present()).toEqual(["wf-data"]);
    await expect(claims().ensure(task("u2"))).rejects.toThrow(/wf-data is there already and not/);
    await claims().remove(removal("u2"));
    expect(await present()).toEqual(["wf-data"]);
    await other.remove(removal("u1"));
    expect(await present()).toEqual([]);
    await other.remove(removal("u1"));
  });

  test("are gone at once, also while a pod names them that is kept for its log", async () => {
    const { items } = await client.call<{ items: { metadata: { name: string } }[] }>({
      path: "/api/v1/nodes",
    });
    const pods = `/api/v1/namespaces/${NAMESPACE}/pods`;
    await claims().ensure(task("u4"));
    await client.call({
      method: "POST",
      path: pods,
      body: {
        metadata: { name: "user" },
        spec: {
          nodeName: items[0]?.metadata.name ?? "",
          serviceAccountName: "default",
          containers: [{ name: "main", image: "i" }],
          volumes: [{ name: "data", persistentVolumeClaim: { claimName: "wf-data" } }],
        },
      },
    });
    await claims().remove(removal("u4"));
    await expect(client.call({ path: `${PATH}/wf-data` })).rejects.toThrow(/not found/);
    await client.call({ method: "DELETE", path: `${pods}/user`, body: { gracePeriodSeconds: 0 } });
  });

  test("a claim that the cluster refuses is told", async () => {
    const bad = task("u3");
    bad.podSpec.volumeClaimTemplates = [{ metadata: { name: "UPPER" }, spec }];
    await expect(claims().ensure(bad)).rejects.toThrow(/wf-UPPER/);
  });
});
