/** The ConfigMaps that manifests name: parameters, sizes of semaphores, artifact repositories, volumes, variables. */
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { metadataOf } from "../manifests.ts";

/** Members whose object names a ConfigMap by `name`. */
const REFERENCES = new Set(["configMapKeyRef", "configMapRef"]);
/** Members whose object names a template, possibly one of the cluster. */
const TEMPLATES = new Set(["templateRef", "workflowTemplateRef"]);

/** What a manifest names. */
interface Named {
  configMaps: Set<string>;
  clusterTemplates: Set<string>;
}

/** Adds what an object names. Names with tags are not known yet. */
function visit(value: Json | undefined, found: Named): void {
  if (Array.isArray(value)) {
    for (const inner of value) visit(inner, found);
  } else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) visitMember(key, inner, found);
  }
}

function visitMember(key: string, inner: Json, found: Named): void {
  if (!isJsonObject(inner)) return visit(inner, found);
  const isVolume = key === "configMap" && !("key" in inner);
  if (REFERENCES.has(key) || isVolume) addName(found.configMaps, inner["name"]);
  else if (key === "artifactRepositoryRef") addName(found.configMaps, inner["configMap"]);
  else if (TEMPLATES.has(key)) {
    if (inner["clusterScope"] === true) addName(found.clusterTemplates, inner["name"]);
  } else visit(inner, found);
}

function addName(names: Set<string>, name: Json | undefined): void {
  if (typeof name === "string" && name !== "" && !name.includes("{{")) names.add(name);
}

function namedBy(manifest: JsonObject): Named {
  const found: Named = { configMaps: new Set(), clusterTemplates: new Set() };
  visit(manifest["spec"], found);
  return found;
}

/**
 * Where the ConfigMaps are that manifests name, as `namespace/name`, without tags. Those that a cluster template names
 * are in the namespaces of the manifests that use it, directly or by way of another one.
 */
export function namedConfigMaps(manifests: readonly JsonObject[]): Set<string> {
  const shared = new Map<string, Named>();
  for (const manifest of manifests) {
    if (isClusterTemplate(manifest)) {
      shared.set(String(metadataOf(manifest)["name"]), namedBy(manifest));
    }
  }
  const found = new Set<string>();
  for (const manifest of manifests) {
    const { namespace } = metadataOf(manifest);
    if (typeof namespace !== "string" || manifest["kind"] === "ConfigMap") continue;
    const { configMaps, clusterTemplates } = namedBy(manifest);
    for (const name of configMaps) found.add(`${namespace}/${name}`);
    // A set may grow while it is gone through.
    for (const template of clusterTemplates) {
      const named = shared.get(template);
      for (const name of named?.configMaps ?? []) found.add(`${namespace}/${name}`);
      for (const next of named?.clusterTemplates ?? []) clusterTemplates.add(next);
    }
  }
  return found;
}

/** The ConfigMaps that a cluster template names and that no namespace here has: nobody here uses it, so theirs are not known. */
export function unplacedConfigMaps(
  manifest: JsonObject,
  configMaps: ReadonlySet<string>,
): string[] {
  if (!isClusterTemplate(manifest)) return [];
  return [...namedBy(manifest).configMaps].filter((name) => !configMaps.has(name));
}

function isClusterTemplate(manifest: JsonObject): boolean {
  return manifest["kind"] === "ClusterWorkflowTemplate";
}
