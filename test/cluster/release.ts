/** One release of the chart in its own namespace, on a cluster, with a caller's token. */
import { randomUUID } from "node:crypto";
import process from "node:process";
import type { Json, JsonObject } from "../../src/base/json.ts";
import type { Pod } from "../../src/executors/kubernetes/outcome.ts";
import { INSTANCE_LABEL } from "../../src/executors/kubernetes/pod_marks.ts";
import { KubeError } from "../../src/kubernetes/kube_client.ts";
import type { Workflow } from "../../src/spec/manifest.ts";
import { type Cluster, run, runBeside, sluice } from "./cluster.ts";
import { needProgram } from "./programs.ts";
import { must, until } from "./transcript.ts";

const CHART = "helm/sluice";
/** Names of what rights of the caller are kept in, besides its service account. */
const RBAC = "rbac.authorization.k8s.io";
const CALLER = "walker";
const ACTIONS = ["create", "get", "list", "watch", "update", "patch", "delete"];

/** Settings that the restricted standard requires of a workflow's pods. */
export const POD_SECURITY = {
  runAsNonRoot: true,
  runAsUser: 65532,
  seccompProfile: { type: "RuntimeDefault" },
};
/** And of each container. */
export const CONTAINER_SECURITY = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
};

export class Release {
  readonly name = "sluice";
  readonly namespace = `sl-e2e-${randomUUID().slice(0, 6)}`;
  readonly #cluster: Cluster;
  readonly #helm = needProgram("helm");
  #values: string[] = [];
  #chart = CHART;
  token = "";
  /** The address of the service. */
  url = "";

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  get #core(): string {
    return `/api/v1/namespaces/${this.namespace}`;
  }

  helm(...args: string[]): string {
    const env = { ...process.env, KUBECONFIG: this.#cluster.kubeconfig };
    return run([this.#helm, ...args, "-n", this.namespace], env);
  }

  /** Creates a namespace that enforces the restricted standard, with a caller who may do everything with workflows. */
  async prepare(): Promise<void> {
    const { client } = this.#cluster;
    const post = (path: string, body: Json) => client.call({ method: "POST", path, body });
    const standard = { "pod-security.kubernetes.io/enforce": "restricted" };
    await post("/api/v1/namespaces", { metadata: { name: this.namespace, labels: standard } });
    await post(`${this.#core}/serviceaccounts`, { metadata: { name: CALLER } });
    const rbac = `/apis/${RBAC}/v1/namespaces/${this.namespace}`;
    const rules = [{ apiGroups: ["argoproj.io"], resources: ["*"], verbs: ACTIONS }];
    await post(`${rbac}/roles`, { metadata: { name: CALLER }, rules });
    await post(`${rbac}/rolebindings`, {
      metadata: { name: CALLER },
      roleRef: { apiGroup: RBAC, kind: "Role", name: CALLER },
      subjects: [{ kind: "ServiceAccount", name: CALLER, namespace: this.namespace }],
    });
    const answer = await post(`${this.#core}/serviceaccounts/${CALLER}/token`, {
      spec: { expirationSeconds: 3600 },
    });
    this.token = (answer as { status: { token: string } }).status.token;
  }

  /** Installs the chart and finds its address. */
  async install(values: readonly string[], chart = CHART): Promise<void> {
    this.#chart = chart;
    this.#values = values.flatMap((value) => ["--set", value]);
    this.helm("install", this.name, chart, "--wait", "--timeout", "3m", ...this.#values);
    const { items } = await this.#cluster.client.call<{
      items: { status: { addresses: { type: string; address: string }[] } }[];
    }>({ path: "/api/v1/nodes" });
    const service = await this.#cluster.client.call<{
      spec: { clusterIP: string; ports: { port: number; nodePort?: number }[] };
    }>({ path: `${this.#core}/services/${this.name}` });
    const [{ port = 0, nodePort = 0 } = {}] = service.spec.ports;
    const node = items[0]?.status.addresses.find(({ type }) => type === "InternalIP")?.address;
    const places = [`http://${service.spec.clusterIP}:${port}`, `http://${node}:${nodePort}`];
    this.url = await until(`answer at ${places.join(" or ")}`, 20, async () => {
      for (const place of places) {
        const signal = AbortSignal.timeout(1_000);
        if (await fetch(`${place}/healthz`, { signal }).then(({ ok }) => ok, () => false)) {
          return place;
        }
      }
      return undefined;
    });
  }

  /** Changes values, which rolls the replicas. */
  async upgrade(...values: string[]): Promise<void> {
    this.#values.push(...values.flatMap((value) => ["--set", value]));
    await this.#roll("upgrade", this.name, this.#chart, ...this.#values);
  }

  /** Changes to this checkout's chart, and values. */
  async upgradeChart(...values: string[]): Promise<void> {
    this.#chart = CHART;
    await this.upgrade(...values);
  }

  /** Goes back to the revision before the last change. */
  async rollback(): Promise<void> {
    await this.#roll("rollback", this.name);
  }

  async #roll(...args: string[]): Promise<void> {
    const { kubeconfig } = this.#cluster;
    await runBeside(
      [this.#helm, ...args, "--wait", "--timeout", "3m", "-n", this.namespace],
      { KUBECONFIG: kubeconfig },
    );
  }

  /** Runs a command of this checkout's command line against the service; returns its status and output. */
  sluice(args: readonly string[], token = this.token): Promise<{ status: number; out: string }> {
    return sluice(args, {
      SLUICE_SERVER: this.url,
      SLUICE_TOKEN: token,
      SLUICE_NAMESPACE: this.namespace,
    });
  }

  /** Calls the service as that caller. @throws {Error} for any answer other than 200 */
  async call<Answer = JsonObject>(method: string, path: string, body?: Json): Promise<Answer> {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      signal: AbortSignal.timeout(30_000),
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    must(response.status === 200, `${method} ${path} answered ${response.status}: ${text}`);
    return JSON.parse(text) as Answer;
  }

  submit(workflow: JsonObject): Promise<Workflow> {
    return this.call("POST", `/api/v1/workflows/${this.namespace}`, { workflow });
  }

  workflow(name: string): Promise<Workflow> {
    return this.call("GET", `/api/v1/workflows/${this.namespace}/${name}`);
  }

  /** Waits until a workflow ends. */
  ended(name: string, seconds: number): Promise<Workflow> {
    return until(`end of ${name}`, seconds, async () => {
      const workflow = await this.workflow(name);
      return typeof workflow.status?.finishedAt === "string" ? workflow : undefined;
    });
  }

  /** Pods of the release's server, except those that are ending. */
  async replicas(): Promise<Pod[]> {
    const labelSelector =
      `app.kubernetes.io/instance=${this.name},app.kubernetes.io/component=server`;
    const { items } = await this.#cluster.client.call<{ items: Pod[] }>({
      path: `${this.#core}/pods`,
      query: { labelSelector },
    });
    return items.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  }

  /** Counts the pods of workflows. */
  async taskPods(): Promise<number> {
    const { items } = await this.#cluster.client.call<{ items: Pod[] }>({
      path: `${this.#core}/pods`,
      query: { labelSelector: `${INSTANCE_LABEL}=${this.namespace}-${this.name}` },
    });
    return items.length;
  }

  /** Resolves when two replicas are ready. */
  async ready(): Promise<void> {
    await until("two ready replicas", 90, async () => {
      const pods = (await this.replicas()).filter(({ status }) =>
        status?.conditions?.some(({ type, status: is }) => type === "Ready" && is === "True")
      );
      return pods.length >= 2 ? pods : undefined;
    });
  }

  /** Deletes a pod of the namespace. @param force without a grace period */
  async deletePod(name: string, force = false): Promise<void> {
    const options = { kind: "DeleteOptions", apiVersion: "v1", gracePeriodSeconds: 0 };
    await this.#cluster.client.call({
      method: "DELETE",
      path: `${this.#core}/pods/${name}`,
      ...(force && { body: options }),
    });
  }

  /** What exists in the namespace, and in the cluster with this release's label. */
  async remains(): Promise<string[]> {
    const { client } = this.#cluster;
    const inside = (group: string) => `/${group}/namespaces/${this.namespace}`;
    const mine = { labelSelector: `app.kubernetes.io/instance=${this.name}` };
    const rbac = "apis/rbac.authorization.k8s.io/v1";
    const places: [string, Record<string, string>][] = [
      ...["pods", "secrets", "configmaps", "services", "serviceaccounts", "persistentvolumeclaims"]
        .map(
          (kind): [string, Record<string, string>] => [`${inside("api/v1")}/${kind}`, {}],
        ),
      [`${inside("apis/apps/v1")}/deployments`, {}],
      [`${inside("apis/apps/v1")}/statefulsets`, {}],
      [`${inside("apis/policy/v1")}/poddisruptionbudgets`, {}],
      [`${inside("apis/networking.k8s.io/v1")}/networkpolicies`, {}],
      [`${inside(rbac)}/roles`, {}],
      [`${inside(rbac)}/rolebindings`, {}],
      [`/${rbac}/clusterroles`, mine],
      [`/${rbac}/clusterrolebindings`, mine],
      ["/apis/apiextensions.k8s.io/v1/customresourcedefinitions", mine],
    ];
    const found: string[] = [];
    for (const [path, query] of places) {
      const { items } = await client.call<{ items: Pod[] }>({ path, query });
      const kind = path.slice(path.lastIndexOf("/") + 1);
      for (const { metadata } of items) {
        // Objects of Kubernetes itself, and the caller of this test.
        if (["default", "kube-root-ca.crt", CALLER].includes(metadata.name)) continue;
        // Objects of another release with the same name, in another namespace.
        if (kind.startsWith("clusterrole") && !metadata.name.startsWith(this.namespace)) continue;
        found.push(`${kind}/${metadata.name}`);
      }
    }
    return found;
  }

  /** Lets the caller act in all namespaces; the result takes that back. */
  async letExamine(): Promise<() => Promise<void>> {
    const { client } = this.#cluster;
    const name = `${this.namespace}-${CALLER}`;
    const rules = [{ apiGroups: ["argoproj.io"], resources: ["*"], verbs: ACTIONS }];
    const objects: [kind: string, body: JsonObject][] = [
      ["clusterroles", { metadata: { name }, rules }],
      ["clusterrolebindings", {
        metadata: { name },
        roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
        subjects: [{ kind: "ServiceAccount", name: CALLER, namespace: this.namespace }],
      }],
    ];
    const path = (kind: string) => `/apis/${RBAC}/v1/${kind}`;
    for (const [kind, body] of objects) {
      await client.call({ method: "POST", path: path(kind), body });
    }
    return async () => {
      for (const [kind] of objects) {
        await client.call({ method: "DELETE", path: `${path(kind)}/${name}` });
      }
    };
  }

  /** Removes the namespace with its contents and waits until it is gone. */
  async remove(): Promise<void> {
    const path = `/api/v1/namespaces/${this.namespace}`;
    await this.#cluster.client.call({ method: "DELETE", path });
    await until("end of the namespace", 120, async () => {
      try {
        await this.#cluster.client.call({ path });
        return undefined;
      } catch (error) {
        return error instanceof KubeError && error.status === 404 ? true : undefined;
      }
    });
  }
}
