import { expect, test } from "vitest";
import type { PrometheusMetric, Workflow } from "../spec/manifest.ts";
import { accept } from "./accept.ts";
import { advance } from "./advance.ts";
import { takeChanges } from "./codec.ts";
import { createWorkflow } from "./create.ts";
import type { MetricSample } from "./effect.ts";
import type { EngineEnv } from "./engine.ts";

const START = Date.UTC(2026, 0, 1);

/** Runs a workflow with one retried step, whose attempts have these outcomes and take two seconds each. */
function run(
  metrics: { step?: PrometheusMetric[]; workflow?: PrometheusMetric[] },
  outcomes: ("Succeeded" | "Failed")[],
): { samples: MetricSample[]; problem: string | undefined } {
  const workflow: Workflow = {
    metadata: { name: "wf", namespace: "n", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" },
    spec: {
      entrypoint: "main",
      arguments: { parameters: [{ name: "model", value: "a" }] },
      ...(metrics.workflow === undefined ? {} : { metrics: { prometheus: metrics.workflow } }),
      templates: [
        {
          name: "main",
          steps: [[{
            name: "fit",
            template: "work",
            arguments: { parameters: [{ name: "p", value: "7" }] },
          }]],
        },
        {
          name: "work",
          inputs: { parameters: [{ name: "p" }] },
          outputs: { parameters: [{ name: "score", valueFrom: { path: "/score" } }] },
          retryStrategy: { limit: outcomes.length - 1 },
          container: { image: "i" },
          ...(metrics.step === undefined ? {} : { metrics: { prometheus: metrics.step } }),
        },
      ],
    },
  };
  let now = START;
  const env = (): EngineEnv => ({
    now,
    randomSuffix: (length) => "x".repeat(length),
    findManifest: () => null,
    labelPrefix: "workflows.argoproj.io/",
    apiGroup: "argoproj.io",
  });
  const state = createWorkflow(workflow, env());
  const samples: MetricSample[] = [];
  const tasks: string[] = [];
  const collect = () => {
    for (const effect of takeChanges(state).effects) {
      if (effect.type === "observe-metric") samples.push(effect.sample);
      if (effect.type === "start-task") tasks.push(effect.task.id);
    }
  };
  advance(state, env());
  collect();
  for (const phase of outcomes) {
    const task = tasks.shift() ?? "";
    accept(state, { type: "task-started", task }, env());
    advance(state, env());
    now += 2000;
    const outputs = { exitCode: phase === "Failed" ? "3" : "0" };
    accept(state, {
      type: "task-ended",
      task,
      outcome: {
        phase,
        resourcesDuration: { cpu: 3 },
        outputs: phase === "Failed"
          ? outputs
          : { ...outputs, parameters: [{ name: "score", value: "0.5" }] },
      },
    }, env());
    advance(state, env());
    advance(state, env());
    collect();
  }
  const problem = state.header.conditions?.find(({ type }) => type === "MetricsError");
  return { samples, problem: problem?.message };
}

const counter = (more: Partial<PrometheusMetric> = {}): PrometheusMetric => ({
  name: "count",
  help: "Runs",
  counter: { value: "1" },
  ...more,
});

test("a template is measured when its last attempt has ended", () => {
  const { samples, problem } = run({
    step: [
      counter({
        labels: [{ key: "status", value: "{{status}}" }, {
          key: "p",
          value: "{{inputs.parameters.p}}",
        }],
      }),
      {
        name: "score",
        help: "Score",
        histogram: { value: "{{outputs.parameters.score}}", buckets: [0.1, 1] },
      },
      { name: "seconds", help: "Time", gauge: { value: "{{duration}}" } },
      { name: "retries", help: "Retries", gauge: { value: "{{retries}}", operation: "Add" } },
      { name: "code", help: "Code", gauge: { value: "{{exitCode}}" } },
    ],
  }, ["Succeeded"]);
  expect(problem).toBeUndefined();
  expect(samples).toMatchObject([
    { type: "counter", name: "count", value: 1, labels: { status: "Succeeded", p: "7" } },
    { type: "histogram", name: "score", value: 0.5, buckets: [0.1, 1] },
    { type: "gauge", name: "seconds", value: 2, operation: "Set" },
    { type: "gauge", name: "retries", value: 0, operation: "Add" },
    { type: "gauge", name: "code", value: 0 },
  ]);
});

test("an attempt that is followed by another is measured too", () => {
  const step = [counter({
    labels: [
      { key: "status", value: "{{status}}" },
      { key: "code", value: "{{exitCode}}" },
      { key: "retries", value: "{{retries}}" },
    ],
    counter: { value: "{{duration}}" },
  })];
  const labelsOf = (outcomes: ("Succeeded" | "Failed")[]) =>
    run({ step }, outcomes).samples.map(({ labels, value }) => [...Object.values(labels), value]);
  expect(labelsOf(["Failed", "Failed", "Succeeded"])).toEqual([
    ["Failed", "3", "0", 2],
    ["Failed", "3", "1", 2],
    ["Succeeded", "0", "2", 6],
  ]);
  expect(labelsOf(["Failed", "Failed"])).toEqual([["Failed", "3", "0", 2], [
    "Failed",
    "3",
    "1",
    4,
  ]]);
});

test("a node whose outputs came from a cache is not measured", () => {
  const created = "2026-01-01T00:00:00Z";
  const metadata = { name: "wf", namespace: "n", uid: "u", creationTimestamp: created };
  const entry = { nodeID: "x", outputs: {}, creationTimestamp: created, lastHitTimestamp: created };
  const labels = { "workflows.argoproj.io/configmap-type": "Cache" };
  const samplesWith = (data: Record<string, string>) => {
    const env: EngineEnv = {
      now: START,
      randomSuffix: (length) => "x".repeat(length),
      findManifest: (kind) =>
        kind === "ConfigMap" ? { metadata: { name: "memo", namespace: "n", labels }, data } : null,
      labelPrefix: "workflows.argoproj.io/",
      apiGroup: "argoproj.io",
    };
    const state = createWorkflow({
      metadata,
      spec: {
        entrypoint: "main",
        templates: [{
          name: "main",
          memoize: { key: "k", maxAge: "", cache: { configMap: { name: "memo", key: "" } } },
          metrics: { prometheus: [{ ...counter(), when: "{{status}} == Succeeded" }] },
          suspend: { duration: "0" },
        }],
      },
    }, env);
    advance(state, env);
    advance(state, env);
    const root = Object.values(Object.fromEntries(state.nodes))[0];
    const samples = takeChanges(state).effects.filter(({ type }) => type === "observe-metric");
    return [root?.phase, root?.memoizationStatus?.hit, samples.length];
  };
  expect(samplesWith({ k: JSON.stringify(entry) })).toEqual(["Succeeded", true, 0]);
  expect(samplesWith({})).toEqual(["Succeeded", false, 1]);
});

test("`when` decides whether anything is reported", () => {
  const step = [counter({ when: "{{status}} == Failed" })];
  expect(run({ step }, ["Succeeded"]).samples).toEqual([]);
  expect(run({ step }, ["Failed"]).samples).toHaveLength(1);
});

test("a workflow is measured when it ends, with its own variables", () => {
  const { samples } = run({
    workflow: [
      counter({ labels: [{ key: "model", value: "{{workflow.parameters.model}}" }] }),
      {
        name: "{{workflow.parameters.model}}_time",
        help: "Time",
        gauge: { value: "{{workflow.duration}}" },
      },
      counter({ name: "failed", when: "{{workflow.status}} != Succeeded" }),
    ],
  }, ["Succeeded"]);
  expect(samples).toMatchObject([
    { name: "count", labels: { model: "a" } },
    { name: "a_time", value: 2 },
  ]);
});

test("a workflow is measured with the variables of its entrypoint", () => {
  const gauge = (name: string, value: string) => ({ name, help: "h", gauge: { value } });
  const { samples, problem } = run({
    workflow: [
      counter({ labels: [{ key: "status", value: "{{status}}" }] }),
      gauge("seconds", "{{duration}}"),
      gauge("cpu", "{{resourcesDuration.cpu}}"),
      gauge("memory", "{{resourcesDuration.memory}}"),
    ],
    step: [gauge("own", "{{resourcesDuration.memory}}")],
  }, ["Succeeded"]);
  expect(problem).toBeUndefined();
  expect(samples).toMatchObject([
    { name: "own", value: 0 },
    { name: "count", labels: { status: "Succeeded" } },
    { name: "seconds", value: 2 },
    { name: "cpu", value: 3 },
    { name: "memory", value: 0 },
  ]);
});

test("a real-time gauge counts from the start and is set at the end", () => {
  const realtime = (value: string): PrometheusMetric => ({
    name: "running",
    help: "Time",
    gauge: { realtime: true, value },
  });
  const { samples } = run({
    step: [realtime("{{duration}}")],
    workflow: [realtime("{{workflow.duration}}")],
  }, ["Succeeded"]);
  const begun = samples.filter(({ since }) => since !== undefined);
  const ended = samples.filter(({ since }) => since === undefined);
  expect(new Set(begun.map(({ key }) => key)).size).toBe(2);
  expect(begun.every(({ since }) => since === START)).toBe(true);
  expect(ended.map(({ key, value }) => [begun.some((one) => one.key === key), value])).toEqual([
    [true, 2],
    [true, 2],
  ]);
});

test("a metric that fails becomes a condition of the workflow, which continues", () => {
  const { samples, problem } = run({
    step: [
      { name: "a", help: "A", gauge: { value: "{{outputs.result}}" } },
      { name: "b", help: "B", gauge: { value: "{{status}}" } },
      { name: "c", help: "C", gauge: { realtime: true, value: "{{outputs.result}}" } },
      counter(),
    ],
  }, ["Succeeded"]);
  expect(samples).toHaveLength(1);
  expect(problem).toContain("metric 'a': ");
  expect(problem).toContain("metric 'b': 'Succeeded' is not a number");
  expect(problem).toContain("metric 'c': a real-time gauge takes {{duration}}");
});

test("a label key that comes from a parameter is checked when it is known", () => {
  const labelled = (key: string): PrometheusMetric[] => [
    { name: "n", help: "h", labels: [{ key, value: "v" }], counter: { value: "1" } },
  ];
  const good = run({ workflow: labelled("model_{{workflow.parameters.model}}") }, ["Succeeded"]);
  expect(good.samples.map(({ labels }) => labels)).toEqual([{ model_a: "v" }]);
  for (const key of ['x{{workflow.parameters.model}}"} 1\nforged 1\n#', "__name__", "", "a-b"]) {
    const { samples, problem } = run({ workflow: labelled(key), step: labelled(key) }, [
      "Succeeded",
    ]);
    expect(samples).toEqual([]);
    expect(problem).toMatch(/metric 'n': metric label .* is invalid/s);
  }
});
