/**
 * All pods of one deployment, as the API server tells of them: one list, then one watch that goes on from where the last
 * ended. Keeps only where each task's pod is.
 */
import type { JsonObject } from "../base/json.ts";
import type { Clock } from "../platform/clock.ts";
import { KubeError } from "../kubernetes/kube_client.ts";
import type { KubeClient } from "../kubernetes/kube_client.ts";
import { TASK_ANNOTATION } from "./kubernetes_pod.ts";
import { isPod } from "./kubernetes_outcome.ts";
import type { Pod } from "./kubernetes_outcome.ts";

const PAGE = "500";
const MAX_WAIT_MS = 10_000;

export interface PodPlace {
  namespace: string;
  name: string;
  uid: string;
}

export interface PodWatchOptions {
  client: KubeClient;
  clock: Clock;
  /** Absent: all namespaces. */
  namespace?: string;
  labelSelector: string;
  /** Called for every state of a pod; `isGone` when it was deleted. */
  onPod(pod: Pod, isGone: boolean): void;
  /** Called when the API server can't be reached, at most once per attempt. */
  onTrouble(error: unknown): void;
}

export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #places = new Map<string, PodPlace>();
  readonly #stop = new AbortController();
  readonly #listed = Promise.withResolvers<void>();
  #isRunning = false;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Starts once; resolves when the first list is there. */
  start(): Promise<void> {
    if (!this.#isRunning) {
      this.#isRunning = true;
      void this.#run();
    }
    return this.#listed.promise;
  }

  /** Where the pod of a task is, as far as it is known. */
  find(taskId: string): PodPlace | undefined {
    return this.#places.get(taskId);
  }

  /** Takes note of a pod that a call gave. */
  see(pod: Pod, isGone = false): void {
    const { namespace, name, uid, annotations } = pod.metadata;
    const taskId = annotations?.[TASK_ANNOTATION];
    if (taskId === undefined) return;
    if (!isGone) this.#places.set(taskId, { namespace, name, uid });
    else if (this.#places.get(taskId)?.uid === uid) this.#places.delete(taskId);
    this.#options.onPod(pod, isGone);
  }

  get #path(): string {
    const { namespace } = this.#options;
    return namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted;) {
      try {
        let version = await this.#list();
        this.#listed.resolve();
        failures = 0;
        while (!signal.aborted) version = await this.#follow(version);
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
  async #list(): Promise<string> {
    const seen = new Set<string>();
    let token = "";
    let version = "";
    do {
      const answer: {
        metadata: { resourceVersion: string; continue?: string };
        items: Pod[];
      } = await this.#options.client.call({
        path: this.#path,
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
      if (seen.has(uid)) continue;
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
  async #follow(from: string): Promise<string> {
    const { client, labelSelector } = this.#options;
    let version = from;
    const query = { labelSelector, resourceVersion: from };
    for await (const { type, object } of client.watch(this.#path, query, this.#stop.signal)) {
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

function watchError(status: JsonObject): KubeError {
  return new KubeError(
    Number(status["code"] ?? 0),
    String(status["reason"] ?? ""),
    String(status["message"] ?? "watch ended with an error"),
  );
}
