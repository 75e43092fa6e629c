import { expect, test } from "vitest";
import type { MetricSample } from "../../engine/effect.ts";
import { systemClock } from "../../platform/clock.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import { workflowActorId } from "../actor_ids.ts";
import { observeSamples, WorkflowMetrics } from "./custom_metrics.ts";

const sample = (more: Partial<MetricSample>): MetricSample => ({
  type: "counter",
  name: "runs",
  help: "Runs",
  labels: {},
  value: 1,
  ...more,
});

test("each series has one line, each name one head", () => {
  const metrics = new WorkflowMetrics();
  for (const status of ["ok", "ok", 'not "ok"\n']) metrics.observe(sample({ labels: { status } }));
  expect(metrics.render(0).split("\n")).toEqual([
    "# HELP argo_workflows_runs Runs",
    "# TYPE argo_workflows_runs counter",
    'argo_workflows_runs{status="ok"} 2',
    'argo_workflows_runs{status="not \\"ok\\"\\n"} 1',
    "",
  ]);
});

test("gauges are set, added to and taken from; real-time ones count until they are set", () => {
  const metrics = new WorkflowMetrics();
  const gauge = (more: Partial<MetricSample>) =>
    metrics.observe(sample({ type: "gauge", ...more }));
  const value = (now = 0) => metrics.render(now).trim().split(" ").at(-1);
  gauge({ value: 5 });
  gauge({ value: 3, operation: "Add" });
  gauge({ value: 1, operation: "Sub" });
  expect(value()).toBe("7");
  gauge({ value: 0, since: 1000, key: "a" });
  expect(value(3500)).toBe("2.5");
  gauge({ value: 9, operation: "Set", key: "a" });
  expect(value(9999)).toBe("9");
});

test("histograms have their own buckets", () => {
  const metrics = new WorkflowMetrics();
  for (const value of [0.5, 3, 100]) {
    metrics.observe(sample({ type: "histogram", value, buckets: [10, 1], labels: { a: "b" } }));
  }
  expect(metrics.render(0)).toContain(
    [
      'argo_workflows_runs_bucket{a="b",le="1"} 1',
      'argo_workflows_runs_bucket{a="b",le="10"} 2',
      'argo_workflows_runs_bucket{a="b",le="+Inf"} 3',
      'argo_workflows_runs_sum{a="b"} 103.5',
      'argo_workflows_runs_count{a="b"} 3',
    ].join("\n"),
  );
});

test("the order of labels makes no other series", () => {
  const metrics = new WorkflowMetrics();
  for (const labels of [{ b: "2", a: "1" }, { a: "1", b: "2" }]) {
    metrics.observe(sample({ labels }));
  }
  expect(metrics.render(0)).toMatch(/\nargo_workflows_runs\{a="1",b="2"\} 2\n$/);
});

test("a trace stands at the bucket of its value", () => {
  const metrics = new WorkflowMetrics({ now: () => 1_000 });
  const observe = (value: number, trace: string) =>
    metrics.observe(sample({ type: "histogram", value, buckets: [1, 10] }), trace.repeat(32));
  observe(3, "a");
  observe(100, "b");
  const lines = metrics.render(0).split("\n").filter((line) => line.includes("_bucket"));
  expect(lines[0]).not.toContain("trace_id");
  expect(lines[1]).toMatch(/le="10"\} 1 # \{trace_id="a+"\} 3/);
  expect(lines[2]).toMatch(/le="\+Inf"\} 2 # \{trace_id="b+"\} 100/);
});

test("a refused value is told in the log, with its workflow", () => {
  const lines: string[] = [];
  const log = createLogger("warn", { write: (line: string) => void lines.push(line) });
  const metrics = createMetrics();
  const observe = observeSamples({ metrics, clock: systemClock, log });
  const actor = workflowActorId("default", "measures");
  observe([sample({}), sample({ help: "Other" })].map((one) => ({ actor, sample: one })));
  expect(metrics.render()).toContain("argo_workflows_runs 1\n");
  expect(lines.map((line) => JSON.parse(line))).toMatchObject([
    { actor, metric: "runs", help: "Other", reason: expect.stringMatching(/another type or help/) },
  ]);
});

test("one name is one thing, and there are only so many series", () => {
  const metrics = new WorkflowMetrics({ maxSeries: 2 });
  expect(metrics.observe(sample({ labels: { a: "1" } }))).toBeUndefined();
  expect(metrics.observe(sample({ help: "Other" }))).toMatch(/another type or help/);
  expect(metrics.observe(sample({ type: "gauge" }))).toMatch(/another type or help/);
  for (const a of ["2", "1", "3"]) metrics.observe(sample({ labels: { a } }));
  expect(metrics.render(0).match(/a="\d"/g)).toEqual(['a="1"', 'a="3"']);
});
