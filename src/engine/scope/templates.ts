/**
 * Finds the template that a step names. The name is looked up where the template around the step came from. A template that
 * is found through a reference is stored with the workflow, so later changes of the original do not reach it.
 */
import { freezeAll, isShared } from "../../base/shared_json.ts";
import type {
  StepLike,
  Template,
  TemplateRef,
  WorkflowSpec,
  WorkflowTemplate,
} from "../../spec/manifest.ts";
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
  const { inline } = holder;
  const ref = holder.templateRef?.name === undefined ? undefined : holder.templateRef;
  if (inline !== undefined) {
    // Beside an inline template, a reference says only where the calls of that template are looked up.
    return { template: inline, context: ref === undefined ? context : contextOfRef(ref) };
  }
  if (ref !== undefined) {
    return findStoredTemplate(turn, contextOfRef(ref), ref.template ?? "", true);
  }
  const name = holder.template ?? "";
  if (context.kind !== "local") return findStoredTemplate(turn, context, name, false);
  const template = executedSpec(turn.state).templates?.find((one) => one.name === name);
  if (template === undefined) throw new NodeFailure(`template ${name} not found`);
  return { template, context };
}

function contextOfRef({ name = "", clusterScope }: TemplateRef): TemplateContext {
  return contextOf(clusterScope === true ? "cluster" : "namespaced", name);
}

function findStoredTemplate(
  turn: Turn,
  context: TemplateContext,
  name: string,
  isReferred: boolean,
): ResolvedTemplate {
  return stored(turn, context, name, () => {
    const { templates, podMetadata } = manifestOf(turn, context).spec;
    const template = templates?.find((one) => one.name === name);
    if (template !== undefined) return withPodMetadata(template, podMetadata);
    const where = isReferred ? ` in workflow template ${context.name}` : "";
    throw new NodeFailure(`template ${name} not found${where}`);
  });
}

// A memo of a pure function: shared templates with what their manifests add to every pod.
const labelled = new WeakMap<Template, Template>();

/** The template with what its manifest adds to every pod. The template's own metadata win, as over those of a workflow. */
function withPodMetadata(template: Template, forPods: WorkflowSpec["podMetadata"]): Template {
  const { labels, annotations } = forPods ?? {};
  if (labels === undefined && annotations === undefined) return template;
  const known = labelled.get(template);
  if (known !== undefined) return known;
  const own = template.metadata;
  const metadata = {
    ...own,
    ...(labels !== undefined && { labels: { ...labels, ...own?.labels } }),
    ...(annotations !== undefined && { annotations: { ...annotations, ...own?.annotations } }),
  };
  const made = { ...template, metadata };
  if (isShared(template)) labelled.set(template, freezeAll(made));
  return made;
}

/** The stored template that holds the templates of a context. */
function manifestOf(turn: Turn, { kind, name }: TemplateContext): WorkflowTemplate {
  const ref = { name, clusterScope: kind === "cluster" };
  const manifest = findStored<WorkflowTemplate>(
    turn,
    ...placeOf(ref, workflowNamespace(turn.state)),
  );
  if (manifest === undefined) throw new NodeFailure(`workflow template ${name} not found`);
  return manifest;
}

/** The stored copy, or the original, which is then stored. */
function stored(
  turn: Turn,
  context: TemplateContext,
  name: string,
  original: () => Template,
): ResolvedTemplate {
  const { specs } = turn.state;
  const key = `${context.text}/${name}`;
  const known = specs.storedTemplates?.[key];
  if (known !== undefined) return { template: known, context };
  const template = original();
  specs.storedTemplates = {
    ...inlineOf(context, template),
    ...specs.storedTemplates,
    [key]: template,
  };
  turn.state.pending.specs = true;
  return { template, context };
}

/**
 * The templates that stand in steps of a stored one, as they are written. They are only shown: steps of several templates
 * may have the same name, and each call fills in what it knows.
 */
function inlineOf({ text }: TemplateContext, { steps, dag }: Template): Record<string, Template> {
  const shown: Record<string, Template> = {};
  for (const { name, inline, templateRef } of [...steps?.flat() ?? [], ...dag?.tasks ?? []]) {
    if (inline !== undefined && templateRef === undefined) {
      shown[`${text}/inline/${name}`] ??= inline;
    }
  }
  return shown;
}
