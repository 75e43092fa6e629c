/** Outputs of Steps and DAG nodes that have succeeded, taken from what their steps have left. */
import type { Artifact, Outputs, Parameter, Template } from "../../spec/manifest.ts";
import type { References } from "../scope/references.ts";
import { artifactScope, resolveArtifact } from "../scope/resolve_arguments.ts";
import { beginEvaluation, outputText, replaceTagsIn, soleTag } from "../scope/expressions.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import type { Turn } from "../turn.ts";
import { hasLocation } from "../scope/inputs.ts";

/**
 * Works out the outputs of a template; undefined when it has none. Parameters stay as written, with a value in the place of
 * `valueFrom`.
 * @throws {NodeFailure | TemplateError} when an output cannot be worked out and has no default
 */
export function collectOutputs(
  turn: Turn,
  template: Template,
  references: References,
): Outputs | undefined {
  beginEvaluation(turn.env);
  const parameters = template.outputs?.parameters?.map((parameter) => {
    const { valueFrom: _valueFrom, ...rest } = parameter;
    return { ...rest, value: outputValue(turn, parameter, references) };
  });
  const artifacts = template.outputs?.artifacts?.flatMap((artifact) =>
    collectArtifact(turn, artifact, references)
  );
  if (parameters === undefined && artifacts === undefined) return undefined;
  return {
    ...(parameters === undefined ? {} : { parameters }),
    ...(artifacts === undefined || artifacts.length === 0 ? {} : { artifacts }),
  };
}

function outputValue(turn: Turn, parameter: Parameter, references: References): string {
  const { valueFrom, name } = parameter;
  if (valueFrom === undefined) {
    throw new NodeFailure("output parameters must have a valueFrom specified");
  }
  const { expression = "", parameter: reference = "", default: fallback } = valueFrom;
  const fallBack = (reason: string) => {
    if (fallback !== undefined) return fallback;
    throw new NodeFailure(reason);
  };
  try {
    if (expression !== "") {
      return outputText(expression, artifactScope(references), turn.env) ??
        fallBack(`failed to evaluate expression ${JSON.stringify(expression)}`);
    }
    const tag = soleTag(reference);
    const found = tag === undefined ? "" : references.scope.find(tag);
    if (found === null) {
      const named = `output parameter ${JSON.stringify(name)}: ${JSON.stringify(reference)}`;
      return fallBack(
        `${named} is an absent optional (skipped/omitted node output with no default)`,
      );
    }
    const isDefault = fallback !== undefined && tag !== undefined && found === "[]" &&
      references.isOfEmptyLoop?.(tag) === true;
    if (isDefault) return fallback;
    if (found === undefined) return fallBack(`Unable to resolve: ${JSON.stringify(tag)}`);
    return replaceTagsIn(reference, references.scope, "error", turn.env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (fallback !== undefined) return fallback;
    throw error;
  }
}

function collectArtifact(turn: Turn, artifact: Artifact, references: References): Artifact[] {
  const found = resolveArtifact(turn, artifact, references);
  if (hasLocation(found)) return [found];
  const tag = soleTag(artifact.from);
  if (tag !== undefined && references.findArtifact(tag) !== undefined) {
    return [{ name: artifact.name }];
  }
  if (artifact.optional === true) return [];
  throw new NodeFailure(
    `failed to resolve ${artifact.from ?? artifact.fromExpression ?? artifact.name}`,
  );
}
