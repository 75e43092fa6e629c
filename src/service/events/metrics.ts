/** The metrics of events. */
import type { Counter, Histogram, Labels, Metrics } from "../../platform/metrics.ts";

export interface EventMetrics {
  /** Counts an event by the answer to its sender: the result of the offer, or `failed`. */
  received(result: string): void;
  /** Counts the outcome of a binding. */
  evaluated(outcome: string): void;
  lag: Histogram;
  deadLetters: Counter;
}

/** The metrics of events in a registry. */
export function createEventMetrics(metrics: Metrics): EventMetrics {
  const deadLetters = metrics.counter(
    "sluice_dead_letters_total",
    "Events that at least one binding could not handle",
  );
  // So that the first one is an increase.
  deadLetters.inc(undefined, 0);
  return {
    received: countBy(
      metrics.counter("sluice_events_received_total", "Events by the answer to their sender"),
      "result",
    ),
    evaluated: countBy(
      metrics.counter("sluice_event_binding_evaluations_total", "What bindings made of events"),
      "outcome",
    ),
    lag: metrics.histogram(
      "sluice_event_dispatch_lag_seconds",
      "From the acceptance of an event to the end of its dispatch",
    ),
    deadLetters,
  };
}

/** Counts by one label with few values. The labels of each value are made once. */
function countBy(counter: Counter, label: string): (value: string) => void {
  const known = new Map<string, Labels>();
  return (value) => {
    let labels = known.get(value);
    if (labels === undefined) known.set(value, labels = { [label]: value });
    counter.inc(labels);
  };
}
