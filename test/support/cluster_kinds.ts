/**
 * The workflow kinds under a separate API group, so that tests don't meet anything else there: on the cluster that
 * `SLUICE_TEST_KUBECONFIG` names, else on an API server in this process.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { KubeClient, KubeError } from "../../src/kubernetes/kube_client.ts";
import { loadKubeConfig } from "../../src/kubernetes/kube_config.ts";
import { type KubeApiServer, startKubeApiServer } from "./kube_api_server.ts";

const KINDS = {
  Workflow: "workflows",
  WorkflowTemplate: "workflowtemplates",
  ClusterWorkflowTemplate: "clusterworkflowtemplates",
  CronWorkflow: "cronworkflows",
  WorkflowEventBinding: "workfloweventbindings",
  Subscription: "subscriptions",
} as const;

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export interface ClusterKinds {
  client: KubeClient;
  group: string;
  namespace: string;
  /** Path of a kubeconfig. */
  config: string;
  /** Absent on a real cluster. */
  server?: KubeApiServer;
  remove(): Promise<void>;
}

/** Where `defineKinds` will define them. */
export const kindsAreOn = process.env["SLUICE_TEST_KUBECONFIG"] === undefined
  ? "an API server of the test; SLUICE_TEST_KUBECONFIG names a real one"
  : "a real cluster";

/**
 * Defines the kinds and makes a namespace; resolves when they are served.
 *
 * @param onTest always on an API server in the test, for faults that no real one produces on demand
 */
export async function defineKinds(
  group: string,
  namespace: string,
  onTest = false,
): Promise<ClusterKinds> {
  const folder = await mkdtemp(join(tmpdir(), "sluice-kube-"));
  const given = onTest ? undefined : process.env["SLUICE_TEST_KUBECONFIG"];
  const server = given === undefined ? await startKubeApiServer() : undefined;
  const config = given ?? join(folder, "config");
  if (server !== undefined) await writeFile(config, kubeconfig(server.url));
  const client = new KubeClient(await loadKubeConfig({ KUBECONFIG: config }));
  await client.call({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { metadata: { name: namespace } },
  });
  if (server === undefined) await defineOnCluster(client, group);
  return {
    client,
    group,
    namespace,
    config,
    ...(server && { server }),
    async remove() {
      if (server === undefined) {
        for (const plural of Object.values(KINDS)) {
          await client.call({ method: "DELETE", path: `${DEFINITIONS}/${plural}.${group}` });
        }
        await client.call({ method: "DELETE", path: `/api/v1/namespaces/${namespace}` });
      }
      client.close();
      await server?.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function kubeconfig(url: string): string {
  return JSON.stringify({
    clusters: [{ name: "test", cluster: { server: url } }],
    users: [{ name: "test", user: {} }],
    contexts: [{ name: "test", context: { cluster: "test", user: "test" } }],
    "current-context": "test",
  });
}

async function defineOnCluster(client: KubeClient, group: string): Promise<void> {
  const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  for (const [kind, plural] of Object.entries(KINDS)) {
    const schema = { type: "object", properties: { spec: open, status: open } };
    await client.call({
      method: "POST",
      path: DEFINITIONS,
      body: {
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: kind === "ClusterWorkflowTemplate" ? "Cluster" : "Namespaced",
          names: { kind, plural, singular: kind.toLowerCase() },
          versions: [{
            name: "v1alpha1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: schema },
          }],
        },
      },
    });
  }
  for (const plural of Object.values(KINDS)) {
    await isServed(client, `/apis/${group}/v1alpha1/${plural}`);
  }
}

async function isServed(client: KubeClient, path: string): Promise<void> {
  for (let attempt = 0;; attempt++) {
    try {
      await client.call({ path });
      return;
    } catch (error) {
      const isNew = error instanceof KubeError && (error.status === 404 || error.isTransient);
      if (!isNew || attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
