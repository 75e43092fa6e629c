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

  /**
   * Ends the pod of a task of which nothing more is awaited. Once it has begun it stays, for its log.
   *
   * @throws {KubeError} when the cluster could not do it for half a minute
   */
  async endPod(taskId: string): Promise<void> {
    const { client, labelPrefix } = this.#deps;
    await this.#insist(taskId, async () => {
      const pod = this.#find(taskId);
      if (pod === undefined || pod.isDone || pod.isLeaving) return;
      // It may have begun since it was told last.
      if (!pod.hasBegun) return await deletePod(client, pod);
      await endContainers(client, pod);
      await markCompleted(client, pod.namespace, pod.name, labelPrefix).catch(() => {});
    });
  }

  /** Ends what still runs in a pod. Asked for by each state of the pod until that says that it was done. Never rejects. */
  async endContainers(pod: PodPlace): Promise<void> {
    const { client } = this.#deps;
    if (this.#told.has(pod.uid)) return;
    this.#told.add(pod.uid);
    await this.#insist(pod.name, () => endContainers(client, pod)).catch(() => {});
    this.#told.delete(pod.uid);
  }

  /** Repeats what the cluster can't do now. @throws {KubeError} after the last try */
  async #insist(what: string, act: () => Promise<void>): Promise<void> {
    const { clock, log } = this.#deps;
    for (let tries = 1; !this.#signal.aborted; tries++) {
      try {
        return await act();
      } catch (error) {
        log.warn({ err: error, what }, "a pod can't be ended");
        if (!isPassing(error)) return;
        if (tries === MAX_TRIES) throw error;
      }
      await clock.sleep(WAIT_MS * tries, this.#signal);
    }
  }

  /** Deletes the pod of a task, if it is known. @throws {KubeError} while the cluster can't do it */
  async delete(taskId: string, graceMs?: number): Promise<void> {
    const { client, log } = this.#deps;
    const pod = this.#find(taskId);
    if (pod === undefined) return;
    await deletePod(client, pod, graceMs).catch((error) => {
      // Whoever wants it gone asks again.
      if (isPassing(error)) throw error;
      log.warn({ err: error, task: taskId }, "pod can't be deleted");
    });
  }
}
