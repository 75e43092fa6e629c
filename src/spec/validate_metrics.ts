/** Rules for the metrics a template emits. */
import type { PrometheusMetric, Template } from "./manifest.ts";
import { SpecError } from "./spec_error.ts";

const METRIC_NAME = /^[a-zA-Z_][a-zA-Z0-9_]*$/;

/** @throws {SpecError} */
export function checkMetrics(template: Template): void {
  for (const metric of template.metrics?.prometheus ?? []) {
    const at = `templates.${template.name ?? ""} metric`;
    const name = metric.name ?? "";
    if (!METRIC_NAME.test(name)) {
      throw new SpecError(
        `${at} name '${name}' is invalid. Metric names must contain alphanumeric characters or '_'`,
      );
    }
    for (const label of metric.labels ?? []) {
      if (!METRIC_NAME.test(label.key)) {
        throw new SpecError(
          `metric label '${label.key}' is invalid: keys may only contain alphanumeric characters or '_'`,
        );
      }
    }
    if ((metric.help ?? "") === "") {
      throw new SpecError(`${at} '${name}' must contain a help string under 'help: ' field`);
    }
    const problem = valueProblem(metric);
    if (problem !== undefined) throw new SpecError(`${at} '${name}' error: ${problem}`);
  }
}

function valueProblem({ gauge, counter, histogram }: PrometheusMetric): string | undefined {
  if (gauge !== undefined) {
    const value = gauge.value ?? "";
    if (value === "") return "missing gauge.value";
    if (gauge.realtime === true && value.includes("resourcesDuration.")) {
      return "'resourcesDuration.*' metrics cannot be used in real-time";
    }
  }
  if (counter !== undefined && (counter.value ?? "") === "") return "missing counter.value";
  if (histogram !== undefined && (histogram.value ?? "") === "") return "missing histogram.value";
  return undefined;
}
