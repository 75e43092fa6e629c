/**
 * Why a pod that has its node does not begin: a volume that is not there, a network that can't be made. Its status says nothing of
 * that, only the cluster's events do. They are asked for when a pod has taken long to begin.
 */
import type { JsonObject } from "../../base/json.ts";
import type { KubeClient } from "../../kubernetes/kube_client.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import { pendingMessage, type Pod } from "./outcome.ts";
import type { RunningTask } from "./running_task.ts";

/** How long a pod may be silent before its events are read, and how often they are read then, ms. */
const FIRST_LOOK_MS = 10_000;
const NEXT_LOOK_MS = 30_000;
/** Most events that are read of one pod. */
const MAX_EVENTS = 100;

export interface StuckPodsDeps {
  client: Pick<KubeClient, "call">;
  clock: Pick<Clock, "after">;
  log: Logger;
}

export class StuckPods {
  readonly #deps: StuckPodsDeps;
  /** Cancels the next look at a pod, by its uid. */
  readonly #looks = new Map<string, () => void>();

  constructor(deps: StuckPodsDeps) {
    this.#deps = deps;
  }

  /** Takes in a state of a pod whose task is awaited. */
  see(entry: RunningTask, pod: Pod): void {
    const { uid, deletionTimestamp } = pod.metadata;
    // Not on a node yet, or as it was created: that answer may come after the first news of the watch.
    if (pod.spec.nodeName === undefined) return;
    const isSilent = !entry.isStarted && deletionTimestamp === undefined &&
      pendingMessage(pod) === undefined;
    if (!isSilent) return this.#forget(uid);
    if (this.#looks.has(uid)) return;
    this.#lookAfter(FIRST_LOOK_MS, entry, pod);
    // The task may begin, end or be cancelled.
    void entry.begun.then(() => this.#forget(uid));
  }

  #lookAfter(ms: number, entry: RunningTask, pod: Pod): void {
    const { uid } = pod.metadata;
    const cancel = this.#deps.clock.after(ms, async () => {
      const message = await this.#lastWarning(pod);
      // It was forgotten meanwhile.
      if (this.#looks.get(uid) !== cancel) return;
      if (message !== undefined) entry.pend(message);
      this.#lookAfter(NEXT_LOOK_MS, entry, pod);
    }, true);
    this.#looks.set(uid, cancel);
  }

  #forget(uid: string): void {
    this.#looks.get(uid)?.();
    this.#looks.delete(uid);
  }

  async #lastWarning({ metadata }: Pod): Promise<string | undefined> {
    const { client, log } = this.#deps;
    const { namespace, name, uid } = metadata;
    try {
      const { items } = await client.call<{ items: JsonObject[] }>({
        path: `/api/v1/namespaces/${namespace}/events`,
        query: {
          fieldSelector: `involvedObject.uid=${uid},type=Warning`,
          limit: String(MAX_EVENTS),
        },
      });
      const last = items.sort((a, b) => timeOf(a) - timeOf(b)).at(-1);
      return last && `${String(last["reason"])}: ${String(last["message"])}`;
    } catch (error) {
      log.warn({ err: error, pod: name }, "events of a pod can't be read");
      return undefined;
    }
  }

  close(): void {
    for (const uid of this.#looks.keys()) this.#forget(uid);
  }
}

function timeOf(event: JsonObject): number {
  const metadata = event["metadata"] as JsonObject | undefined;
  const times = [event["lastTimestamp"], event["eventTime"], metadata?.["creationTimestamp"]];
  return Date.parse(String(times.find((time) => typeof time === "string")));
}
