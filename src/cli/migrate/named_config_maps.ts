/** The ConfigMaps that manifests name: parameters, sizes of semaphores, artifact repositories, volumes, variables. */
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import { metadataOf } from "../manifests.ts";

/** Members whose object names a ConfigMap by `name`. */
const REFERENCES = new Set(["configMapKeyRef", "configMapRef"]);

/** Calls `visit` for each name in an object, possibly several times. */
function visitNames(value: Json | undefined, visit: (name: string) => void): void {
  if (Array.isArray(value)) {
    for (const inner of value) visitNames(inner, visit);
  } else if (isJsonObject(value)) {
    for (const [key, inner] of Object.entries(value)) {
      const isVolume = key === "configMap" && isJsonObject(inner) && !("key" in inner);
      if ((REFERENCES.has(key) || isVolume) && isJsonObject(inner)) {
        if (typeof inner["name"] === "string") visit(inner["name"]);
      } else if (key === "artifactRepositoryRef" && isJsonObject(inner)) {
        if (typeof inner["configMap"] === "string") visit(inner["configMap"]);
      } else visitNames(inner, visit);
    }
  }
}

/**
 * Where the ConfigMaps are that manifests name, as `namespace/name`, without tags. Those of a cluster template are in the
 * namespace of whoever uses it, so they are not known.
 */
export function namedConfigMaps(manifests: readonly JsonObject[]): Set<string> {
  const found = new Set<string>();
  for (const manifest of manifests) {
    const { namespace } = metadataOf(manifest);
    if (typeof namespace !== "string" || manifest["kind"] === "ConfigMap") continue;
    visitNames(manifest["spec"], (name) => {
      if (!name.includes("{{") && name !== "") found.add(`${namespace}/${name}`);
    });
  }
  return found;
}
