/** The inputs of a template: from the step that calls it, from defaults, or from ConfigMaps. */
import type {
  Artifact,
  ConfigMap,
  Inputs,
  Parameter,
  Template,
  ValueFrom,
} from "../../spec/manifest.ts";
import { hasLocationOrKey } from "../../spec/artifact_location.ts";
import { configMapTypeLabel } from "../../spec/naming.ts";
import { joinScopes, mayHoldTag, replaceTags, type Scope } from "./expressions.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import type { KnownEnd } from "../live.ts";
import { findStored } from "../stored_manifests.ts";
import { atBegin, fillFor } from "./fill.ts";
import { GlobalScope } from "./workflow_variables.ts";
import type { GivenArguments } from "./arguments.ts";
import { workflowNamespace } from "../state.ts";
import type { Turn } from "../turn.ts";

/** Which variables a template may use besides its inputs and those of its workflow: its own, such as `node.name`. */
export interface CallVariables extends Scope {
  hasEnd: KnownEnd;
  /** A Steps or DAG template: it keeps the tags whose values change while it runs. */
  isEarly: boolean;
}

/**
 * The inputs of a template with their values.
 * @throws {NodeFailure} when an input gets no value
 */
export function resolveInputs(
  turn: Turn,
  template: Template,
  given: GivenArguments,
  variables: CallVariables,
): Inputs {
  const { inputs } = template;
  if (inputs === undefined) return {};
  // An input is bound once, when its node begins. So it takes what is known by then, also in a Steps template or DAG.
  const scope = () => joinScopes(variables, new GlobalScope(turn, atBegin(variables)));
  const parameters = inputs.parameters?.map((input) => resolveParameter(turn, input, given, scope));
  const artifacts = inputs.artifacts?.map((input) => resolveArtifact(input, given));
  const resolved: Inputs = {};
  if (parameters !== undefined) resolved.parameters = parameters;
  if (artifacts !== undefined) resolved.artifacts = artifacts;
  if (!mayHoldTag(resolved)) return resolved;
  const filled = replaceTags(resolved, scope(), "keep", turn.env);
  // Inputs may refer to each other, such as an artifact's key to a parameter: once, to what is there by now.
  return mayHoldTag(filled) ? fillFor(turn, filled, template, filled, variables) : filled;
}

/**
 * The artifact that is passed, at the path of the input. When it is absent, the input as it is written.
 * How it is packed comes with it: only who stored it knows that.
 */
function resolveArtifact(input: Artifact, given: GivenArguments): Artifact {
  const argument = given.artifacts?.find((artifact) => artifact.name === input.name);
  if (argument === undefined) {
    if (input.optional !== true && !hasLocation(input)) {
      throw new NodeFailure(`inputs.artifacts.${input.name} was not supplied`);
    }
    return input;
  }
  if (!hasLocation(argument)) {
    if (input.optional === true) return input;
    throw new NodeFailure(`inputs.artifacts.${input.name} missing location information`);
  }
  const {
    path: _path,
    mode: _mode,
    recurseMode: _recurse,
    globalName: _global,
    ...location
  } = argument;
  const { path, mode, recurseMode } = input;
  return {
    ...location,
    name: input.name,
    ...(path === undefined ? {} : { path }),
    ...(mode === undefined ? {} : { mode }),
    ...(recurseMode === undefined ? {} : { recurseMode }),
  };
}

function resolveParameter(
  turn: Turn,
  input: Parameter,
  given: GivenArguments,
  scope: () => Scope,
): Parameter {
  const argument = given.parameters?.find((parameter) => parameter.name === input.name);
  const { value: own, valueFrom } = input;
  // An argument of the workflow has both a value and `valueFrom` once its ConfigMap was read.
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
  if (own === undefined && valueFrom === undefined && from === undefined) {
    return { ...input, value };
  }
  const { value: _value, valueFrom: _valueFrom, ...rest } = input;
  // The node shows from which ConfigMap the value came.
  return { ...rest, ...(from === undefined ? {} : { valueFrom: from }), value };
}

function fromConfigMap(
  turn: Turn,
  input: Parameter,
  from: ValueFrom,
  scope: () => Scope,
): string | undefined {
  if (from.configMapKeyRef === undefined) return undefined;
  const ref = fillRef(turn, from.configMapKeyRef, scope());
  try {
    return configMapValue(turn, ref, from.default ?? input.default);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    throw new NodeFailure(
      `unable to retrieve inputs.parameters.${input.name} from ConfigMap: ${error.message}`,
    );
  }
}

function fillRef<T>(turn: Turn, ref: T, scope: Scope): T {
  try {
    return replaceTags(ref, scope, "error", turn.env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    throw new NodeFailure(`failed to substitute configMapKeyRef: ${error.message}`);
  }
}

/**
 * A value from a stored ConfigMap; undefined when it is optional and absent.
 * @throws {NodeFailure} when there is neither a value nor a default
 */
export function configMapValue(
  turn: Turn,
  ref: { name?: string; key: string; optional?: boolean },
  fallback?: string,
): string | undefined {
  const name = ref.name ?? "";
  const map = findStored<ConfigMap>(turn, "ConfigMap", workflowNamespace(turn.state), name);
  const label = configMapTypeLabel(turn.env);
  if (map?.metadata.labels?.[label] !== "Parameter") {
    if (fallback !== undefined) return fallback;
    if (ref.optional === true) return undefined;
    throw new NodeFailure(
      `ConfigMap '${name}' does not exist. Please make sure it has the label ${label}: Parameter to be detectable by the controller`,
    );
  }
  const value = map.data?.[ref.key] ?? fallback;
  if (value === undefined && ref.optional !== true) {
    throw new NodeFailure(`ConfigMap '${name}' does not have the key '${ref.key}'`);
  }
  return value;
}

const LOCATIONS = [
  ...["s3", "gcs", "oss", "azure", "git", "http", "raw", "artifactory", "hdfs", "plugin"],
] as const;

/** Tells whether an artifact says where it is stored. */
export function hasLocation(artifact: object): boolean {
  return LOCATIONS.some((member) => Object.hasOwn(artifact, member));
}

/**
 * A template without the optional artifacts that got nothing: an executor would look for them. A location that names no
 * place, such as an empty URL, is none.
 */
export function withPresentArtifacts(template: Template): Template {
  const { inputs } = template;
  const { artifacts } = inputs ?? {};
  if (artifacts === undefined || artifacts.every(isPresent)) return template;
  return { ...template, inputs: { ...inputs, artifacts: artifacts.filter(isPresent) } };
}

function isPresent(artifact: Artifact): boolean {
  return artifact.optional === true ? hasLocationOrKey(artifact) : hasLocation(artifact);
}
