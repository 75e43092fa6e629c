/** Pure: `podSpecPatch`, a patch of the pod's spec as JSON or YAML text. Lists of named things are merged by name. */
import { parse } from "yaml";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";

/** What tells the entries of a list apart, in the order of trying. */
const KEYS = ["name", "mountPath", "containerPort", "ip", "key"];

/** The pod's spec, patched. @throws {Error} when the patch is no object */
export function applyPodPatch(spec: JsonObject, patch: string | undefined): JsonObject {
  if (patch === undefined || patch.trim() === "") return spec;
  let read: Json;
  try {
    read = parse(patch) as Json;
  } catch (error) {
    throw new Error(`podSpecPatch is not JSON or YAML: ${String(error)}`);
  }
  if (!isJsonObject(read)) throw new Error("podSpecPatch is not an object");
  return mergeObjects(spec, read);
}

/** An object with what a patch says of its members. */
export function mergeObjects(base: JsonObject, patch: JsonObject): JsonObject {
  const merged: JsonObject = { ...base };
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name];
    else merged[name] = mergePatch(merged[name] ?? null, value);
  }
  return merged;
}

function mergePatch(base: Json, patch: Json): Json {
  if (isJsonObject(base) && isJsonObject(patch)) return mergeObjects(base, patch);
  if (Array.isArray(base) && Array.isArray(patch)) return mergeLists(base, patch);
  return patch;
}

function mergeLists(base: Json[], patch: Json[]): Json[] {
  const key = KEYS.find((name) =>
    patch.length > 0 && [...base, ...patch].every((item) => isJsonObject(item) && name in item)
  );
  if (key === undefined) return patch;
  const merged = [...base];
  for (const item of patch) {
    if (!isJsonObject(item)) continue;
    const index = merged.findIndex((other) => isJsonObject(other) && other[key] === item[key]);
    const { $patch: directive, ...value } = item;
    if (directive === "delete") {
      if (index >= 0) merged.splice(index, 1);
    } else if (index < 0) merged.push(value);
    else merged[index] = directive === "replace" ? value : mergePatch(merged[index] ?? null, value);
  }
  return merged;
}
