/** Where templates are found: in the object that calls them, or in a stored one. */
import type { StepLike, Template, WorkflowSpec, WorkflowTemplate } from "../manifest.ts";

/** Kinds that hold templates others may use. */
export type TemplateKind = "WorkflowTemplate" | "ClusterWorkflowTemplate";

/** Finds stored templates. */
export interface TemplateFinder {
  /** @param namespace empty for cluster templates */
  findTemplate(kind: TemplateKind, namespace: string, name: string): WorkflowTemplate | undefined;
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
  for (const template of spec.templates ?? []) {
    const key = template.name ?? "";
    if (!templates.has(key)) templates.set(key, template);
  }
  return { scope, name, spec, templates };
}

/** What names a template: a step, a task, or the entrypoint. */
export type Call = Pick<StepLike, "template" | "templateRef" | "inline">;

/** The error for a stored template that is missing. */
export type MissingTemplate = (kind: TemplateKind, namespace: string, name: string) => Error;
