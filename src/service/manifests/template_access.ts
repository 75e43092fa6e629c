/** The stored templates that a manifest reaches, and the right of the caller to get each. */
import type { Caller } from "../../auth/port.ts";
import { isJsonObject, type Json } from "../../base/json.ts";
import { invalid, type Problem } from "../../base/problem.ts";
import { isShared } from "../../base/shared_json.ts";
import { ManifestKind, type WorkflowTemplate } from "../../spec/manifest.ts";
import type { TemplatePlace } from "../../spec/validation/owner.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import type { FindTemplate } from "./stored_templates.ts";

/** Most stored templates that one manifest may reach. */
const MAX_REFERENCES = 1_000;

/**
 * Loads every stored template that a spec reaches, so that the rules can be checked without waiting. There is no other way
 * for a request to reach templates that its manifest names.
 *
 * @param caller needs the right to get each template, which is checked before the template is looked for
 * @throws {Problem} PermissionDenied that names the missing right
 */
export async function loadTemplates(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
): Promise<FindTemplate> {
  return finderOf(await loadReachedTemplates(deps, caller, spec, namespace));
}

/** Finds the templates that were loaded; undefined also for one that was not. */
export function finderOf(templates: Reached): FindTemplate {
  return (kind, place, name) => templates.get(`${kind}/${place}/${name}`);
}

/** Stored templates by `kind/namespace/name`; undefined where there is none. */
export type Reached = ReadonlyMap<string, WorkflowTemplate | undefined>;

// A memo of a pure function, by shared templates. Each has one name and place, which its text holds.
const alone = new WeakMap<WorkflowTemplate, { key: string; reached: Reached }>();

/** The templates that are reached if there is only this one: always the same map for one that is shared. */
export function reachedAlone(key: string, template: WorkflowTemplate): Reached {
  let found = alone.get(template);
  if (found?.key !== key) {
    found = { key, reached: new Map([[key, template]]) };
    if (isShared(template)) alone.set(template, found);
  }
  return found.reached;
}

/**
 * {@link loadTemplates}, as a map.
 * @param source the template that this request has read already, which its caller may get; see {@link reachedAlone}
 */
export function loadReachedTemplates(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
  source?: Reached,
): Reached | Promise<Reached> {
  const refs = referencesOf(spec as Json);
  const [ref] = refs;
  if (source !== undefined && ref !== undefined && refs.length === 1) {
    const template = source.get(keyOf(ref, namespace));
    if (template !== undefined && referencesOf(template.spec as unknown as Json).length === 0) {
      return source;
    }
  }
  return loadAll(deps, caller, spec, namespace, source);
}

function keyOf({ name, clusterScope }: Reference, namespace: string): string {
  return clusterScope
    ? `ClusterWorkflowTemplate//${name}`
    : `WorkflowTemplate/${namespace}/${name}`;
}

async function loadAll(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
  source: Reached | undefined,
): Promise<Reached> {
  const loaded = new Map<string, WorkflowTemplate | undefined>();
  const queue: unknown[] = [spec];
  for (let next = queue.pop(); next !== undefined; next = queue.pop()) {
    for (const ref of referencesOf(next as Json)) {
      const kind = ref.clusterScope ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
      const place = ref.clusterScope ? "" : namespace;
      const key = keyOf(ref, namespace);
      if (loaded.has(key)) continue;
      if (loaded.size >= MAX_REFERENCES) throw tooManyReferences();
      const { resource } = MANIFEST_RESOURCES[kind];
      await requireAccess(caller, { verb: "get", resource, namespace: place, name: ref.name });
      const template = source?.get(key) ?? await readTemplate(deps, kind, place, ref.name);
      loaded.set(key, template);
      if (template !== undefined) queue.push(template.spec);
    }
  }
  const [[key, only] = ["", undefined]] = loaded;
  return only !== undefined && loaded.size === 1 ? reachedAlone(key, only) : loaded;
}

/**
 * Loads further templates that a manifest reaches, and what these reach.
 * @param before what was loaded for it until now
 * @throws {Problem} as {@link loadTemplates}
 */
export async function loadMoreTemplates(
  deps: ServiceDeps,
  caller: Caller,
  places: readonly TemplatePlace[],
  namespace: string,
  before: Reached,
): Promise<Reached> {
  const spec = places.map(([kind, , name]) => ({
    templateRef: { name, clusterScope: kind === "ClusterWorkflowTemplate" },
  }));
  const all = new Map([...before, ...await loadAll(deps, caller, spec, namespace, before)]);
  if (all.size > MAX_REFERENCES) throw tooManyReferences();
  return all;
}

function tooManyReferences(): Problem {
  return invalid(`the manifest reaches more than ${MAX_REFERENCES} stored templates`);
}

async function readTemplate(
  { store }: ServiceDeps,
  kind: "WorkflowTemplate" | "ClusterWorkflowTemplate",
  place: string,
  name: string,
): Promise<WorkflowTemplate | undefined> {
  const stored = await store.manifests.get(ManifestKind[kind], place, name);
  return stored && manifestObject<WorkflowTemplate>(stored);
}

interface Reference {
  name: string;
  clusterScope: boolean;
}

/**
 * Checks that a caller may get every template that a spec reaches. For workflows that are started without validation.
 * @throws {Problem} PermissionDenied that names the missing right
 */
export async function requireTemplates(
  deps: ServiceDeps,
  caller: Caller,
  spec: unknown,
  namespace: string,
): Promise<void> {
  if (caller.isUnrestricted !== true) await loadTemplates(deps, caller, spec, namespace);
}

// A memo of a pure function, by shared specs.
const known = new WeakMap<object, readonly Reference[]>();

/** References to stored templates anywhere in a spec. */
function referencesOf(spec: Json): readonly Reference[] {
  if (!isJsonObject(spec) || !isShared(spec)) return referencesIn(spec);
  const before = known.get(spec);
  if (before !== undefined) return before;
  const found = referencesIn(spec);
  known.set(spec, found);
  return found;
}

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
