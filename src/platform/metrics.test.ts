import { expect, test } from "vitest";
import { createMetrics } from "./metrics.ts";

test("render() writes counters, gauges and histograms in the Prometheus format", () => {
  const metrics = createMetrics();
  metrics.counter("sluice_commands_total", "Commands").inc({ type: 'a"b' });
  metrics.counter("sluice_commands_total", "Commands").inc({ type: 'a"b' }, 2);
  metrics.gauge("sluice_shards", "Shards owned", () => 7);
  const seconds = metrics.histogram("sluice_commit_seconds", "Commits", [0.1, 1]);
  for (const value of [0.05, 0.5, 5]) seconds.observe(value);
  expect(metrics.render()).toBe(`# HELP sluice_commands_total Commands
# TYPE sluice_commands_total counter
sluice_commands_total{type="a\\"b"} 3
# HELP sluice_shards Shards owned
# TYPE sluice_shards gauge
sluice_shards 7
# HELP sluice_commit_seconds Commits
# TYPE sluice_commit_seconds histogram
sluice_commit_seconds_bucket{le="0.1"} 1
sluice_commit_seconds_bucket{le="1"} 2
sluice_commit_seconds_bucket{le="+Inf"} 3
sluice_commit_seconds_sum 5.55
sluice_commit_seconds_count 3
`);
});
