/**
 * All pods of one deployment, as the API server tells of them: one list, then one watch that goes on from where the last
 * ended. Keeps only where each task's pod is.
 */
import type { JsonObject } from "../base/json.ts";
import type { Clock } from "../platform/clock.ts";
import { KubeError } from "../kubernetes/kube_client.ts";
import type { KubeClient } from "../kubernetes/kube_client.ts";
import { TASK_ANNOTATION, WORKFLOW_UID_LABEL } from "./kubernetes_pod.ts";
import { isPod } from "./kubernetes_outcome.ts";
import type { Pod } from "./kubernetes_outcome.ts";

const PAGE = "500";
const MAX_WAIT_MS = 10_000;

export interface PodPlace {
  namespace: string;
  name: string;
  uid: string;
}

/** A pod of this deployment and what it was made for. */
export interface OwnedPod extends PodPlace {
  task: string;
  workflow: string;
  workflowUid: string;
  nodeId: string;
  isDone: boolean;
  /** It is being deleted. */
  isLeaving: boolean;
}

export interface PodWatchOptions {
  client: KubeClient;
  clock: Clock;
  /** Each is watched by itself; none: all namespaces at once. */
  namespaces: readonly string[];
  labelSelector: string;
  /** Prefix of the pods' labels and annotations. */
  labelPrefix: string;
  /** Called for every state of a pod; `isGone` when it was deleted. */
  onPod(pod: Pod, isGone: boolean): void;
  /** Called when the API server can't be reached, at most once per attempt. */
  onTrouble(error: unknown): void;
}

export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #places = new Map<string, OwnedPod>();
  readonly #stop = new AbortController();
  #listed: Promise<unknown> | undefined;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Starts once; resolves when the first lists are there. */
  async start(): Promise<void> {
    const { namespaces } = this.#options;
    this.#listed ??= Promise.all(
      (namespaces.length === 0 ? [undefined] : namespaces).map((namespace) =>
        new Promise<void>((listed) => void this.#run(namespace, listed))
      ),
    );
    await this.#listed;
  }

  /** Where the pod of a task is, as far as it is known. */
  find(taskId: string): PodPlace | undefined {
    return this.#places.get(taskId);
  }

  /** All pods, as far as they are known. */
  pods(): OwnedPod[] {
    return [...this.#places.values()];
  }

  /** Takes note of a pod that a call gave. */
  see(pod: Pod, isGone = false): void {
    const owned = ownedPod(pod, this.#options.labelPrefix);
    if (owned === undefined) return;
    const { task, uid } = owned;
    if (!isGone) this.#places.set(task, owned);
    else if (this.#places.get(task)?.uid === uid) this.#places.delete(task);
    this.#options.onPod(pod, isGone);
  }

  async #run(namespace: string | undefined, listed: () => void): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted;) {
      try {
        let version = await this.#list(namespace);
        listed();
        failures = 0;
        while (!signal.aborted) version = await this.#follow(namespace, version);
      } catch (error) {
        if (signal.aborted) return;
        // An old version is no trouble: the list begins anew.
        if (error instanceof KubeError && error.status === 410) continue;
        this.#options.onTrouble(error);
        const wait = Math.min(MAX_WAIT_MS, 200 * 2 ** failures++);
        await clock.sleep(wait / 2 + Math.random() * wait / 2, signal);
      }
    }
  }

  /** Reads all pods; those that are gone since are told as gone. */
  async #list(watched: string | undefined): Promise<string> {
    const seen = new Set<string>();
    let token = "";
    let version = "";
    do {
      const answer: {
        metadata: { resourceVersion: string; continue?: string };
        items: Pod[];
      } = await this.#options.client.call({
        path: podsPath(watched),
        query: {
          labelSelector: this.#options.labelSelector,
          limit: PAGE,
          ...(token !== "" && { continue: token }),
        },
        signal: this.#stop.signal,
      });
      for (const pod of answer.items) {
        seen.add(pod.metadata.uid);
        this.see(pod);
      }
      token = answer.metadata.continue ?? "";
      version = answer.metadata.resourceVersion;
    } while (token !== "");
    for (const [taskId, { namespace, name, uid }] of this.#places) {
      if (seen.has(uid) || (watched !== undefined && watched !== namespace)) continue;
      this.see({
        metadata: {
          namespace,
          name,
          uid,
          resourceVersion: version,
          annotations: { [TASK_ANNOTATION]: taskId },
        },
        spec: { containers: [] },
      }, true);
    }
    return version;
  }

  /** One watch, until the server ends it; gives the version to go on from. */
  async #follow(namespace: string | undefined, from: string): Promise<string> {
    const { client, labelSelector } = this.#options;
    let version = from;
    const query = { labelSelector, resourceVersion: from };
    const events = client.watch(podsPath(namespace), query, this.#stop.signal);
    for await (const { type, object } of events) {
      if (type === "ERROR") throw watchError(object);
      const { metadata } = object as unknown as Pod;
      version = metadata.resourceVersion;
      if (type !== "BOOKMARK" && isPod(object)) {
        this.see(object as unknown as Pod, type === "DELETED");
      }
    }
    return version;
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** Path of the pods of a namespace, or of all. */
export function podsPath(namespace: string | undefined): string {
  return namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
}

function ownedPod({ metadata, status }: Pod, labelPrefix: string): OwnedPod | undefined {
  const { namespace, name, uid, labels = {}, annotations = {} } = metadata;
  const task = annotations[TASK_ANNOTATION];
  if (task === undefined) return undefined;
  const { phase } = status ?? {};
  return {
    namespace,
    name,
    uid,
    task,
    workflow: labels[`${labelPrefix}workflow`] ?? "",
    workflowUid: labels[WORKFLOW_UID_LABEL] ?? "",
    nodeId: annotations[`${labelPrefix}node-id`] ?? "",
    isDone: phase === "Succeeded" || phase === "Failed",
    isLeaving: metadata.deletionTimestamp !== undefined,
  };
}

function watchError(status: JsonObject): KubeError {
  return new KubeError(
    Number(status["code"] ?? 0),
    String(status["reason"] ?? ""),
    String(status["message"] ?? "watch ended with an error"),
  );
}
