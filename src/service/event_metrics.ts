/** The metrics of events. */
import type { Counter, Histogram, Metrics } from "../platform/metrics.ts";

export interface EventMetrics {
  received: Counter;
  evaluations: Counter;
  lag: Histogram;
  deadLetters: Counter;
}

/** The metrics in a registry; asking again gives the same ones. */
export function createEventMetrics(metrics: Metrics): EventMetrics {
  return {
    received: metrics.counter(
      "sluice_events_received_total",
      "Events by the answer to their sender",
    ),
    evaluations: metrics.counter(
      "sluice_event_binding_evaluations_total",
      "What bindings made of events",
    ),
    lag: metrics.histogram(
      "sluice_event_dispatch_lag_seconds",
      "From the acceptance of an event to the end of its dispatch",
    ),
    deadLetters: metrics.counter(
      "sluice_dead_letters_total",
      "Events that at least one binding could not handle",
    ),
  };
}
