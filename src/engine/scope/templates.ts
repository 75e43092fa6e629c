/**
 * Finds the template that a step names. The name is looked up where the template around the step came from. A template that
 * is found through a reference is stored with the workflow, so later changes of the original do not reach it.
 */
import type { StepLike, Template, TemplateRef, WorkflowTemplate } from "../../spec/manifest.ts";
import { withTemplateDefaults } from "../../spec/resolve.ts";
import { placeOf } from "../../spec/validation/owner.ts";
import { NodeFailure } from "../failure.ts";
import { findStored } from "../stored_manifests.ts";
import type { TemplateContext } from "../live.ts";
import { executedSpec, workflowName, workflowNamespace } from "../state.ts";
import type { Turn } from "../turn.ts";

/** A step, task or hook that names a template. */
export type TemplateHolder = Pick<StepLike, "template" | "templateRef" | "inline"> & {
  name?: string;
};

/** A template as it is written, with the defaults of templates, and where names inside it are looked up. */
export interface ResolvedTemplate {
  template: Template;
  context: TemplateContext;
}

/** Where the workflow's own templates are. A spec that came from a template has no name of its own. */
export function localContext(turn: Turn): TemplateContext {
  const isOwn = turn.state.specs.storedWorkflowTemplateSpec === undefined;
  return contextOf("local", isOwn ? workflowName(turn.state) : "");
}

function contextOf(kind: TemplateContext["kind"], name: string): TemplateContext {
  return { kind, name, text: `${kind}/${name}` };
}

/**
 * Finds the template.
 * @throws {NodeFailure} when it does not exist
 * @throws {ManifestNeeded} when its manifest is not loaded
 */
export function resolveTemplate(
  turn: Turn,
  holder: TemplateHolder,
  context: TemplateContext,
): ResolvedTemplate {
  const found = find(turn, holder, context);
  const { templateDefaults } = executedSpec(turn.state);
  if (templateDefaults === undefined) return found;
  return {
    template: withTemplateDefaults(found.template, templateDefaults),
    context: found.context,
  };
}

function find(turn: Turn, holder: TemplateHolder, context: TemplateContext): ResolvedTemplate {
  const ref = holder.templateRef?.name === undefined ? undefined : holder.templateRef;
  if (holder.inline !== undefined) {
    // Beside an inline template, a reference says only where the calls of that template are looked up.
    const at = ref === undefined ? context : contextOfRef(ref);
    if (at.kind === "local") return { template: holder.inline, context: at };
    return stored(turn, at, `inline/${holder.name ?? ""}`, () => holder.inline);
  }
  if (ref !== undefined) return findReferred(turn, ref);
  const name = holder.template ?? "";
  if (context.kind === "local") {
    const template = executedSpec(turn.state).templates?.find((one) => one.name === name);
    if (template === undefined) throw new NodeFailure(`template ${name} not found`);
    return { template, context };
  }
  return findReferred(turn, {
    name: context.name,
    template: name,
    ...(context.kind === "cluster" ? { clusterScope: true } : {}),
  });
}

function contextOfRef({ name = "", clusterScope }: TemplateRef): TemplateContext {
  return contextOf(clusterScope === true ? "cluster" : "namespaced", name);
}

function findReferred(turn: Turn, ref: TemplateRef): ResolvedTemplate {
  const template = ref.template ?? "";
  return stored(turn, contextOfRef(ref), template, () => {
    const [kind, namespace, name] = placeOf(ref, workflowNamespace(turn.state));
    const manifest = findStored<WorkflowTemplate>(turn, kind, namespace, name);
    if (manifest === undefined) {
      const resource = `${kind.toLowerCase()}s.${turn.env.apiGroup}`;
      throw new NodeFailure(`${resource} "${name}" not found`);
    }
    return manifest.spec.templates?.find((one) => one.name === template);
  });
}

/** The stored copy, or the original, which is then stored. */
function stored(
  turn: Turn,
  context: TemplateContext,
  name: string,
  original: () => Template | undefined,
): ResolvedTemplate {
  const { specs } = turn.state;
  const key = `${context.text}/${name}`;
  const known = specs.storedTemplates?.[key];
  if (known !== undefined) return { template: known, context };
  const template = original();
  if (template === undefined) {
    throw new NodeFailure(
      `template ${name} not found in ${
        context.kind === "cluster" ? "cluster workflow template" : "workflow template"
      } ${context.name}`,
    );
  }
  specs.storedTemplates = { ...specs.storedTemplates, [key]: template };
  turn.state.pending.specs = true;
  return { template, context };
}
