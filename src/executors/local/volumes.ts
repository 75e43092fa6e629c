/** Volumes of a task on one machine: folders, filled from ConfigMaps and Secrets where the manifest says so. */
import { chmod, mkdir } from "node:fs/promises";
import { normalize } from "node:path";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { findInside, makeFolderInside, writeInside } from "../../platform/files/inside.ts";
import { placeText } from "../../platform/files/place.ts";
import type { PlannedContainer } from "../container_plan.ts";
import { readConfig } from "./environment.ts";
import { guestPath } from "./path_map.ts";
import type { Mount } from "./path_map.ts";
import type { Scratch, TaskFolder } from "./scratch.ts";
import { configFault } from "./start_fault.ts";

/** Where the pieces of a task's volumes come from. */
export interface VolumeSources {
  scratch: Scratch;
  folder: TaskFolder;
  config: ConfigSource;
}

/**
 * Mounts of a container, their folders made and filled. Volumes of the same name are shared by the task's containers.
 *
 * @throws {StartFault} for a volume that is not defined, of a kind that only a cluster has, or whose source is missing.
 */
export async function mountVolumes(
  task: TaskSpec,
  container: PlannedContainer,
  sources: VolumeSources,
): Promise<Mount[]> {
  const mounts: Mount[] = [];
  for (const mount of container.spec.volumeMounts ?? []) {
    const name = text(mount["name"]);
    const at = guestPath(text(mount["mountPath"]));
    if (at === "/") throw configFault(container.name, `volume "${name}" can't be mounted at "/"`);
    const folder = await prepareVolume(task, container.name, name, sources);
    const subPath = normalize(text(mount["subPath"]) || ".");
    if (subPath.startsWith("..") || subPath.startsWith("/")) {
      throw configFault(container.name, `subPath of volume "${name}" leaves the volume`);
    }
    const place = { root: folder, path: subPath };
    // A link there would be followed by whoever mounts it, out of the volume.
    if (subPath !== "." && await findInside(place) === undefined) {
      await makeFolderInside(place, 0o777);
    }
    const readOnly = mount["readOnly"] === true;
    mounts.push({ at, host: placeText(place), root: folder, ...(readOnly && { readOnly }) });
  }
  return mounts;
}

async function prepareVolume(
  task: TaskSpec,
  container: string,
  name: string,
  sources: VolumeSources,
): Promise<string> {
  const { scratch, folder } = sources;
  const volume = findVolume(task, name);
  if (volume === undefined) {
    if (!(task.podSpec.volumeClaimTemplates ?? []).some((claim) => claimName(claim) === name)) {
      throw configFault(container, `volume "${name}" is mounted but not defined`);
    }
    const claim = `${task.workflow}-${name}`;
    const place = scratch.claim(task.namespace, claim);
    const isNew = await mkdir(place, { recursive: true }) !== undefined;
    if (isNew) {
      await chmod(place, 0o777);
      await scratch.ownClaim(task.namespace, claim, task.workflowUid);
    }
    return place;
  }
  if (isJsonObject(volume["hostPath"])) return text(volume["hostPath"]["path"]);
  if (isJsonObject(volume["persistentVolumeClaim"])) {
    const claim = text(volume["persistentVolumeClaim"]["claimName"]);
    return await made(scratch.claim(task.namespace, claim));
  }
  const place = await made(folder.volume(name));
  for (
    const [kind, member, nameKey] of [
      ["ConfigMap", "configMap", "name"],
      ["Secret", "secret", "secretName"],
    ] as const
  ) {
    const source = volume[member];
    if (!isJsonObject(source)) continue;
    const sourceName = text(source[nameKey]);
    const entries = await readConfig(sources.config, kind, task.namespace, sourceName);
    if (entries === undefined && source["optional"] !== true) {
      throw configFault(container, `${kind} "${sourceName}" of volume "${name}" does not exist`);
    }
    await writeEntries(place, entries ?? {}, source["items"]);
    return place;
  }
  if (volume["emptyDir"] !== undefined) return place;
  const kind = Object.keys(volume).find((key) => key !== "name") ?? "nothing";
  throw configFault(
    container,
    `volume "${name}" is of kind ${kind}, which only the kubernetes executor can mount`,
  );
}

function findVolume(task: TaskSpec, name: string): JsonObject | undefined {
  const all = [...(task.template.volumes ?? []), ...(task.podSpec.volumes ?? [])];
  return all.find((volume) => volume["name"] === name);
}

function claimName(claim: JsonObject): Json | undefined {
  return isJsonObject(claim["metadata"]) ? claim["metadata"]["name"] : undefined;
}

/** Anybody may write to it: a container may run as any user. */
async function made(path: string): Promise<string> {
  const first = await mkdir(path, { recursive: true });
  if (first !== undefined) await chmod(path, 0o777);
  return path;
}

async function writeEntries(
  place: string,
  entries: Record<string, string>,
  items: Json | undefined,
): Promise<void> {
  const wanted = Array.isArray(items)
    ? items.filter(isJsonObject).map((item) => ({
      key: text(item["key"]),
      path: text(item["path"]),
      mode: item["mode"],
    }))
    : Object.keys(entries).map((key) => ({ key, path: key, mode: undefined }));
  for (const { key, path, mode } of wanted) {
    const value = entries[key];
    if (value === undefined) continue;
    const file = { root: place, path: normalize(`/${path}`) };
    // Written again when a new server finds the task: its containers may run already.
    await writeInside(file, value, typeof mode === "number" ? { mode: mode & 0o777 } : {});
  }
}

function text(value: Json | undefined): string {
  return typeof value === "string" ? value : "";
}
