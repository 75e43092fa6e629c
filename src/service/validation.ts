/** Validation of manifests against the templates in the store. The rules are the spec layer's; this loads what they ask for. */
import type { Caller } from "../auth/port.ts";
import { isJsonObject, type Json } from "../base/json.ts";
import { invalid } from "../base/problem.ts";
import {
  type CronWorkflow,
  ManifestKind,
  type Template,
  type Workflow,
  type WorkflowTemplate,
} from "../spec/manifest.ts";
import type { ValidationOptions } from "../spec/validate.ts";
import { requireAccess } from "./access.ts";
import { manifestObject } from "../store/manifest_object.ts";
import type { ServiceDeps } from "./deps.ts";
import { MANIFEST_RESOURCES } from "./kinds.ts";
import { checkManifest } from "./manifest_check.ts";
import { type FindTemplate, storedTemplatesOf } from "./stored_templates.ts";

/** Most stored templates that one manifest may reach. */
const MAX_REFERENCES = 1_000;

/**
 * Checks a workflow that is about to be created.
 * @returns the templates that it reaches by reference, under the keys of `status.storedTemplates`
 */
export async function validateNewWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  workflow: Workflow,
  namespace: string,
  options: ValidationOptions = {},
): Promise<Record<string, Template>> {
  const templates = await loadReached(deps, caller, workflow.spec, namespace);
  const manifest = withNamespace(workflow, namespace);
  const { maxNodes } = deps.settings;
  const bounded = {
    ...options,
    naming: deps.settings.naming,
    ...(maxNodes === undefined ? {} : { maxNodes }),
  };
  await checkManifest({ kind: "Workflow", manifest, templates, options: bounded }, deps.checks);
  if (templates.size === 0) return {};
  return storedTemplatesOf(manifest, namespace, finderOf(templates));
}

/** Tells whether a spec reaches stored templates, so that whether it is valid may change with them. */
export function reachesTemplates(spec: unknown): boolean {
  return referencesIn(spec as Json).length > 0;
}

/** Checks a template that is about to be stored. */
export async function validateTemplate(
  deps: ServiceDeps,
  caller: Caller,
  template: WorkflowTemplate,
  kind: "WorkflowTemplate" | "ClusterWorkflowTemplate",
  namespace: string,
  options: ValidationOptions = {},
): Promise<void> {
  const templates = await loadReached(deps, caller, template.spec, namespace);
  const manifest = withNamespace(template, namespace);
  const named = { ...options, naming: deps.settings.naming };
  await checkManifest({ kind, manifest, templates, options: named }, deps.checks);
}

/** Checks a cron workflow that is about to be stored. */
export async function validateCron(
  deps: ServiceDeps,
  caller: Caller,
  cron: CronWorkflow,
  namespace: string,
  options: ValidationOptions = {},
): Promise<void> {
  const templates = await loadReached(deps, caller, cron.spec.workflowSpec, namespace);
  const manifest = withNamespace(cron, namespace);
  const named = { ...options, naming: deps.settings.naming };
  await checkManifest({ kind: "CronWorkflow", manifest, templates, options: named }, deps.checks);
}

function withNamespace<T extends { metadata: { namespace?: string } }>(
  object: T,
  namespace: string,
): T {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/**
 * Loads every stored template that a spec reaches, so that the rules can be checked without waiting. This is the only way
 * by which a request comes to templates that it names in a manifest.
 *
 * @param caller must have the right to get each of them; it is asked for before one is looked for
 * @throws {Problem} PermissionDenied with the right that lacks
 */
export async function loadTemplates(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
): Promise<FindTemplate> {
  return finderOf(await loadReached(deps, caller, spec, namespace));
}

function finderOf(templates: Reached): FindTemplate {
  return (kind, place, name) => templates.get(`${kind}/${place}/${name}`);
}

/** Stored templates by `kind/namespace/name`; undefined where there is none. */
type Reached = ReadonlyMap<string, WorkflowTemplate | undefined>;

async function loadReached(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
): Promise<Reached> {
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
      const { resource } = MANIFEST_RESOURCES[kind];
      if (caller.isUnrestricted !== true) {
        await requireAccess(caller, { verb: "get", resource, namespace: place, name: ref.name });
      }
      const stored = await deps.store.manifests.get(ManifestKind[kind], place, ref.name);
      const template = stored === undefined ? undefined : manifestObject<WorkflowTemplate>(stored);
      loaded.set(key, template);
      if (template !== undefined) queue.push(template.spec);
    }
  }
  return loaded;
}

interface Reference {
  name: string;
  clusterScope: boolean;
}

/**
 * Checks that a caller may get every template that a spec reaches, for what is started without validation.
 * @throws {Problem} PermissionDenied with the right that lacks
 */
export async function requireTemplates(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
): Promise<void> {
  if (caller.isUnrestricted !== true) await loadTemplates(deps, caller, spec, namespace);
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
