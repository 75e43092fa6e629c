/** Whatever names, keys, values and help texts are, Prometheus can read `/metrics`, and no line is forged. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { WorkflowMetrics } from "../../src/actors/workflow/custom_metrics.ts";
import type { MetricSample } from "../../src/engine/effect.ts";
import { createMetrics } from "../../src/platform/metrics.ts";
import { promtoolMissing, unparseable } from "../support/promtool.ts";

const missing = promtoolMissing();
const PAGES = 40;

/** Normal words, the characters of the format itself, and anything at all. */
const evil = fc.oneof(
  fc.constantFrom(
    "a",
    "b_1",
    "le",
    "quantile",
    "__name__",
    "x_bucket",
    "x_sum",
    "x_count",
    "x",
    "",
  ),
  fc.string({
    unit: fc.constantFrom('"', "\n", "\r", "\\", "{", "}", ",", "=", "#", " ", "a", "\0"),
  }),
  fc.string({ unit: "binary", maxLength: 20 }),
  fc.constantFrom(
    'a"} 1\nforged 1\n#',
    "a\n# TYPE forged counter\nforged 1",
    "\\",
    '\\"',
    "ü",
    "\ud800",
  ),
);
const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(0, -0, 1e300, 1e-300));

const samples: fc.Arbitrary<MetricSample> = fc.record({
  type: fc.constantFrom("gauge", "counter", "histogram"),
  name: evil,
  help: evil,
  labels: fc.dictionary(evil, evil, { maxKeys: 4 }),
  value: number,
  buckets: fc.array(number, { maxLength: 5 }),
  operation: fc.constantFrom("Set", "Add", "Sub"),
});

test.skipIf(missing !== undefined)(
  `whatever workflows measure, Prometheus reads it${missing === undefined ? "" : `: ${missing}`}`,
  () => {
    let shown = 0;
    fc.assert(
      fc.property(fc.array(samples, { minLength: 50, maxLength: 200 }), (all) => {
        const metrics = new WorkflowMetrics();
        for (const sample of all) metrics.observe(sample);
        const page = metrics.render(0);
        const lines = page.split("\n").slice(0, -1);
        shown += lines.length;
        expect(lines.filter((line) => !/^(# (HELP|TYPE) )?argo_workflows_/.test(line))).toEqual([]);
        if (page !== "") expect(unparseable(page)).toBe("");
      }),
      { numRuns: PAGES },
    );
    expect(shown).toBeGreaterThan(PAGES);
  },
  120_000,
);

test.skipIf(missing !== undefined)(
  `whatever the values of the server's own labels are, Prometheus reads them${
    missing === undefined ? "" : `: ${missing}`
  }`,
  () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(evil, number), { minLength: 50 }), evil, (all, help) => {
        const metrics = createMetrics();
        for (const [reason, value] of all) {
          metrics.counter("sluice_a_total", help).inc({ reason }, value);
          metrics.gauge("sluice_b", help).set(value, { reason });
          metrics.histogram("sluice_c", help).observe(value, { reason });
        }
        expect(unparseable(metrics.render())).toBe("");
      }),
      { numRuns: PAGES },
    );
  },
  120_000,
);

test("a key that is none is refused, and what can't be shown at all", () => {
  const metrics = new WorkflowMetrics();
  const sample: MetricSample = { type: "counter", name: "x", help: "X", labels: {}, value: 1 };
  const refusal = (more: Partial<MetricSample>) => metrics.observe({ ...sample, ...more });
  expect(refusal({ labels: { 'a"} 1\nforged 1\n#': "" } })).toMatch(/metric label .* is invalid/s);
  expect(refusal({ labels: { __name__: "y" } })).toMatch(/belong to Prometheus/);
  expect(refusal({ name: 'x{a="1"} 1\nforged' })).toMatch(/not a valid name of a metric/);
  expect(refusal({ labels: { a: "v".repeat(5_000) } })).toMatch(/more than 4096 characters/);
  expect(refusal({ help: "h".repeat(2_000) })).toMatch(/more than 1024 characters/);
  expect(refusal({ type: "histogram", labels: { le: "1" } })).toMatch(/histogram's buckets/);
  const buckets = Array.from({ length: 101 }, (_, index) => index);
  expect(refusal({ type: "histogram", buckets })).toMatch(/more than 100 buckets/);
  expect(refusal({})).toBeUndefined();
  expect(refusal({ type: "gauge" })).toMatch(/another type/);
  expect(refusal({ type: "histogram", name: "h" })).toBeUndefined();
  expect(refusal({ name: "h_count" })).toMatch(/belongs to argo_workflows_h/);
});

test("the page is bounded in series and in characters, also with many buckets and clocks", () => {
  let dropped = 0;
  const metrics = new WorkflowMetrics({ onDrop: () => dropped++, maxSize: 2 ** 20 });
  const buckets = Array.from({ length: 100 }, (_, index) => index);
  for (let index = 0; index < 3_000; index++) {
    const labels = { a: "v".repeat(1_000), b: String(index) };
    metrics.observe({ type: "histogram", name: "h", help: "", labels, value: 1, buckets });
    const clock = { type: "gauge", name: "g", help: "", labels: {}, value: 0, since: 1 } as const;
    metrics.observe({ ...clock, key: `node-${index}` });
    metrics.observe({ type: "counter", name: `c${index}`, help: "", labels: {}, value: 1 });
  }
  expect(metrics.render(0).length).toBeLessThan(2 ** 21);
  expect(dropped).toBeGreaterThan(2_000);
});

test("a registry keeps so many series of a metric, and counts what it leaves out", () => {
  const metrics = createMetrics(10);
  const counter = metrics.counter("sluice_a_total", "A");
  for (let index = 0; index < 25; index++) counter.inc({ reason: String(index) });
  const page = metrics.render();
  expect(page.match(/^sluice_a_total\{/gm)?.length).toBe(10);
  expect(page).toContain("sluice_metric_series_dropped_total 15\n");
});
