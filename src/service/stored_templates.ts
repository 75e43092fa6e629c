/** Which templates of stored manifests a workflow uses, under the keys of `status.storedTemplates`. */
import type {
  LifecycleHook,
  StepLike,
  Template,
  Workflow,
  WorkflowSpec,
  WorkflowTemplate,
} from "../spec/manifest.ts";

/** Finds a stored template manifest; undefined when there is none. */
export type FindTemplate = (
  kind: "WorkflowTemplate" | "ClusterWorkflowTemplate",
  namespace: string,
  name: string,
) => WorkflowTemplate | undefined;

/** Where a caller of templates is written. */
interface Scope {
  /** Prefix of keys; undefined inside the workflow itself, whose templates are not stored. */
  prefix: string | undefined;
  spec: WorkflowSpec;
}

/** Everything that a step, a task or a hook may call. */
type Caller =
  & Pick<LifecycleHook, "template" | "templateRef">
  & Pick<Partial<StepLike>, "inline" | "name">;

/**
 * Collects the templates that a workflow reaches by reference. References that can't be followed are left out; whether
 * they are an error is the validation's business.
 */
export function storedTemplatesOf(
  workflow: Workflow,
  namespace: string,
  find: FindTemplate,
): Record<string, Template> {
  const stored: Record<string, Template> = {};
  const seen = new Set<Template>();
  const local: Scope = { prefix: undefined, spec: workflow.spec };

  function visit(scope: Scope, template: Template): void {
    if (seen.has(template)) return;
    seen.add(template);
    for (const step of [...(template.steps ?? []).flat(), ...template.dag?.tasks ?? []]) {
      follow(scope, step);
      for (const hook of Object.values(step.hooks ?? {})) follow(scope, hook);
      if (step.onExit !== undefined) follow(scope, { template: step.onExit });
    }
  }

  function follow(scope: Scope, caller: Caller): void {
    if (caller.inline !== undefined) {
      keep(scope.prefix && `${scope.prefix}/inline/${caller.name ?? ""}`, caller.inline);
      visit(scope, caller.inline);
      return;
    }
    const target = scopeOf(scope, caller);
    const name = caller.templateRef?.template ?? caller.template ?? "";
    const template = target && templateOf(target.spec, name);
    if (target === undefined || template === undefined) return;
    keep(target.prefix && `${target.prefix}/${name}`, template);
    visit(target, template);
  }

  const byName = new Map<WorkflowSpec, Map<string | undefined, Template>>();

  /** The first of that name. */
  function templateOf(spec: WorkflowSpec, name: string): Template | undefined {
    let known = byName.get(spec);
    if (known === undefined) {
      const templates = spec.templates ?? [];
      known = new Map(templates.toReversed().map((one) => [one.name, one]));
      byName.set(spec, known);
    }
    return known.get(name);
  }

  function scopeOf(scope: Scope, caller: Caller): Scope | undefined {
    const ref = caller.templateRef;
    if (ref === undefined) return scope;
    const isCluster = ref.clusterScope === true;
    const manifest = find(
      isCluster ? "ClusterWorkflowTemplate" : "WorkflowTemplate",
      isCluster ? "" : namespace,
      ref.name ?? "",
    );
    const prefix = `${isCluster ? "cluster" : "namespaced"}/${ref.name ?? ""}`;
    return manifest === undefined ? undefined : { prefix, spec: manifest.spec };
  }

  function keep(key: string | undefined, template: Template): void {
    if (key !== undefined && key !== "") stored[key] ??= template;
  }

  const whole = workflow.spec.workflowTemplateRef;
  const referenced = whole === undefined ? undefined : scopeOf(local, { templateRef: whole });
  for (const template of referenced?.spec.templates ?? []) {
    follow(local, { templateRef: { ...whole, template: template.name ?? "" } });
  }
  for (const template of workflow.spec.templates ?? []) visit(local, template);
  return stored;
}
