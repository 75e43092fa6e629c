/** Rules for the metrics that templates and workflows emit. */
import { labelKeyProblem } from "../../base/prometheus_text.ts";
import type { Metrics, PrometheusMetric, Template } from "../manifest.ts";
import { SpecError } from "../spec_error.ts";

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
    // Intentionally without the place, as the reference does.
    for (const label of metric.labels ?? []) checkLabelKey("", label.key, metric);
    if ((metric.help ?? "") === "") {
      throw new SpecError(`${at} '${name}' must contain a help string under 'help: ' field`);
    }
    const problem = valueProblem(metric);
    if (problem !== undefined) throw new SpecError(`${at} '${name}' error: ${problem}`);
  }
}

/**
 * Checks the metrics of a whole workflow. The reference does not check them. Here, only what could break `/metrics` is
 * refused. A text that contains a tag is checked when the workflow runs.
 *
 * @throws {SpecError}
 */
export function checkWorkflowMetrics(metrics: Metrics | undefined): void {
  (metrics?.prometheus ?? []).forEach((metric, index) => {
    const at = `spec.metrics.prometheus[${index}]`;
    const { name = "", labels = [] } = metric;
    if (!hasTag(name) && !METRIC_NAME.test(name)) {
      throw new SpecError(
        `${at} name '${name}' is invalid. Metric names must contain alphanumeric characters or '_'`,
      );
    }
    for (const { key } of labels) if (!hasTag(key)) checkLabelKey(`${at}: `, key, metric);
  });
}

function hasTag(text: string): boolean {
  return text.includes("{{");
}

function checkLabelKey(at: string, key: string, { histogram }: PrometheusMetric): void {
  const problem = labelKeyProblem(key, histogram !== undefined);
  if (problem !== undefined) {
    throw new SpecError(`${at}metric label '${key}' is invalid: ${problem}`);
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
