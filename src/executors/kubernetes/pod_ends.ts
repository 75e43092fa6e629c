/** Ends pods, or what still runs in them. */
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import { isPassing } from "../passing_trouble.ts";
import { deletePod, endContainers, markCompleted } from "./pod_calls.ts";
import type { OwnedPod, PodPlace } from "./pod_watch.ts";

/** How often a pod is told to end while the cluster does not answer. The sweep for orphans finds what is left. */
const MAX_TRIES = 10;
/** Grows with each try, ms. */
const WAIT_MS = 500;

export interface PodEndsDeps {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  /** Prefix of the pods' labels and annotations. */
  labelPrefix: string;
}

export class PodEnds {
  readonly #deps: PodEndsDeps;
  readonly #find: (taskId: string) => OwnedPod | undefined;
  readonly #signal: AbortSignal;
  /** Uids of pods that are being told. */
  readonly #told = new Set<string>();

  /**
   * @param find the pod of a task, if it is known
   * @param signal aborts when the executor is closed
   */
  constructor(
    deps: PodEndsDeps,
    find: (taskId: string) => OwnedPod | undefined,
    signal: AbortSignal,
  ) {
    this.#deps = deps;
    this.#find = find;
    this.#signal = signal;
  }

  /** Ends the pod of a task of which nothing more is awaited. Once it has begun it stays, for its log. */
  async endPod(taskId: string): Promise<void> {
    const { client, labelPrefix } = this.#deps;
    const pod = this.#find(taskId);
    if (pod === undefined || pod.isDone || pod.isLeaving) return;
    if (!pod.hasBegun) return this.delete(taskId);
    await this.endContainers(pod);
    await markCompleted(client, pod.namespace, pod.name, labelPrefix).catch(() => {});
  }

  /** Ends what still runs in a pod. Asked for by each state of the pod until that says that it was done. Never rejects. */
  async endContainers(pod: PodPlace): Promise<void> {
    const { client, clock, log } = this.#deps;
    if (this.#told.has(pod.uid)) return;
    this.#told.add(pod.uid);
    for (let tries = 1; !this.#signal.aborted; tries++) {
      try {
        await endContainers(client, pod);
        break;
      } catch (error) {
        log.warn({ err: error, pod: pod.name }, "containers of a pod can't be ended");
        if (!isPassing(error) || tries === MAX_TRIES) break;
      }
      await clock.sleep(WAIT_MS * tries, this.#signal);
    }
    this.#told.delete(pod.uid);
  }

  /** Deletes the pod of a task, if it is known. Never rejects. */
  async delete(taskId: string, graceMs?: number): Promise<void> {
    const { client, log } = this.#deps;
    const pod = this.#find(taskId);
    if (pod === undefined) return;
    await deletePod(client, pod, graceMs).catch((error) =>
      log.warn({ err: error, task: taskId }, "pod can't be deleted")
    );
  }
}
