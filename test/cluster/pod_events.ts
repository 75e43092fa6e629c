/** What the API server reports about a namespace's workflow pods, with the time at which a separate client hears it. */
import type { Pod } from "../../src/executors/kubernetes/outcome.ts";
import type { KubeClient } from "../../src/kubernetes/kube_client.ts";
import { STANDARD_NAMING } from "../../src/spec/naming.ts";

interface PodTimes {
  workflow: string;
  uid: string;
  /** By `performance.now()`. */
  created: number;
  running?: number;
  ended?: number;
  /** The server has marked its outcome as taken. */
  taken?: number;
  restarts: number;
}

export class PodEvents {
  /** By uid. */
  readonly pods = new Map<string, PodTimes>();
  readonly #stop = new AbortController();
  readonly #client: KubeClient;
  readonly #path: string;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#path = `/api/v1/namespaces/${namespace}/pods`;
  }

  /** Resolves when the watch has started. */
  async start(): Promise<void> {
    const { metadata } = await this.#client.call<{ metadata: { resourceVersion: string } }>({
      path: this.#path,
    });
    void this.#follow(metadata.resourceVersion);
  }

  async #follow(resourceVersion: string): Promise<void> {
    const query = { resourceVersion, labelSelector: `${STANDARD_NAMING.labelPrefix}workflow` };
    const events = this.#client.watch(this.#path, query, this.#stop.signal);
    for await (const { type, object } of events) {
      if (type === "BOOKMARK" || type === "ERROR") continue;
      const now = performance.now();
      const pod = object as unknown as Pod;
      const { uid, labels = {} } = pod.metadata;
      const workflow = labels[`${STANDARD_NAMING.labelPrefix}workflow`] ?? "";
      const known = this.pods.get(uid) ?? { workflow, uid, created: now, restarts: 0 };
      this.pods.set(uid, known);
      if (pod.status?.phase === "Running") known.running ??= now;
      if (haveAllEnded(pod)) known.ended ??= now;
      if (labels[`${STANDARD_NAMING.labelPrefix}completed`] === "true") known.taken ??= now;
      const statuses = (pod.status?.containerStatuses ?? []) as { restartCount?: number }[];
      known.restarts = Math.max(
        known.restarts,
        ...statuses.map(({ restartCount = 0 }) => restartCount),
      );
    }
  }

  of(workflow: string): PodTimes[] {
    return [...this.pods.values()].filter((pod) => pod.workflow === workflow);
  }

  stop(): void {
    this.#stop.abort();
  }
}

function haveAllEnded({ status = {} }: Pod): boolean {
  const { phase, containerStatuses = [] } = status;
  if (phase === "Succeeded" || phase === "Failed") return true;
  return containerStatuses.length > 0 &&
    containerStatuses.every(({ state }) => state?.terminated !== undefined);
}
