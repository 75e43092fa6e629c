/** Pure: `podSpecPatch`, a strategic merge patch of the pod's spec as JSON or YAML text. */
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { yamlValue } from "../../spec/yaml/documents.ts";
import { YAML_OPTIONS } from "../../spec/yaml/options.ts";

/** Lists that are merged, and what tells their entries apart. All other lists are replaced, as Kubernetes does it. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  containers: "name",
  initContainers: "name",
  ephemeralContainers: "name",
  volumes: "name",
  imagePullSecrets: "name",
  resourceClaims: "name",
  schedulingGates: "name",
  env: "name",
  ports: "containerPort",
  volumeMounts: "mountPath",
  volumeDevices: "devicePath",
  hostAliases: "ip",
  topologySpreadConstraints: "topologyKey",
};

/** The pod's spec, patched. @throws {Error} when the patch is no object */
export function applyPodPatch(spec: JsonObject, patch: string | undefined): JsonObject {
  if (patch === undefined || patch.trim() === "") return spec;
  let read: Json;
  try {
    read = yamlValue(patch, YAML_OPTIONS) as Json;
  } catch (error) {
    throw new Error(`podSpecPatch is not JSON or YAML: ${String(error)}`);
  }
  if (!isJsonObject(read)) throw new Error("podSpecPatch is not an object");
  return mergeObjects(spec, read);
}

/** An object with what a patch says of its members. */
export function mergeObjects(base: JsonObject, patch: JsonObject): JsonObject {
  const { $patch: directive, ...members } = patch;
  if (directive === "delete") return {};
  const merged: JsonObject = directive === "replace" ? {} : { ...base };
  for (const [name, value] of Object.entries(members)) {
    if (value === null) delete merged[name];
    else merged[name] = mergeValues(name, merged[name], value);
  }
  return merged;
}

function mergeValues(name: string, base: Json | undefined, patch: Json): Json {
  if (isJsonObject(base) && isJsonObject(patch)) return mergeObjects(base, patch);
  const key = MERGE_KEYS[name];
  return key !== undefined && Array.isArray(base) && Array.isArray(patch)
    ? mergeLists(base, patch, key)
    : plain(patch);
}

/** A value of the patch where there was none: without directives, and without members that it removes. */
function plain(value: Json): Json {
  if (Array.isArray(value)) {
    return value.filter((item) => !isDirective(item)).map((item) => plain(item as Json));
  }
  return isJsonObject(value) ? mergeObjects({}, value) : value;
}

/** True for an entry that only says what is done with its list. */
function isDirective(item: unknown): boolean {
  return isJsonObject(item) && typeof item["$patch"] === "string" &&
    (item["$patch"] === "delete" || Object.keys(item).length === 1);
}

function mergeLists(base: Json[], patch: Json[], key: string): Json[] {
  if (patch.some((item) => isJsonObject(item) && item["$patch"] === "replace")) {
    return patch.flatMap((item) => isJsonObject(item) ? withoutDirective(item) : []);
  }
  const merged = [...base];
  for (const item of patch) {
    if (!isJsonObject(item)) continue;
    const index = merged.findIndex((other) => isJsonObject(other) && other[key] === item[key]);
    const before = merged[index];
    if (item["$patch"] === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (isJsonObject(before)) merged[index] = mergeObjects(before, item);
    else merged.push(plain(item));
  }
  return merged;
}

function withoutDirective({ $patch: _directive, ...item }: JsonObject): JsonObject[] {
  return Object.keys(item).length === 0 ? [] : [item];
}
