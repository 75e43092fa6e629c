import { expect, test } from "vitest";
import { createMetrics } from "../platform/metrics.ts";
import { joinPages } from "./metrics_page.ts";

function pageOf(fill: (metrics: ReturnType<typeof createMetrics>) => void): string {
  const metrics = createMetrics();
  fill(metrics);
  return metrics.render();
}

test("joinPages() writes each metric once, with the series of every process", () => {
  const pages = [3, 5].map((value, index) => ({
    process: index + 1,
    text: pageOf((metrics) => {
      metrics.gauge("sluice_a", "Some help", () => value);
      metrics.counter("sluice_b", "More\nhelp").inc({ code: 'x{"y"} z' }, value);
    }),
  }));
  expect(joinPages(pages)).toBe(
    [
      "# HELP sluice_a Some help",
      "# TYPE sluice_a gauge",
      'sluice_a{sluice_process="1"} 3',
      'sluice_a{sluice_process="2"} 5',
      "# HELP sluice_b More\\nhelp",
      "# TYPE sluice_b counter",
      'sluice_b{sluice_process="1",code="x{\\"y\\"} z"} 3',
      'sluice_b{sluice_process="2",code="x{\\"y\\"} z"} 5',
      "",
    ].join("\n"),
  );
});

test("joinPages() keeps the lines of a histogram together", () => {
  const text = pageOf((metrics) => metrics.histogram("sluice_h", "", [1]).observe(0.5));
  const lines = joinPages([{ process: 2, text }]).split("\n");
  expect(lines).toContain('sluice_h_bucket{sluice_process="2",le="1"} 1');
  expect(lines).toContain('sluice_h_sum{sluice_process="2"} 0.5');
});

test("joinPages() leaves out what would make the page invalid", () => {
  const first = pageOf((metrics) => {
    metrics.counter("m", "").inc();
    metrics.histogram("h", "").observe(1);
  });
  const second = pageOf((metrics) => {
    metrics.gauge("m", "").set(7);
    metrics.counter("h_sum", "").inc();
    metrics.counter("n", "").inc();
  });
  const text = joinPages([{ process: 1, text: first }, { process: 2, text: second }]);
  expect(text.match(/^# TYPE \S+/gm)).toEqual(["# TYPE m", "# TYPE h", "# TYPE n"]);
  expect(text).not.toContain("7");
  expect(text).toContain('n{sluice_process="2"} 1');
  expect(text).not.toContain('h_sum{sluice_process="2"}');
});

test("no series may have the label that names the process", () => {
  const counter = createMetrics().counter("m", "");
  expect(() => counter.inc({ sluice_process: "1" })).toThrow("sluice_process");
});

test("joinPages() of nothing is empty", () => {
  expect(joinPages([])).toBe("");
  expect(joinPages([{ process: 1, text: "\n" }])).toBe("");
});
