/** Where templates are found: in the object that calls them, or in a stored one. */
import { notFound } from "../../base/problem.ts";
import { goQuote } from "../../expr/values/go_quote.ts";
import { mayHoldTag } from "../../expr/templates/tags.ts";
import type {
  StepLike,
  Template,
  TemplateRef,
  WorkflowSpec,
  WorkflowTemplate,
} from "../manifest.ts";
import { type Naming, STANDARD_NAMING } from "../naming.ts";
import { SpecError } from "../spec_error.ts";

/** Kinds that hold templates others may use. */
export type TemplateKind = "WorkflowTemplate" | "ClusterWorkflowTemplate";

/** Finds stored templates. */
export interface TemplateFinder {
  /** @param namespace empty for cluster templates */
  findTemplate(kind: TemplateKind, namespace: string, name: string): WorkflowTemplate | undefined;
  /** Tells that nobody has looked for such a template yet. What calls it is left unchecked, for another check. */
  isUnknown?(kind: TemplateKind, namespace: string, name: string): boolean;
}

/** The object in which the names of templates are looked up. */
export interface Owner {
  scope: "local" | "namespaced" | "cluster";
  name: string;
  spec: WorkflowSpec;
  templates: ReadonlyMap<string, Template>;
}

/** The owner of a spec's templates. Of two templates with one name, the first counts. */
export function ownerOf(scope: Owner["scope"], name: string, spec: WorkflowSpec): Owner {
  const templates = new Map<string, Template>();
  const forPods = mayHoldTag(spec.podMetadata) ? spec.podMetadata : undefined;
  for (const template of spec.templates ?? []) {
    const key = template.name ?? "";
    if (!templates.has(key)) templates.set(key, withPodMetadata(template, forPods));
  }
  return { scope, name, spec, templates };
}

/** The template with what the spec adds to every pod: tags there are filled in, and checked, as those of the template. */
function withPodMetadata(template: Template, forPods: WorkflowSpec["podMetadata"]): Template {
  if (forPods === undefined) return template;
  const metadata = { ...template.metadata };
  for (const member of ["annotations", "labels"] as const) {
    if (forPods[member] !== undefined) {
      metadata[member] = { ...metadata[member], ...forPods[member] };
    }
  }
  return { ...template, metadata };
}

/** What names a template: a step, a task, or the entrypoint. */
export type Call = Pick<StepLike, "template" | "templateRef" | "inline">;

/** Where a stored template is found. */
export type TemplatePlace = [kind: TemplateKind, namespace: string, name: string];

/** @param namespace of the object that refers to it */
export function placeOf(
  { name = "", clusterScope }: Pick<TemplateRef, "name" | "clusterScope">,
  namespace: string,
): TemplatePlace {
  return clusterScope === true
    ? ["ClusterWorkflowTemplate", "", name]
    : ["WorkflowTemplate", namespace, name];
}

/** The error for a stored template that is missing. */
export type MissingTemplate = (...place: TemplatePlace) => Error;

/**
 * What to say of a stored template that is missing.
 *
 * @param options.offline only the given manifests exist
 */
export function missingTemplate(
  { offline, naming = STANDARD_NAMING }: { offline?: boolean; naming?: Naming },
): MissingTemplate {
  if (offline !== true) {
    return (kind, _namespace, name) =>
      notFound(`${kind.toLowerCase()}s.${naming.apiGroup} ${goQuote(name)} not found`);
  }
  return (kind, namespace, name) =>
    new SpecError(
      kind === "ClusterWorkflowTemplate"
        ? `couldn't find cluster workflow template ${goQuote(name)}`
        : `couldn't find workflow template ${goQuote(name)} in namespace ${goQuote(namespace)}`,
    );
}
