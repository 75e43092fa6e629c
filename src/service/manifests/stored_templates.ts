/** Which templates of stored manifests a workflow uses, under the keys of `status.storedTemplates`. */
import type {
  LifecycleHook,
  StepLike,
  Template,
  Workflow,
  WorkflowSpec,
} from "../../spec/manifest.ts";
import { placeOf, type TemplateFinder } from "../../spec/validation/owner.ts";

/** Finds a stored template manifest; undefined when there is none. */
export type FindTemplate = TemplateFinder["findTemplate"];

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
 * Collects the templates that a workflow reaches by reference. References that can't be followed are left out: the
 * validation decides whether they are an error.
 */
export function storedTemplatesOf(
  workflow: Workflow,
  namespace: string,
  find: FindTemplate,
): Record<string, Template> {
  const collector = new TemplateCollector(namespace, find);
  collector.visitWorkflow(workflow.spec);
  return collector.stored;
}

class TemplateCollector {
  readonly stored: Record<string, Template> = {};
  readonly #namespace: string;
  readonly #find: FindTemplate;
  readonly #seen = new Set<Template>();
  /** Templates of a spec by name; of several with the same name, the first. */
  readonly #byName = new Map<WorkflowSpec, Map<string | undefined, Template>>();

  constructor(namespace: string, find: FindTemplate) {
    this.#namespace = namespace;
    this.#find = find;
  }

  visitWorkflow(spec: WorkflowSpec): void {
    const local: Scope = { prefix: undefined, spec };
    const whole = spec.workflowTemplateRef;
    const referenced = whole === undefined
      ? undefined
      : this.#scopeOf(local, { templateRef: whole });
    for (const template of referenced?.spec.templates ?? []) {
      this.#follow(local, { templateRef: { ...whole, template: template.name ?? "" } });
    }
    for (const template of spec.templates ?? []) this.#visit(local, template);
  }

  /** Follows every call of a template. */
  #visit(scope: Scope, template: Template): void {
    if (this.#seen.has(template)) return;
    this.#seen.add(template);
    for (const step of [...(template.steps ?? []).flat(), ...template.dag?.tasks ?? []]) {
      this.#follow(scope, step);
      for (const hook of Object.values(step.hooks ?? {})) this.#follow(scope, hook);
      if (step.onExit !== undefined) this.#follow(scope, { template: step.onExit });
    }
  }

  #follow(scope: Scope, caller: Caller): void {
    const target = this.#scopeOf(scope, caller);
    if (caller.inline !== undefined) {
      const at = target ?? scope;
      this.#keep(at.prefix && `${at.prefix}/inline/${caller.name ?? ""}`, caller.inline);
      this.#visit(at, caller.inline);
      return;
    }
    const name = caller.templateRef?.template ?? caller.template ?? "";
    const template = target && this.#templateOf(target.spec, name);
    if (target === undefined || template === undefined) return;
    this.#keep(target.prefix && `${target.prefix}/${name}`, template);
    this.#visit(target, template);
  }

  #templateOf(spec: WorkflowSpec, name: string): Template | undefined {
    let known = this.#byName.get(spec);
    if (known === undefined) {
      const templates = spec.templates ?? [];
      known = new Map(templates.toReversed().map((one) => [one.name, one]));
      this.#byName.set(spec, known);
    }
    return known.get(name);
  }

  /** Where the called template is written; undefined when the reference leads nowhere. */
  #scopeOf(scope: Scope, { templateRef: ref }: Caller): Scope | undefined {
    if (ref === undefined) return scope;
    const [kind, namespace, name] = placeOf(ref, this.#namespace);
    const manifest = this.#find(kind, namespace, name);
    const prefix = `${kind === "WorkflowTemplate" ? "namespaced" : "cluster"}/${name}`;
    return manifest === undefined ? undefined : { prefix, spec: manifest.spec };
  }

  #keep(key: string | undefined, template: Template): void {
    if (key !== undefined && key !== "") this.stored[key] ??= template;
  }
}
