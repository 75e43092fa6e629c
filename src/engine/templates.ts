/**
 * Finds the template a step names. Names are looked up where the template that holds the step came from; what is
 * found through references is stored with the workflow, so that a later change of the original does not reach it.
 */
import type { StepLike, Template, TemplateRef, WorkflowTemplate } from "../spec/manifest.ts";
import { withTemplateDefaults } from "../spec/resolve.ts";
import { findStored, NodeFailure } from "./failure.ts";
import type { TemplateContext } from "./runtime.ts";
import { executedSpec, type Turn, workflowName, workflowNamespace } from "./state.ts";

/** What names a template. */
export type TemplateHolder = Pick<StepLike, "template" | "templateRef" | "inline"> & {
  name?: string;
};

/** A template as written (with the template defaults), and where names inside it are looked up. */
export interface ResolvedTemplate {
  template: Template;
  context: TemplateContext;
}

/** Where the workflow's own templates are. A spec that came from a template has no name of its own. */
export function localContext(turn: Turn): TemplateContext {
  const isOwn = turn.state.specs.storedWorkflowTemplateSpec === undefined;
  return { kind: "local", name: isOwn ? workflowName(turn.state) : "" };
}

/** `local/<workflow>`, `namespaced/<template>`, `cluster/<template>`. */
export function scopeText(context: TemplateContext): string {
  return `${context.kind}/${context.name}`;
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
  return {
    ...found,
    template: withTemplateDefaults(found.template, executedSpec(turn.state).templateDefaults),
  };
}

function find(turn: Turn, holder: TemplateHolder, context: TemplateContext): ResolvedTemplate {
  if (holder.inline !== undefined) {
    if (context.kind !== "local") {
      return stored(turn, context, `inline/${holder.name ?? ""}`, () => holder.inline);
    }
    return { template: holder.inline, context };
  }
  if (holder.templateRef?.name !== undefined) return findReferred(turn, holder.templateRef);
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

function findReferred(turn: Turn, ref: TemplateRef): ResolvedTemplate {
  const isCluster = ref.clusterScope === true;
  const context: TemplateContext = {
    kind: isCluster ? "cluster" : "namespaced",
    name: ref.name ?? "",
  };
  return stored(turn, context, ref.template ?? "", () => {
    const manifest = findStored<WorkflowTemplate>(
      turn,
      isCluster ? "ClusterWorkflowTemplate" : "WorkflowTemplate",
      isCluster ? "" : workflowNamespace(turn.state),
      context.name,
    );
    if (manifest === undefined) {
      const resource = isCluster ? "clusterworkflowtemplates" : "workflowtemplates";
      throw new NodeFailure(`${resource}.${turn.env.apiGroup} "${context.name}" not found`);
    }
    const name = ref.template ?? "";
    return manifest.spec.templates?.find((template) => template.name === name);
  });
}

/** The stored copy, else the original, which is stored. */
function stored(
  turn: Turn,
  context: TemplateContext,
  name: string,
  original: () => Template | undefined,
): ResolvedTemplate {
  const { specs } = turn.state;
  const key = `${scopeText(context)}/${name}`;
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
