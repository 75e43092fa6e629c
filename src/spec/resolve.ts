/**
 * The spec that is run: the workflow's own spec takes precedence over that of its `workflowTemplateRef`, and a template
 * over `templateDefaults`. No argument is changed; results may share parts with them.
 */
import { defined } from "../base/defined.ts";
import { findLocation, LOCATION_KINDS } from "./artifact_location.ts";
import type { Arguments, Artifact, Parameter, Template, WorkflowSpec } from "./manifest.ts";
import { asJson, mergeBySchema, without } from "./merge.ts";
import { ARTIFACT_LOCATION } from "./schema/artifact.ts";
import { WORKFLOW_SPEC } from "./schema/kinds.ts";
import { TEMPLATE } from "./schema/template.ts";
import { BODY_MEMBERS } from "./template_type.ts";

/**
 * All arguments by name, as validation sees them. If both give one, or one gives it twice, the first is taken whole, the
 * stronger ones being first.
 */
export function mergeArguments(
  strong: Arguments | undefined,
  weak: Arguments | undefined,
): Arguments {
  return {
    parameters: firstByName(strong?.parameters, weak?.parameters),
    artifacts: firstByName(strong?.artifacts, weak?.artifacts),
  };
}

function firstByName<T extends { name: string }>(strong: T[] = [], weak: T[] = []): T[] {
  const all = strong.length === 0 ? weak : weak.length === 0 ? strong : [...strong, ...weak];
  if (all.length < 2) return all;
  const names = new Set<string>();
  const first = all.filter(({ name }) => !names.has(name) && names.add(name));
  return first.length === all.length ? all : first;
}

/**
 * The spec that is run.
 *
 * @param own the workflow's
 * @param stored spec of the template that it refers to
 */
export function mergeSpecs(own: WorkflowSpec, stored: WorkflowSpec): WorkflowSpec {
  const spec = mergeTwo(stored, own);
  const merged: WorkflowSpec = { ...without(spec, "suspend") };
  if (own.suspend !== undefined) merged.suspend = own.suspend;
  const { parameters, artifacts } = spec.arguments ?? {};
  const sources = [own.arguments, stored.arguments];
  merged.arguments = {
    ...spec.arguments,
    ...defined({
      parameters: parameters?.map((parameter) => strongestParameter(parameter, sources)),
      artifacts: artifacts?.map((artifact) => strongestArtifact(artifact, sources)),
    }),
  };
  return merged;
}

/** Merges one spec over another. Hooks and labels made by expressions are taken whole, by their key. */
function mergeTwo(weak: WorkflowSpec, strong: WorkflowSpec): WorkflowSpec {
  const merged = mergeBySchema(
    asJson(weak),
    asJson(strong),
    WORKFLOW_SPEC,
  ) as unknown as WorkflowSpec;
  const labelsFrom = {
    ...weak.workflowMetadata?.labelsFrom,
    ...strong.workflowMetadata?.labelsFrom,
  };
  return {
    ...merged,
    ...(merged.hooks === undefined ? {} : { hooks: { ...weak.hooks, ...strong.hooks } }),
    ...(merged.workflowMetadata?.labelsFrom === undefined
      ? {}
      : { workflowMetadata: { ...merged.workflowMetadata, labelsFrom } }),
  };
}

function givesValue({ value, default: fallback, valueFrom }: Parameter): boolean {
  return value !== undefined || fallback !== undefined || valueFrom !== undefined;
}

/** A parameter is taken whole from the strongest source that gives it a value. */
function strongestParameter(
  merged: Parameter,
  sources: readonly (Arguments | undefined)[],
): Parameter {
  if (!givesValue(merged)) return merged;
  for (const source of sources) {
    const found = source?.parameters?.find(({ name }) => name === merged.name);
    if (found !== undefined && givesValue(found)) return found;
  }
  return merged;
}

/** So is an artifact, but a location of the same kind is completed from the weaker source. */
function strongestArtifact(
  merged: Artifact,
  sources: readonly (Arguments | undefined)[],
): Artifact {
  for (const source of sources) {
    const found = source?.artifacts?.find(({ name }) => name === merged.name);
    if (found === undefined) continue;
    const kind = findLocation(found)?.kind;
    if (kind === undefined || findLocation(merged)?.kind !== kind) return found;
    const location = mergeBySchema(
      asJson({ [kind]: merged[kind] }),
      asJson({ [kind]: found[kind] }),
      ARTIFACT_LOCATION,
    );
    return { ...without(found, ...LOCATION_KINDS), ...location as object } as Artifact;
  }
  return merged;
}

/** Merges a template over the defaults for all templates; of their bodies, only that of the same type counts. */
export function withTemplateDefaults(template: Template, defaults: Template | undefined): Template {
  if (defaults === undefined) return template;
  const others = BODY_MEMBERS.filter((body) => template[body] === undefined);
  const fitting = without(defaults, "name", ...others);
  return mergeBySchema(asJson(fitting), asJson(template), TEMPLATE) as unknown as Template;
}
