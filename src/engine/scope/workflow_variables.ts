/**
 * The variables `workflow.*`. Each is looked up only when a tag asks for it. Tags of variables that change while the workflow
 * runs stay when a Steps or DAG template is filled in, and are replaced where they are used.
 */
import type { Json } from "../../base/json.ts";
import type { Arguments, Parameter } from "../../spec/manifest.ts";
import { scheduledTimeAnnotation } from "../../spec/naming.ts";
import { isFailure } from "../failure.ts";
import { compactJson, mayHoldTag, replaceTagsIn, type Scope } from "./expressions.ts";
import { exactJson } from "./raw_json.ts";
import { createdAt, type Turn } from "../turn.ts";
import { executedSpec, rootOf, workflowName, workflowNamespace } from "../state.ts";
import type { KnownEnd } from "../live.ts";
import { isFailedOrError } from "../records.ts";
import { podNameOf } from "./names.ts";
import { inPlace } from "./place.ts";
import { rfc3339, strftime, STRFTIME_LETTERS } from "./time_text.ts";

/** Variables that change while the workflow runs. */
const LATE = /^workflow\.(status|failures|duration|outputs\.)/;

export interface GlobalScopeOptions {
  /** Without the variables that change while the workflow runs. */
  isEarly?: boolean;
  hasEnd?: KnownEnd;
}

/** The variables `workflow.*`. */
export class GlobalScope implements Scope {
  readonly #turn: Turn;
  readonly #options: GlobalScopeOptions;

  constructor(turn: Turn, options: GlobalScopeOptions = {}) {
    this.#turn = turn;
    this.#options = options;
  }

  find(name: string): Json | undefined {
    if (!name.startsWith("workflow.")) return undefined;
    if (this.#options.isEarly === true && LATE.test(name)) return undefined;
    return findGlobal(this.#turn, name.slice("workflow.".length), this.#options);
  }

  *names(root: string): Iterable<string> {
    if (root !== "workflow") return;
    for (const name of globalNames(this.#turn)) {
      if (this.find(`workflow.${name}`) !== undefined) yield `workflow.${name}`;
    }
  }
}

function findGlobal(turn: Turn, name: string, options: GlobalScopeOptions): Json | undefined {
  const { metadata } = turn.state.header;
  const spec = executedSpec(turn.state);
  switch (name) {
    case "name":
      return workflowName(turn.state);
    case "namespace":
      return workflowNamespace(turn.state);
    case "uid":
      return metadata.uid ?? "";
    case "serviceAccountName":
      return spec.serviceAccountName ?? "";
    case "mainEntrypoint":
      return spec.entrypoint ?? "";
    case "priority":
      return spec.priority === undefined ? undefined : String(spec.priority);
    case "duration":
      return duration(turn).toFixed(6);
    case "scheduledTime":
      return metadata.annotations?.[scheduledTimeAnnotation(turn.env)];
    case "status":
      if (options.hasEnd === "running") return "Running";
      return options.hasEnd === true ? endPhase(turn) : undefined;
    case "failures":
      return options.hasEnd === true ? failures(turn) : undefined;
    case "parameters":
    case "parameters.json":
      return parametersJson(globalParameters(turn));
    case "annotations":
    case "annotations.json":
      return compactJson(metadata.annotations ?? {});
    case "labels":
    case "labels.json":
      return compactJson(metadata.labels ?? {});
    case "creationTimestamp":
      return rfc3339(createdAt(turn));
  }
  const dot = name.indexOf(".");
  const key = name.slice(dot + 1);
  if (dot < 0 || key === "") return undefined;
  switch (name.slice(0, dot)) {
    case "parameters":
      return globalParameter(turn, key);
    case "annotations":
      return metadata.annotations?.[key];
    case "labels":
      return metadata.labels?.[key];
    case "creationTimestamp":
      return creationTime(createdAt(turn), key);
    case "outputs":
      return globalOutput(turn, key);
    default:
      return undefined;
  }
}

function* globalNames(turn: Turn): Iterable<string> {
  const { metadata, outputs } = turn.state.header;
  yield* [
    "name",
    "namespace",
    "uid",
    "serviceAccountName",
    "mainEntrypoint",
    "priority",
    "duration",
    "scheduledTime",
    "status",
    "failures",
    "parameters.json",
    "annotations.json",
    "labels.json",
    "creationTimestamp",
    "creationTimestamp.RFC3339",
    "creationTimestamp.s",
  ];
  for (const letter of STRFTIME_LETTERS) yield `creationTimestamp.${letter}`;
  for (const { name } of globalParameters(turn)) yield `parameters.${name}`;
  for (const key of Object.keys(metadata.annotations ?? {})) yield `annotations.${key}`;
  for (const key of Object.keys(metadata.labels ?? {})) yield `labels.${key}`;
  for (const { name } of outputs?.parameters ?? []) yield `outputs.parameters.${name}`;
  for (const { name } of outputs?.artifacts ?? []) yield `outputs.artifacts.${name}`;
}

/** Arguments of the workflow, with the values that were read from ConfigMaps. */
function globalParameters(turn: Turn): Parameter[] {
  return (executedSpec(turn.state).arguments?.parameters ?? []).map((parameter) => {
    const value = valueOf(turn, parameter);
    return value === undefined ? parameter : { ...parameter, value };
  });
}

function globalParameter(turn: Turn, name: string): string | undefined {
  const found = executedSpec(turn.state).arguments?.parameters?.find((one) => one.name === name);
  return found === undefined ? undefined : valueOf(turn, found);
}

function valueOf(turn: Turn, parameter: Parameter): string | undefined {
  const { parameterValues } = turn.state.specs;
  const value = parameterValues?.[parameter.name] ?? parameter.value ?? parameter.default;
  return value === undefined ? undefined : fillArgument(turn, parameter.name, value);
}

/**
 * The arguments of the workflow with their tags replaced, for a template to which they are passed. One whose tags fail stays as it
 * is written: the template, which replaces what is left, says what is wrong.
 */
export function fillArguments<T extends Pick<Arguments, "parameters">>(turn: Turn, given: T): T {
  if (given.parameters === undefined || !mayHoldTag(given.parameters)) return given;
  const parameters = given.parameters.map((one) => {
    try {
      const { name, value } = one;
      return value === undefined ? one : { ...one, value: fillArgument(turn, name, value) };
    } catch (error) {
      if (!isFailure(error)) throw error;
      return one;
    }
  });
  return { ...given, parameters };
}

/**
 * Replaces the tags in an argument, which may use the other variables of the workflow. It is the same wherever the argument is
 * used: its time is that of the workflow's creation.
 */
function fillArgument(turn: Turn, parameter: string, value: string): string {
  if (!value.includes("{{")) return value;
  const scope: Scope = {
    find: (name) =>
      name.startsWith("workflow.") && !name.startsWith("workflow.parameters") && !LATE.test(name)
        ? findGlobal(turn, name.slice("workflow.".length), {})
        : undefined,
    names: () => [],
  };
  const fill = () => replaceTagsIn(value, scope, "keep", turn.env);
  return inPlace(turn, `workflow.parameters.${parameter}`, createdAt(turn), fill);
}

/** The value of a variable `….parameters`: a JSON list of the parameters with all that they declare, in the order of Go's fields. */
export function parametersJson(parameters: readonly Parameter[]): string {
  return exactJson(parameters.map((parameter) => {
    const { name, value, default: fallback, valueFrom, globalName, description } = parameter;
    return {
      name,
      ...(fallback !== undefined && { default: fallback }),
      ...(value !== undefined && { value }),
      ...(valueFrom !== undefined && { valueFrom: valueFrom as Json }),
      ...(globalName && { globalName }),
      ...(parameter.enum?.length && { enum: parameter.enum }),
      ...(description !== undefined && { description }),
    };
  }));
}

function globalOutput(turn: Turn, key: string): Json | undefined {
  const { outputs } = turn.state.header;
  const [, kind, name] = /^(parameters|artifacts)\.(.+)$/s.exec(key) ?? [];
  if (kind === "parameters") {
    return outputs?.parameters?.find((parameter) => parameter.name === name)?.value;
  }
  const artifact = outputs?.artifacts?.find((artifact) => artifact.name === name);
  return artifact === undefined ? undefined : artifact as unknown as Json;
}

function creationTime(at: number, key: string): string | undefined {
  if (key === "RFC3339") return rfc3339(at);
  if (key === "s") return String(Math.floor(at / 1000));
  return strftime(at, key);
}

function duration(turn: Turn): number {
  const { startedAt, finishedAt } = turn.state.header;
  const now = finishedAt ?? turn.env.place?.at ?? turn.env.now;
  return startedAt === undefined ? 0 : (now - startedAt) / 1000;
}

/** The phase that exit handlers and hooks see: that of the root node. Skipped counts as succeeded. */
function endPhase(turn: Turn): string {
  const phase = rootOf(turn.state)?.phase;
  if (phase === undefined) return turn.state.header.phase;
  return phase === "Skipped" || phase === "Omitted" ? "Succeeded" : phase;
}

/** The failed nodes, as a JSON text inside a JSON string. */
function failures(turn: Turn): string {
  const found: Json[] = [];
  const { state } = turn;
  for (const node of state.nodes.values()) {
    if (!isFailedOrError(node)) continue;
    found.push({
      displayName: node.displayName,
      message: node.message ?? "",
      templateName: node.templateRef?.template ?? node.templateName ?? "",
      phase: node.phase,
      podName: podNameOf(workflowName(state), node),
      finishedAt: node.finishedAt === undefined ? null : rfc3339(node.finishedAt),
    });
  }
  // The reference quotes the list twice.
  return JSON.stringify(found.length === 0 ? "null" : exactJson(found));
}
