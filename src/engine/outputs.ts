/** Outputs of Steps and DAG nodes: taken from what their steps left, when they have succeeded. */
import type { Artifact, Outputs, Parameter, Template } from "../spec/manifest.ts";
import { type ExpansionScope, resolveArtifact } from "./expansion.ts";
import { beginEvaluation, outputText, replaceTagsIn, soleTag } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { isFailure } from "./failure.ts";
import type { Turn } from "./state.ts";
import { hasLocation } from "./bind.ts";

/**
 * Evaluates the outputs of a template; undefined when it has none. Parameters stay as they are written, with the value in
 * place of where it comes from.
 * @throws {NodeFailure | TemplateError} when one can't be had and has no default
 */
export function collectOutputs(
  turn: Turn,
  template: Template,
  known: ExpansionScope,
): Outputs | undefined {
  beginEvaluation(turn.env);
  const parameters = template.outputs?.parameters?.map((parameter) => {
    const { valueFrom: _valueFrom, ...rest } = parameter;
    return { ...rest, value: outputValue(turn, parameter, known) };
  });
  const artifacts = template.outputs?.artifacts?.flatMap((artifact) =>
    collectArtifact(turn, artifact, known)
  );
  if (parameters === undefined && artifacts === undefined) return undefined;
  return {
    ...(parameters === undefined ? {} : { parameters }),
    ...(artifacts === undefined || artifacts.length === 0 ? {} : { artifacts }),
  };
}

function outputValue(turn: Turn, parameter: Parameter, known: ExpansionScope): string {
  const { valueFrom, name } = parameter;
  if (valueFrom === undefined) {
    throw new NodeFailure("output parameters must have a valueFrom specified");
  }
  const { expression = "", parameter: reference = "", default: fallback } = valueFrom;
  const absent = (what: string) => {
    if (fallback !== undefined) return fallback;
    throw new NodeFailure(
      `output parameter ${JSON.stringify(name)}: ${
        JSON.stringify(what)
      } is an absent optional (skipped/omitted node output with no default)`,
    );
  };
  try {
    if (expression !== "") {
      return outputText(expression, known.scope, turn.env) ?? absent(expression);
    }
    const tag = soleTag(reference);
    if (tag !== undefined && known.scope.find(tag) === null) return absent(reference);
    return replaceTagsIn(reference, known.scope, "error", turn.env);
  } catch (error) {
    if (!isFailure(error)) throw error;
    if (fallback !== undefined) return fallback;
    throw error;
  }
}

function collectArtifact(turn: Turn, artifact: Artifact, known: ExpansionScope): Artifact[] {
  const found = resolveArtifact(turn, artifact, known);
  if (hasLocation(found)) return [found];
  if (artifact.optional === true) return [];
  throw new NodeFailure(
    `failed to resolve ${artifact.from ?? artifact.fromExpression ?? artifact.name}`,
  );
}
