/** Validation of manifests against the templates in the store. The rules are the spec layer's; this loads what they ask for. */
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import { parseShared } from "../base/shared_json.ts";
import {
  type CronWorkflow,
  ManifestKind,
  type Template,
  type Workflow,
  type WorkflowTemplate,
} from "../spec/manifest.ts";
import {
  validateCronWorkflow,
  validateWorkflow,
  validateWorkflowTemplate,
  type ValidationOptions,
} from "../spec/validate.ts";
import type { ServiceDeps } from "./deps.ts";
import { type FindTemplate, storedTemplatesOf } from "./stored_templates.ts";

/** Most stored templates that one manifest may reach. */
const MAX_REFERENCES = 1_000;

/**
 * Checks a workflow that is about to be created.
 * @returns the templates that it reaches by reference, under the keys of `status.storedTemplates`
 */
export async function validateNewWorkflow(
  deps: ServiceDeps,
  workflow: Workflow,
  namespace: string,
  options: ValidationOptions = {},
): Promise<Record<string, Template>> {
  const findTemplate = await loadTemplates(deps, workflow.spec, namespace);
  const inPlace = withNamespace(workflow, namespace);
  validateWorkflow(inPlace, { findTemplate }, options);
  return storedTemplatesOf(inPlace, namespace, findTemplate);
}

/** Tells whether a spec reaches stored templates, so that whether it is valid may change with them. */
export function reachesTemplates(spec: unknown): boolean {
  return referencesIn(spec as Json).length > 0;
}

/** Checks a template that is about to be stored. */
export async function validateTemplate(
  deps: ServiceDeps,
  template: WorkflowTemplate,
  kind: "WorkflowTemplate" | "ClusterWorkflowTemplate",
  namespace: string,
  options: ValidationOptions = {},
): Promise<void> {
  const findTemplate = await loadTemplates(deps, template.spec, namespace);
  validateWorkflowTemplate(withNamespace(template, namespace), kind, { findTemplate }, options);
}

/** Checks a cron workflow that is about to be stored. */
export async function validateCron(
  deps: ServiceDeps,
  cron: CronWorkflow,
  namespace: string,
  options: ValidationOptions = {},
): Promise<void> {
  const findTemplate = await loadTemplates(deps, cron.spec.workflowSpec, namespace);
  validateCronWorkflow(withNamespace(cron, namespace), { findTemplate }, options);
}

function withNamespace<T extends { metadata: { namespace?: string } }>(
  object: T,
  namespace: string,
): T {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/** Loads every stored template that a spec reaches, so that the rules can be checked without waiting. */
export async function loadTemplates(
  deps: ServiceDeps,
  spec: unknown,
  namespace: string,
): Promise<FindTemplate> {
  const loaded = new Map<string, WorkflowTemplate | undefined>();
  const queue: unknown[] = [spec];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const ref of referencesIn(next as Json)) {
      const kind = ref.clusterScope ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
      const place = ref.clusterScope ? "" : namespace;
      const key = `${kind}/${place}/${ref.name}`;
      if (loaded.has(key)) continue;
      if (loaded.size >= MAX_REFERENCES) {
        throw invalid(`the manifest reaches more than ${MAX_REFERENCES} stored templates`);
      }
      const stored = await deps.store.manifests.get(ManifestKind[kind], place, ref.name);
      const template = stored === undefined
        ? undefined
        : parseShared<WorkflowTemplate>(stored.text);
      loaded.set(key, template);
      if (template !== undefined) queue.push(template.spec);
    }
  }
  return (kind, place, name) => loaded.get(`${kind}/${place}/${name}`);
}

interface Reference {
  name: string;
  clusterScope: boolean;
}

/** References to stored templates anywhere in a spec. */
function referencesIn(value: Json, found: Reference[] = []): Reference[] {
  if (Array.isArray(value)) {
    for (const item of value) referencesIn(item, found);
  } else if (isJsonObject(value)) {
    for (const key in value) {
      const member = value[key] ?? null;
      if (
        (key === "templateRef" || key === "workflowTemplateRef") && isJsonObject(member) &&
        typeof member.name === "string" && member.name !== ""
      ) found.push({ name: member.name, clusterScope: member.clusterScope === true });
      else if (typeof member === "object") referencesIn(member, found);
    }
  }
  return found;
}
