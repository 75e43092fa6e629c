/**
 * Metrics that workflows and templates define. They are reported when the workflow or the template's node ends, and for each
 * attempt that is followed by another; a real-time gauge also when it begins. A node whose outputs came from a cache has not
 * run, and is not measured. A metric that fails becomes a condition of the workflow and ends nothing.
 */
import { errorText } from "../base/error_text.ts";
import { isMetricName, seriesProblem } from "../base/prometheus_text.ts";
import { isShared } from "../base/shared_json.ts";
import type { Metrics, PrometheusMetric, Template } from "../spec/manifest.ts";
import { InputScope } from "./scope/fill.ts";
import { callOf } from "./scope/call.ts";
import { VariablesOfCall } from "./scope/call_variables.ts";
import { emit } from "./change.ts";
import type { MetricSample } from "./effect.ts";
import {
  beginEvaluation,
  isWhenTrue,
  joinScopes,
  replaceTags,
  type Scope,
  scopeOf,
} from "./scope/expressions.ts";
import { setCondition } from "./finish.ts";
import { addResources } from "./nodes/progress.ts";
import { GlobalScope } from "./scope/workflow_variables.ts";
import { attemptCount, nodeWithOutputs } from "./scope/attempts.ts";
import { LIVE, membersOf } from "./live.ts";
import { executedSpec, rootOf, workflowName, type WorkflowState } from "./state.ts";
import { hasEnded, type NodeRecord } from "./records.ts";
import type { Turn } from "./turn.ts";
import { resolveTemplate } from "./scope/templates.ts";

/** What a real-time gauge can show: the time since its node or its workflow began. */
const CLOCKS: Readonly<Record<string, "node" | "workflow">> = {
  "{{duration}}": "node",
  "{{workflow.duration}}": "workflow",
};

/** How far the workflow was before a call of `advance`. */
export interface Before {
  hasBegun: boolean;
  hasEnded: boolean;
}

/** Reports the metrics of everything that has begun or ended in this call. */
export function observeMetrics(turn: Turn, before: Before): void {
  const { state } = turn;
  const { phased, retried } = state.pending;
  const errors: string[] = [];
  if (phased.length > 0) state.pending.phased = [];
  if (retried.length > 0) state.pending.retried = [];
  if (phased.length + retried.length > 0 && measuresNodes(state)) {
    const others = [...new Set(phased)].map((id) => state.nodes.get(id))
      .filter((node) => node !== undefined).filter(isMeasured);
    for (const node of [...retried, ...others]) {
      try {
        observeNode(turn, node, errors);
      } catch (error) {
        // A metric must not harm its workflow, whatever went wrong.
        errors.push(`metrics of ${node.name}: ${errorText(error)}`);
      }
    }
  }
  const own = executedSpec(state).metrics;
  if (own !== undefined) observeWorkflow(turn, own, before, errors);
  if (errors.length === 0) return;
  const known = state.header.conditions?.find(({ type }) => type === "MetricsError")?.message;
  const all = new Set([...known === undefined ? [] : known.split(", "), ...errors]);
  setCondition(turn, "MetricsError", "True", [...all].join(", "));
}

/** Tells whether any template defines metrics. The answer is kept until templates are added. */
function measuresNodes(state: WorkflowState): boolean {
  const { specs, runtime } = state;
  const spec = executedSpec(state);
  const { templates, templateDefaults } = spec;
  const { storedTemplates } = specs;
  let known = runtime.measures;
  if (known?.templates !== templates || known?.stored !== storedTemplates) {
    const any = measures(templateDefaults) || doAnyMeasure(templates) ||
      (storedTemplates !== undefined && Object.values(storedTemplates).some(measures));
    known = { templates, stored: storedTemplates, any };
    runtime.measures = known;
  }
  return known?.any === true;
}

// A memo of a pure function, by shared templates.
const measuring = new WeakMap<object, boolean>();

function doAnyMeasure(templates: readonly Template[] | undefined): boolean {
  if (templates === undefined) return false;
  if (!isShared(templates)) return templates.some(measures);
  let any = measuring.get(templates);
  if (any === undefined) measuring.set(templates, any = templates.some(measures));
  return any;
}

function measures(template: Template | undefined): boolean {
  if (template === undefined) return false;
  if (template.metrics !== undefined) return true;
  const steps = template.steps?.flat() ?? template.dag?.tasks ?? [];
  return steps.some(({ inline }) => measures(inline));
}

function isMeasured({ role, phase, memoizationStatus }: NodeRecord): boolean {
  return (role === "root" || role === "member" || role === "hook") && phase !== "Skipped" &&
    phase !== "Omitted" && memoizationStatus?.hit !== true;
}

function observeNode(turn: Turn, node: NodeRecord, errors: string[]): void {
  const call = callOf(turn, node);
  const { template } = resolveTemplate(turn, call.holder, call.context);
  if (template.metrics === undefined) return;
  const scope = joinScopes(
    scopeOf(nodeValues(turn, node)),
    new InputScope(node.inputs),
    new VariablesOfCall(call, template, workflowName(turn.state)),
    new GlobalScope(turn, { hasEnd: call.hasEnd }),
  );
  observe(turn, template.metrics, {
    scope,
    key: node.id,
    hasEnded: hasEnded(node),
    isRetried: node.role === "attempt",
    startedAt: node.startedAt,
  }, errors);
}

/** What a workflow can use before its entrypoint has a node, and what a node has that no task reports about. */
const DEFAULT_VALUES = {
  status: "Pending",
  duration: "0",
  "resourcesDuration.cpu": "0",
  "resourcesDuration.memory": "0",
};

/** Variables of the node itself. */
function nodeValues(turn: Turn, node: NodeRecord): Record<string, string> {
  const { outputs } = nodeWithOutputs(node);
  const until = node.finishedAt ?? turn.env.now;
  const values: Record<string, string> = {
    ...DEFAULT_VALUES,
    status: node.phase,
    duration: ((until - (node.startedAt ?? until)) / 1000).toFixed(6),
    retries: String(retriesOf(node)),
  };
  if (outputs?.exitCode !== undefined) values["exitCode"] = outputs.exitCode;
  if (outputs?.result !== undefined) values["outputs.result"] = outputs.result;
  for (const { name, value } of outputs?.parameters ?? []) {
    values[`outputs.parameters.${name}`] = value ?? "";
  }
  for (const [name, seconds] of Object.entries(resourcesOf(node))) {
    values[`resourcesDuration.${name}`] = String(seconds);
  }
  return values;
}

function retriesOf(node: NodeRecord): number {
  if (node.role === "attempt") return node.index ?? 0;
  return node.type === "Retry" ? Math.max(0, attemptCount(node) - 1) : 0;
}

/** What the tasks of a node have used: its own, and those below it. */
function resourcesOf(node: NodeRecord): Record<string, number> {
  const sum: Record<string, number> = {};
  const nodes = [node];
  for (let next = nodes.pop(); next !== undefined; next = nodes.pop()) {
    addResources(sum, next.resourcesDuration);
    if (next[LIVE].group === undefined) continue;
    // Not spread: a loop may have more members than a call may have arguments.
    for (const member of membersOf(next)) nodes.push(member);
  }
  return sum;
}

function observeWorkflow(turn: Turn, metrics: Metrics, before: Before, errors: string[]): void {
  const { header } = turn.state;
  const isEnd = header.finishedAt !== undefined && !before.hasEnded;
  const isBegin = header.startedAt !== undefined && !before.hasBegun;
  if (!isEnd && !isBegin) return;
  const root = isEnd ? rootOf(turn.state) : undefined;
  const values: Record<string, string> = {
    ...(root === undefined ? DEFAULT_VALUES : nodeValues(turn, root)),
    "workflow.status": header.phase,
  };
  for (const [name, seconds] of Object.entries(workflowResources(turn.state))) {
    values[`workflow.resourcesDuration.${name}`] = String(seconds);
  }
  observe(turn, metrics, {
    scope: joinScopes(
      scopeOf(values),
      new InputScope(root?.inputs),
      new GlobalScope(turn, { hasEnd: true }),
    ),
    key: header.metadata.uid ?? "",
    hasEnded: isEnd,
    isRetried: false,
    startedAt: header.startedAt,
  }, errors);
}

function workflowResources({ nodes }: WorkflowState): Record<string, number> {
  const sum: Record<string, number> = {};
  for (const { type, resourcesDuration } of nodes.values()) {
    if (type !== "Pod") continue;
    addResources(sum, resourcesDuration);
  }
  return sum;
}

/** What is measured. */
interface Subject {
  scope: Scope;
  /** What identifies it: node id, or uid of the workflow. */
  key: string;
  hasEnded: boolean;
  /** It is an attempt that is followed by another. */
  isRetried: boolean;
  startedAt: number | undefined;
}

function observe(turn: Turn, metrics: Metrics, subject: Subject, errors: string[]): void {
  beginEvaluation(turn.env);
  (metrics.prometheus ?? []).forEach((metric, index) => {
    const isRealtime = metric.gauge?.realtime === true;
    // The clock of a retry node runs until its last attempt has ended.
    if (isRealtime ? subject.isRetried : !subject.hasEnded) return;
    try {
      const sample = sampleOf(turn, metric, subject);
      if (sample === undefined) return;
      const problem = seriesProblem(sample);
      if (problem !== undefined) throw new Error(problem);
      emit(turn, {
        type: "observe-metric",
        id: `metric/${subject.key}/${index}/${turn.state.runtime.revision}`,
        sample,
      });
    } catch (error) {
      errors.push(`metric '${metric.name ?? ""}': ${errorText(error)}`);
    }
  });
}

/** Undefined when the condition of the metric does not hold. @throws {Error} when the metric is wrong */
function sampleOf(
  turn: Turn,
  metric: PrometheusMetric,
  { scope, hasEnded, startedAt, key }: Subject,
): MetricSample | undefined {
  const clock = metric.gauge?.realtime === true ? CLOCKS[metric.gauge.value ?? ""] : undefined;
  if (metric.gauge?.realtime === true && clock === undefined) {
    throw new Error("a real-time gauge takes {{duration}} or {{workflow.duration}}");
  }
  const { name = "", help = "", labels, when, gauge, counter, histogram } = replaceTags(
    metric,
    scope,
    "error",
    turn.env,
  );
  if (!isMetricName(name)) throw new Error(`'${name}' is not a valid name of a metric`);
  if (when !== undefined && when !== "" && !isWhenTrue(when, turn.env)) return undefined;
  const common = {
    name,
    help,
    labels: Object.fromEntries((labels ?? []).map((label) => [label.key, label.value])),
  };
  if (gauge !== undefined) {
    const since = clock === "workflow" ? turn.state.header.startedAt : startedAt;
    const isRunning = clock !== undefined && !hasEnded && since !== undefined;
    return {
      ...common,
      type: "gauge",
      value: isRunning ? 0 : numberOf(gauge.value),
      operation: gauge.operation === "Add" || gauge.operation === "Sub" ? gauge.operation : "Set",
      ...(isRunning ? { since } : {}),
      ...(clock === undefined ? {} : { key }),
    };
  }
  if (counter !== undefined) return { ...common, type: "counter", value: numberOf(counter.value) };
  if (histogram === undefined) throw new Error("it must be a gauge, a counter or a histogram");
  return {
    ...common,
    type: "histogram",
    value: numberOf(histogram.value),
    buckets: (histogram.buckets ?? []).map((bound) => numberOf(String(bound))),
  };
}

function numberOf(text: string | undefined): number {
  const number = text === undefined || text.trim() === "" ? NaN : Number(text);
  if (!Number.isFinite(number)) throw new Error(`'${text ?? ""}' is not a number`);
  return number;
}
