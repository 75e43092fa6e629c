/** Members that older manifests have in the singular, and that version 4 of the reference no longer reads. */
import { isJsonObject, type Json, type JsonObject } from "../base/json.ts";

/** Member → the list that stands for it. */
const LISTS = {
  schedule: "schedules",
  mutex: "mutexes",
  semaphore: "semaphores",
} as const;

/** A member in its older form. */
export interface OlderForm {
  /** From the object on: `spec.schedule`. */
  path: string;
  /** The member that stands for it now. */
  now: string;
}

/** A manifest with lists in place of the older members. The given one is not changed. */
export function inNewForm(manifest: JsonObject): { manifest: JsonObject; older: OlderForm[] } {
  const older: OlderForm[] = [];
  const { spec } = manifest;
  if (!isJsonObject(spec)) return { manifest, older };
  const own = manifest["kind"] === "CronWorkflow"
    ? withLists(spec, ["schedule"], "spec", older)
    : spec;
  return { manifest: { ...manifest, spec: renewed(own, "spec", older) }, older };
}

function renewed<T extends Json>(value: T, path: string, older: OlderForm[]): T {
  if (Array.isArray(value)) {
    return value.map((inner, index) => renewed(inner, `${path}[${index}]`, older)) as T;
  }
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => {
      const here = `${path}.${key}`;
      const next = key === "synchronization" && isJsonObject(inner)
        ? withLists(inner, ["mutex", "semaphore"], here, older)
        : inner;
      return [key, next === undefined ? next : renewed(next, here, older)];
    }),
  ) as T;
}

function withLists(
  value: JsonObject,
  members: readonly (keyof typeof LISTS)[],
  path: string,
  older: OlderForm[],
): JsonObject {
  const out = { ...value };
  for (const member of members) {
    const { [member]: one } = out;
    if (one === undefined || one === null || one === "") continue;
    const now = LISTS[member];
    const others = Array.isArray(out[now]) ? out[now] : [];
    delete out[member];
    out[now] = others.includes(one) ? others : [...others, one];
    older.push({ path: `${path}.${member}`, now });
  }
  return out;
}
