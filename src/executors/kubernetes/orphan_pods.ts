/**
 * Finds pods that nobody waits for: their workflow is gone from the store (deleted while no replica lived, or the store
 * was wiped), or their node has ended without them. Only pods with this deployment's mark are looked at, and one is
 * removed only when two looks in a row found it unwanted, so that a pod made a moment ago is safe.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { OwnedPod } from "./pod_watch.ts";

/** A workflow as its pods name it. */
export interface PodsWorkflow {
  namespace: string;
  name: string;
  uid: string;
}

/** Those of a workflow's pods that nobody waits for or keeps. Rejects when that can't be told now. */
export type FindUnwanted = (workflow: PodsWorkflow, pods: OwnedPod[]) => Promise<OwnedPod[]>;

export interface OrphanPodsOptions {
  clock: Clock;
  log: Logger;
  /** @default {120_000} Between two looks. */
  everyMs?: number;
  /** The pods of this deployment that this replica doesn't run itself. */
  pods(): OwnedPod[];
  findUnwanted: FindUnwanted;
  remove(pod: OwnedPod): Promise<void>;
}

const EVERY_MS = 120_000;

export class OrphanPods {
  readonly #options: OrphanPodsOptions;
  /** Uids that the last look found unwanted. */
  #suspects = new Set<string>();

  constructor(options: OrphanPodsOptions) {
    this.#options = options;
  }

  /** Looks again and again until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, everyMs = EVERY_MS } = this.#options;
    for (;;) {
      await clock.sleep(everyMs / 2 + Math.random() * everyMs, signal);
      if (signal.aborted) return;
      try {
        await this.look();
      } catch (error) {
        // What can't be decided now is left alone.
        this.#suspects.clear();
        log.warn({ err: error }, "orphaned pods can't be looked for");
      }
    }
  }

  /** One look. */
  async look(): Promise<void> {
    const { pods, findUnwanted, remove, log } = this.#options;
    const before = this.#suspects;
    const now = new Set<string>();
    const workflows = Map.groupBy(
      pods().filter(({ isLeaving }) => !isLeaving),
      (pod) => `${pod.namespace}/${pod.workflowUid}`,
    );
    for (const group of workflows.values()) {
      const [{ namespace = "", workflow = "", workflowUid = "" } = {}] = group;
      // Every pod of ours names its workflow; one that doesn't was changed by somebody.
      if (workflow === "" || workflowUid === "") continue;
      const place = { namespace, name: workflow, uid: workflowUid };
      for (const pod of await findUnwanted(place, group)) {
        if (!before.has(pod.uid)) {
          now.add(pod.uid);
          continue;
        }
        log.warn({ namespace, pod: pod.name, workflow }, "orphaned pod removed");
        await remove(pod);
      }
    }
    this.#suspects = now;
  }
}
