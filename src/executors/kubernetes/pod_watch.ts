/** Watches all pods of one deployment, and keeps where the pod of each task is. */
import type { ClusterObject } from "../../kubernetes/cluster_object.ts";
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import { followObjects } from "../../kubernetes/object_watch.ts";
import type { Clock } from "../../platform/clock.ts";
import { isPassing } from "../passing_trouble.ts";
import type { Pod } from "./outcome.ts";
import { ENDED_ANNOTATION, TASK_ANNOTATION, WORKFLOW_UID_LABEL } from "./pod_marks.ts";

/** Most pods in one answer of a list. */
const PAGE_SIZE = 500;

export interface PodPlace {
  namespace: string;
  name: string;
  uid: string;
}

/** A pod of this deployment, and the task that it was made for. */
export interface OwnedPod extends PodPlace {
  task: string;
  workflow: string;
  workflowUid: string;
  nodeId: string;
  /** A container has run: it has a log. */
  hasBegun: boolean;
  /** A container runs. */
  isRunning: boolean;
  isDone: boolean;
  /** It is being ended or deleted. */
  isLeaving: boolean;
}

export interface PodWatchOptions {
  client: KubeClient;
  clock: Clock;
  /** Watched one by one; empty: all namespaces together. */
  namespaces: readonly string[];
  labelSelector: string;
  /** Prefix of the pods' labels and annotations. */
  labelPrefix: string;
  /** Hears every state of every pod; `isGone` when it was deleted. */
  onPod(pod: Pod, isGone: boolean): void;
  /** Hears of each attempt to watch the pods of a namespace, or of all, that failed. */
  onTrouble(error: unknown, namespace: string | undefined): void;
}

export class PodWatch {
  readonly #options: PodWatchOptions;
  readonly #places = new Map<string, OwnedPod>();
  readonly #stop = new AbortController();
  #listed: Promise<unknown> | undefined;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Starts, unless it has started. Resolves after the first list of each namespace, except those that refuse it. */
  async start(): Promise<void> {
    const { namespaces } = this.#options;
    this.#listed ??= Promise.all(
      (namespaces.length === 0 ? [undefined] : namespaces).map((namespace) =>
        new Promise<void>((onListed) => void this.#follow(namespace, onListed))
      ),
    );
    await this.#listed;
  }

  /** Where the pod of a task is; undefined when it is not known. */
  find(taskId: string): OwnedPod | undefined {
    return this.#places.get(taskId);
  }

  /** All known pods. */
  pods(): OwnedPod[] {
    return [...this.#places.values()];
  }

  /** Takes in a state of a pod. */
  see(pod: Pod, isGone = false): void {
    const owned = ownedPod(pod, this.#options.labelPrefix);
    if (owned === undefined) return;
    const { task, uid } = owned;
    if (!isGone) this.#places.set(task, owned);
    else if (this.#places.get(task)?.uid === uid) this.#places.delete(task);
    this.#options.onPod(pod, isGone);
  }

  /** Follows the pods of a namespace, or of all. */
  #follow(namespace: string | undefined, onListed: () => void): Promise<void> {
    const { client, clock, labelSelector, onTrouble } = this.#options;
    // What is created while a list is under way is no less there for being missing in it.
    let before: OwnedPod[] = [];
    return followObjects({
      client,
      clock,
      path: podsPath(namespace),
      query: { labelSelector },
      pageSize: PAGE_SIZE,
      // A watch misses nothing, and a list may be long.
      watchesPerList: Infinity,
      sink: {
        see: (pod) => Promise.resolve(this.see(asPod(pod))),
        gone: (pod) => Promise.resolve(this.see(asPod(pod), true)),
        listing: () => {
          before = this.pods().filter((pod) => pod.namespace === (namespace ?? pod.namespace));
        },
        listed: (_keys, version, uids) => Promise.resolve(this.#forget(before, version, uids)),
      },
      onTrouble: (error) => {
        onTrouble(error, namespace);
        // The pods of the other namespaces must not wait for one that the server may not list.
        if (!isPassing(error)) onListed();
      },
      onListed,
    }, this.#stop.signal);
  }

  /** Tells of the pods that were there before a list, which no longer has them. */
  #forget(before: OwnedPod[], resourceVersion: string, uids: ReadonlySet<string>): void {
    for (const { task, namespace, name, uid } of before) {
      // It may have been seen to go, and have another in its place, since then.
      if (uids.has(uid) || this.#places.get(task)?.uid !== uid) continue;
      const annotations = { [TASK_ANNOTATION]: task };
      this.see({
        metadata: { namespace, name, uid, resourceVersion, annotations },
        spec: { containers: [] },
      }, true);
    }
  }

  stop(): void {
    this.#stop.abort();
  }
}

/** Path of the pods of a namespace, or of all. */
export function podsPath(namespace: string | undefined): string {
  return namespace === undefined ? "/api/v1/pods" : `/api/v1/namespaces/${namespace}/pods`;
}

function asPod(object: ClusterObject): Pod {
  return object as unknown as Pod;
}

function ownedPod({ metadata, status }: Pod, labelPrefix: string): OwnedPod | undefined {
  const { namespace, name, uid, labels = {}, annotations = {} } = metadata;
  const task = annotations[TASK_ANNOTATION];
  if (task === undefined) return undefined;
  const { phase, containerStatuses = [] } = status ?? {};
  // A busy kubelet tells the pod's end minutes after that of its containers.
  const isDone = phase === "Succeeded" || phase === "Failed" ||
    (containerStatuses.length > 0 &&
      containerStatuses.every(({ state }) => state?.terminated !== undefined));
  const isEnding = annotations[ENDED_ANNOTATION] !== undefined && !isDone;
  return {
    namespace,
    name,
    uid,
    task,
    workflow: labels[`${labelPrefix}workflow`] ?? "",
    workflowUid: labels[WORKFLOW_UID_LABEL] ?? "",
    nodeId: annotations[`${labelPrefix}node-id`] ?? "",
    hasBegun: containerStatuses.some(({ state }) =>
      state?.running !== undefined || state?.terminated !== undefined
    ),
    isRunning: containerStatuses.some(({ state }) => state?.running !== undefined),
    isDone,
    isLeaving: isEnding || metadata.deletionTimestamp !== undefined,
  };
}
