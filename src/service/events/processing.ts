/** Processing of events: the workers, which dispatch events, and the callbacks that wait. */
import { EventWorkers } from "./workers.ts";
import { BindingSource } from "./binding_source.ts";
import type { ServiceDeps } from "../deps.ts";
import { tellOfDeadEvent } from "./dead_events.ts";
import { failedDelivery } from "./delivery_outcome.ts";
import { dispatchEvent } from "./dispatch.ts";
import { keptEvents } from "./kept_events.ts";
import { runWaitingCallbacks, waitingEvents } from "./waiting_callbacks.ts";

export interface EventProcessingOptions {
  replica: string;
  /** Number of workers; 0 leaves the queue to other replicas. */
  workers: number;
  /** After this silence the events of a worker are taken over, ms. */
  claimAfterMs: number;
  deliveryCount: number;
  deliveryAgeMs: number;
  /** Events of each namespace that are kept in a second though they are no dead letters. */
  keptEventRate: number;
}

export interface EventProcessing {
  /** Takes nothing more; resolves when what was taken is done. */
  stop(): Promise<void>;
}

/** Starts to process the event queue. */
export function startEventProcessing(
  deps: ServiceDeps,
  options: EventProcessingOptions,
): EventProcessing {
  const { store, clock, ids, log, eventMetrics } = deps;
  const bindings = new BindingSource(store.manifests, log, deps.onUnreadable);
  const keeps = keptEvents(clock, options.keptEventRate);
  const workers = new EventWorkers({
    events: store.events,
    clock,
    ids,
    log,
    dispatch: (event) => dispatchEvent(deps, bindings, event, keeps),
    failed: failedDelivery,
    onDead: (delivery) => tellOfDeadEvent(deps, delivery),
    // Where the callbacks that wait will leave what they came to.
    kept: () => waitingEvents(deps),
    onEnd: ({ id, namespace, state, receivedAt, bindings, unreadable }) => {
      if (unreadable !== undefined) {
        const { bytes } = unreadable;
        const reason = bindings[0]?.message;
        deps.onUnreadable?.("event", `${namespace}/${id}`, { bytes, reason });
      }
      eventMetrics?.lag.observe(Math.max(0, clock.now() - receivedAt) / 1000);
      if (state === "dead") eventMetrics?.deadLetters.inc();
    },
  }, { ...options, count: options.workers });
  workers.start();
  const stopping = new AbortController();
  // Also without workers: each replica has its share of those that wait.
  const waiting = runWaitingCallbacks(deps, options.replica, stopping.signal, keeps);
  return {
    async stop() {
      stopping.abort();
      await Promise.all([workers.stop(), waiting]);
    },
  };
}
