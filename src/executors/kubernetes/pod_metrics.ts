/** The metrics of pods. */
import type { Counter, Histogram, Metrics } from "../../platform/metrics.ts";

export interface PodMetrics {
  create: Histogram;
  end: Histogram;
  refused: Counter;
  adopted: Counter;
  orphans: Counter;
}

/** The metrics in a registry. @param running Number of tasks whose pod is awaited. */
export function createPodMetrics(metrics: Metrics, running: () => number): PodMetrics {
  metrics.gauge("sluice_pods_running", "Tasks whose pods this replica watches", running);
  return {
    create: metrics.histogram(
      "sluice_pod_create_seconds",
      "From the start of a task to the API server's answer that its pod is created",
    ),
    end: metrics.histogram(
      "sluice_pod_end_seconds",
      "From the API server's event that a pod ended to the report of its outcome",
    ),
    refused: metrics.counter(
      "sluice_pod_create_refused_total",
      "Times that a pod could not be created yet, by the API server's reason",
    ),
    adopted: metrics.counter(
      "sluice_pods_adopted_total",
      "Pods that were there already when their task was started",
    ),
    orphans: metrics.counter(
      "sluice_orphan_pods_removed_total",
      "Removed pods that nobody waited for",
    ),
  };
}
