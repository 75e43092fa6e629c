/**
 * What the spans of a workflow say. Names and keys come from manifests; values that users, steps or callers have written (parameters,
 * messages, items of loops) are left out unless the deployment asks for them. Everything is bounded.
 */
import { withoutCallbackTokens } from "../../base/callback_tokens.ts";
import { type Header, isFailedOrError, type NodeRecord } from "../../engine/records.ts";
import type { WorkflowState } from "../../engine/state.ts";
import type { SpanRecord } from "../../platform/traces/span.ts";
import type { Parameter } from "../../spec/manifest.ts";

/** Longest name and value, characters. */
const MAX_NAME = 128;
const MAX_VALUE = 256;
/** Most parameters of a span. */
const MAX_PARAMETERS = 32;

type Attributes = SpanRecord["attributes"];

/**
 * When a workflow was created, epoch ms, at most. Its metadata has whole seconds, so one that started within the next second is
 * taken to have started at once.
 */
export function createdAtOf({ metadata, startedAt }: Header): number {
  const { creationTimestamp } = metadata;
  const second = typeof creationTimestamp === "string" ? Date.parse(creationTimestamp) : NaN;
  if (Number.isNaN(second)) return startedAt ?? 0;
  return Math.min(second + 999, startedAt ?? Infinity);
}

/** A kind of step, not one of its elements or attempts. */
export function nodeName(
  { type, role, step, hook, templateName, templateRef }: NodeRecord,
): string {
  const name = step ?? templateName ?? templateRef?.template ?? type;
  const shown = role === "hook"
    ? `${step ?? "workflow"} hook ${hook ?? "exit"}`
    : role === "attempt"
    ? `${name} attempt`
    : role === "group"
    ? "step group"
    : name;
  return cut(shown, MAX_NAME);
}

export function nodeAttributes(node: NodeRecord, showsValues: boolean): Attributes {
  const { id, type, phase, index, templateName, templateRef, inputs, outputs } = node;
  const attributes: Attributes = {
    "sluice.node.id": id,
    "sluice.node.type": type,
    "sluice.node.phase": phase,
  };
  const template = templateName ?? templateRef?.template;
  if (template !== undefined) attributes["sluice.template"] = cut(template, MAX_NAME);
  if (index !== undefined) attributes["sluice.node.index"] = index;
  if (node.memoizationStatus?.hit === true) attributes["sluice.node.memoized"] = true;
  if (outputs?.exitCode !== undefined) {
    attributes["sluice.exit_code"] = cut(String(outputs.exitCode), MAX_NAME);
  }
  if (showsValues) {
    addValues(attributes, "input", inputs?.parameters);
    addValues(attributes, "output", outputs?.parameters);
  }
  return attributes;
}

/** Why a node failed; undefined: it did not. */
export function nodeError(node: NodeRecord, showsValues: boolean): string | undefined {
  if (!isFailedOrError(node)) return undefined;
  if (showsValues && node.message !== undefined) return shown(node.message);
  const { exitCode } = node.outputs ?? {};
  return exitCode === undefined ? node.phase : `${node.phase} (exit code ${exitCode})`;
}

/** Which lock a node waited for. */
export function waitDetail({ lock }: NodeRecord): Attributes {
  const key = lock?.waiting ?? lock?.keys[0]?.key;
  return key === undefined ? {} : { "sluice.wait.lock": cut(key, MAX_VALUE) };
}

export function workflowAttributes(
  { header, specs, nodes }: WorkflowState,
  showsValues: boolean,
): Attributes {
  const { uid = "" } = header.metadata;
  const attributes: Attributes = {
    "sluice.workflow.uid": uid,
    "sluice.workflow.phase": header.phase,
    "sluice.workflow.nodes": nodes.size,
  };
  const template = specs.spec.workflowTemplateRef?.name;
  if (template !== undefined) attributes["sluice.workflow.template"] = cut(template, MAX_NAME);
  if (header.trace?.run !== undefined) attributes["sluice.workflow.is_retry"] = true;
  if (showsValues) addValues(attributes, "argument", specs.spec.arguments?.parameters);
  return attributes;
}

/** Why a workflow failed; undefined: it did not. */
export function workflowError(
  { phase, message }: Header,
  showsValues: boolean,
): string | undefined {
  if (phase !== "Failed" && phase !== "Error") return undefined;
  return showsValues && message !== undefined ? shown(message) : phase;
}

function addValues(
  attributes: Attributes,
  kind: string,
  parameters: readonly Parameter[] = [],
): void {
  for (const { name, value } of parameters.slice(0, MAX_PARAMETERS)) {
    if (value === undefined || value === null) continue;
    attributes[`sluice.${kind}.${cut(name, MAX_NAME)}`] = shown(String(value));
  }
}

function shown(text: string): string {
  return cut(withoutCallbackTokens(text), MAX_VALUE);
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
