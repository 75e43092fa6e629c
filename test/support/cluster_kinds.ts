/** The workflow kinds under an API group of their own on the test cluster, so that tests don't meet anything else there. */
import { KubeClient, KubeError } from "../../src/kubernetes/kube_client.ts";
import { loadTestKubeConfig } from "./cluster_executor.ts";

const KINDS = {
  Workflow: "workflows",
  WorkflowTemplate: "workflowtemplates",
  ClusterWorkflowTemplate: "clusterworkflowtemplates",
  CronWorkflow: "cronworkflows",
  WorkflowEventBinding: "workfloweventbindings",
} as const;

const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

export interface ClusterKinds {
  client: KubeClient;
  group: string;
  namespace: string;
  remove(): Promise<void>;
}

/** Defines the kinds and makes a namespace; resolves when the API server serves them. */
export async function defineKinds(group: string, namespace: string): Promise<ClusterKinds> {
  const client = new KubeClient(await loadTestKubeConfig());
  await client.call({
    method: "POST",
    path: "/api/v1/namespaces",
    body: { metadata: { name: namespace } },
  });
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
  return {
    client,
    group,
    namespace,
    async remove() {
      for (const plural of Object.values(KINDS)) {
        await client.call({ method: "DELETE", path: `${DEFINITIONS}/${plural}.${group}` });
      }
      await client.call({ method: "DELETE", path: `/api/v1/namespaces/${namespace}` });
      client.close();
    },
  };
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
