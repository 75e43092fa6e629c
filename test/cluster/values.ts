/** Values that bring files into the server's pods: tokens, access rules, manifests; and a setting by its name. */
import { stringify } from "yaml";
import { createToken } from "../../src/auth/token_file.ts";
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import type { Release } from "./release.ts";
import { must, until } from "./transcript.ts";

const TEMPLATE = {
  apiVersion: "argoproj.io/v1alpha1",
  kind: "WorkflowTemplate",
  metadata: { name: "from-a-config-map" },
  spec: { entrypoint: "main", templates: [{ name: "main", suspend: {} }] },
};

/** Runs the step; returns what it saw. @throws {Error} if the server does not do what the values say */
export async function filesByValues(release: Release, client: KubeClient): Promise<string> {
  const { namespace } = release;
  const core = `/api/v1/namespaces/${namespace}`;
  const { token, entry } = createToken("ci", []);
  const manifest = { ...TEMPLATE, metadata: { ...TEMPLATE.metadata, namespace } };
  const objects = [
    {
      kind: "secrets",
      name: "tokens",
      stringData: { "tokens.yaml": stringify({ tokens: [entry] }) },
    },
    { kind: "configmaps", name: "manifests", data: { "template.yaml": stringify(manifest) } },
  ];
  try {
    for (const { kind, name, ...content } of objects) {
      const body = { metadata: { name }, ...content };
      await client.call({ method: "POST", path: `${core}/${kind}`, body });
    }
    const rule = "auth.access[0]";
    await release.upgrade(
      "auth.tokensSecret=tokens",
      `${rule}.subjects[0]=ci`,
      `${rule}.namespaces[0]=${namespace}`,
      `${rule}.resources[0]=workflowtemplates`,
      `${rule}.verbs[0]=get`,
      "manifestsConfigMap=manifests",
      "server.maxEventBytes=2000",
    );
    const status = async (path: string, init: RequestInit = {}) => {
      const headers = { authorization: `Bearer ${token}` };
      const response = await fetch(release.url + path, { ...init, headers });
      await response.body?.cancel();
      return response.status;
    };
    const template = `/api/v1/workflow-templates/${namespace}/from-a-config-map`;
    await until(
      "template of the ConfigMap",
      10,
      async () => await status(template) === 200 ? true : undefined,
    );
    must(
      await status(template, { method: "DELETE" }) === 403,
      "a rule grants what it does not name",
    );
    // The server accepts the cluster's tokens too.
    const event = { text: "x".repeat(2_000) };
    const refusal = await release.call("POST", `/api/v1/events/${namespace}/x`, event).catch(
      String,
    );
    must(String(refusal).includes("answered 413"), `a large event: ${JSON.stringify(refusal)}`);
    // Without them a pod of the server that mounts them would not start.
    await release.upgrade(
      "auth.tokensSecret=",
      "auth.access=null",
      "manifestsConfigMap=",
    );
    return "a token of a file, its rule, a template of a ConfigMap, a bound by its name: the server has all";
  } finally {
    for (const { kind, name } of objects) {
      await client.call({ method: "DELETE", path: `${core}/${kind}/${name}` }).catch(() => {});
    }
  }
}
