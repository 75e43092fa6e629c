/**
 * Gives a template its inputs and fills in its tags: what a step passes, else the default, else a ConfigMap; then every
 * tag whose value is known at this moment. Tags of later moments stay.
 */
import type { ConfigMap, Inputs, Parameter, Template, ValueFrom } from "../spec/manifest.ts";
import { isShared } from "../base/shared_json.ts";
import { joinScopes, mayHoldTag, replaceTags, type Scope, scopeOf } from "./expressions.ts";
import { findStored, NodeFailure } from "./failure.ts";
import { globalScope, parametersJson } from "./globals.ts";
import type { GivenArguments } from "./arguments.ts";
import { type Turn, workflowNamespace } from "./state.ts";

/** Which variables a template may use besides its inputs and the workflow's. */
export interface FillOptions {
  /** `node.name`, `pod.name`, `steps.name`, `retries` and so on. */
  locals: Readonly<Record<string, string>>;
  /** Inside an exit handler or workflow hook. */
  hasEnd: boolean;
  /** Steps and dag templates keep tags of what changes while they run. */
  isEarly: boolean;
}

/**
 * The inputs of a template with their values.
 * @throws {NodeFailure} when an input gets no value
 */
export function bindInputs(
  turn: Turn,
  template: Template,
  given: GivenArguments,
  options: FillOptions,
): Inputs {
  const { inputs } = template;
  if (inputs === undefined) return {};
  const scope = joinScopes(
    scopeOf(options.locals),
    globalScope(turn, { hasEnd: options.hasEnd, isEarly: options.isEarly }),
  );
  const parameters = inputs.parameters?.map((input) => bindParameter(turn, input, given, scope));
  const artifacts = inputs.artifacts?.flatMap((input) => {
    const argument = given.artifacts?.find((artifact) => artifact.name === input.name);
    if (argument === undefined) {
      if (input.optional !== true && !hasLocation(input)) {
        throw new NodeFailure(`inputs.artifacts.${input.name} was not supplied`);
      }
      return [input];
    }
    if (!hasLocation(argument)) {
      if (input.optional === true || argument.optional === true) return [];
      throw new NodeFailure(`inputs.artifacts.${input.name} missing location information`);
    }
    const {
      path: _path,
      mode: _mode,
      recurseMode: _recurse,
      globalName: _global,
      archive: _archive,
      ...location
    } = argument;
    const { path, mode, recurseMode } = input;
    return [{
      ...location,
      name: input.name,
      ...(path === undefined ? {} : { path }),
      ...(mode === undefined ? {} : { mode }),
      ...(recurseMode === undefined ? {} : { recurseMode }),
      ...(input.archive === undefined ? {} : { archive: input.archive }),
    }];
  });
  const bound: Inputs = {
    ...(parameters === undefined ? {} : { parameters }),
    ...(artifacts === undefined ? {} : { artifacts }),
  };
  return replaceTags(bound, scope, "keep", turn.env);
}

function bindParameter(
  turn: Turn,
  input: Parameter,
  given: GivenArguments,
  scope: Scope,
): Parameter {
  const argument = given.parameters?.find((parameter) => parameter.name === input.name);
  const { value: own, valueFrom, ...rest } = input;
  // An argument of the run has both once its ConfigMap was read.
  const source = argument?.value === undefined
    ? argument?.valueFrom ?? valueFrom
    : argument.valueFrom;
  const from = source?.configMapKeyRef === undefined ? undefined : source;
  const value = argument?.value ??
    (from === undefined
      ? own ?? input.default ?? argument?.default ?? source?.default
      : fromConfigMap(turn, input, from, scope));
  if (value === undefined) {
    if (argument?.isAbsent === true) {
      throw new NodeFailure(
        `inputs.parameters.${input.name}: argument references an absent optional (skipped/omitted node output with no default)`,
      );
    }
    if (source?.supplied !== undefined) return input;
    throw new NodeFailure(`inputs.parameters.${input.name} was not supplied`);
  }
  // The node shows which ConfigMap the value came from.
  return { ...rest, ...(from === undefined ? {} : { valueFrom: from }), value };
}

function fromConfigMap(
  turn: Turn,
  input: Parameter,
  from: ValueFrom,
  scope: Scope,
): string | undefined {
  if (from.configMapKeyRef === undefined) return undefined;
  const ref = replaceTags(from.configMapKeyRef, scope, "error", turn.env);
  try {
    return configMapValue(turn, ref, from.default ?? input.default);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    throw new NodeFailure(
      `unable to retrieve inputs.parameters.${input.name} from ConfigMap: ${error.message}`,
    );
  }
}

/**
 * A value out of a stored ConfigMap.
 * @throws {NodeFailure} when there is none and no default
 */
export function configMapValue(
  turn: Turn,
  ref: { name?: string; key: string; optional?: boolean },
  fallback?: string,
): string | undefined {
  const name = ref.name ?? "";
  const map = findStored<ConfigMap>(turn, "ConfigMap", workflowNamespace(turn.state), name);
  const labels = map?.metadata.labels ?? {};
  if (map === undefined || labels[`${turn.env.labelPrefix}configmap-type`] !== "Parameter") {
    if (fallback !== undefined) return fallback;
    if (ref.optional === true) return undefined;
    throw new NodeFailure(
      `ConfigMap '${name}' does not exist. Please make sure it has the label ${turn.env.labelPrefix}configmap-type: Parameter to be detectable by the controller`,
    );
  }
  const value = map.data?.[ref.key] ?? fallback;
  if (value === undefined && ref.optional !== true) {
    throw new NodeFailure(`ConfigMap '${name}' does not have the key '${ref.key}'`);
  }
  return value;
}

/** A template with bound inputs and every tag replaced that is known now. */
export function fillTemplate(
  turn: Turn,
  template: Template,
  inputs: Inputs,
  options: FillOptions,
): Template {
  const { inputs: _declared, ...body } = template;
  if (isShared(template) && !mayHoldTag(body)) {
    return template.inputs === undefined ? template : { ...body, inputs };
  }
  const scope = joinScopes(
    inputScope(inputs),
    pathScope(template),
    scopeOf(options.locals),
    globalScope(turn, { hasEnd: options.hasEnd, isEarly: options.isEarly }),
  );
  const filled = replaceTags(body, scope, "keep", turn.env);
  return template.inputs === undefined ? filled : { ...filled, inputs };
}

/** `inputs.*` of a template. */
export function inputScope(inputs: Inputs | undefined): Scope {
  const parameters = inputs?.parameters ?? [];
  const artifacts = inputs?.artifacts ?? [];
  const values = new Map<string, string>(
    parameters.flatMap(({ name, value }): [string, string][] =>
      value === undefined ? [] : [[`inputs.parameters.${name}`, value]]
    ),
  );
  for (const { name, path } of artifacts) {
    if (path !== undefined) values.set(`inputs.artifacts.${name}.path`, path);
  }
  return {
    find(name) {
      if (name === "inputs.parameters") return parametersJson(parameters);
      return values.get(name);
    },
    *names(root) {
      if (root === "inputs") yield* values.keys();
    },
  };
}

function pathScope(template: Template): Scope {
  const values: Record<string, string> = {};
  for (const { name, valueFrom } of template.outputs?.parameters ?? []) {
    if (valueFrom?.path !== undefined) values[`outputs.parameters.${name}.path`] = valueFrom.path;
  }
  for (const { name, path } of template.outputs?.artifacts ?? []) {
    if (path !== undefined) values[`outputs.artifacts.${name}.path`] = path;
  }
  return scopeOf(values);
}

const LOCATIONS = [
  ...["s3", "gcs", "oss", "azure", "git", "http", "raw", "artifactory", "hdfs", "plugin"],
] as const;

/** Tells whether an artifact says where it lives. */
export function hasLocation(artifact: object): boolean {
  return LOCATIONS.some((member) => Object.hasOwn(artifact, member));
}
