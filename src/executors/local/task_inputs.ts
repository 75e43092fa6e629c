/** Prepares a task on this machine: its folders, its volumes, and its input artifacts. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { type Place, placeText } from "../../platform/files/place.ts";
import { moveInside } from "../../platform/files/tree.ts";
import type { Artifact } from "../../spec/manifest.ts";
import { artifactScope } from "../artifact_scope.ts";
import { mainContainer } from "../container_plan.ts";
import { createPathMap, guestPath } from "./path_map.ts";
import type { Mount } from "./path_map.ts";
import { mountVolumes } from "./volumes.ts";

import type { LocalTaskDeps, TaskPlan } from "./task_plan.ts";

/**
 * Makes the folders and volumes, and brings the input artifacts.
 *
 * @param signal ends the transfers
 * @returns the mounts of each container, by its name
 * @throws {Error} for an artifact that is missing, or can't be had
 * @throws {StartFault} for a volume that can't be made
 */
export async function prepareInputs(
  { task, folder, containers }: TaskPlan,
  deps: LocalTaskDeps,
  signal: AbortSignal,
): Promise<Map<string, Mount[]>> {
  const { scratch, config, runtime } = deps;
  await mkdir(folder.work, { recursive: true });
  await mkdir(folder.root, { recursive: true });
  const mounts = new Map<string, Mount[]>();
  for (const container of containers) {
    const sources = { scratch, folder, config };
    mounts.set(container.name, await mountVolumes(task, container, sources));
  }
  const volumes = createPathMap(mounts.get(mainContainer(containers)?.name ?? "") ?? []);
  for (const { input, path, at } of outerFirst(task.template.inputs?.artifacts ?? [])) {
    if (at === "/") throw new Error(`Input artifact "${input.name}" can't have the path "/"`);
    const inVolume = volumes.place(at);
    const place = inVolume ?? runtime.inputPlace?.(folder, path);
    if (!await fetchInput(input, place, { task, folder }, deps, signal) || inVolume !== undefined) {
      continue;
    }
    const mount = place === undefined
      ? { at, host: folder.fetched(input.name) }
      : { at, host: placeText(place), root: place.root };
    for (const { name, hasInputs } of containers) if (hasInputs) mounts.get(name)?.push(mount);
  }
  return mounts;
}

interface PlacedInput {
  input: Artifact;
  /** As the template has it. */
  path: string;
  at: string;
}

/** Artifacts with paths, outer paths first: a folder that comes to its place takes away what is there. */
function outerFirst(inputs: readonly Artifact[]): PlacedInput[] {
  return inputs
    .flatMap((input) => {
      const { path } = input;
      return path === undefined ? [] : [{ input, path, at: guestPath(path) }];
    })
    .sort((one, other) => one.at.length - other.at.length);
}

/**
 * Brings an input artifact. It is fetched once, into a folder of the server's own, and then moved to a place that steps may
 * write to, if it has to be there. False when an optional artifact is missing.
 */
async function fetchInput(
  input: Artifact,
  place: Place | undefined,
  { task, folder }: Pick<TaskPlan, "task" | "folder">,
  { artifacts }: LocalTaskDeps,
  signal: AbortSignal,
): Promise<boolean> {
  const mark = folder.input(input.name);
  const done = await readFile(mark, "utf8").catch(() => undefined);
  if (done !== undefined) return done === "there";
  if (artifacts === undefined) throw noArtifactStore(input.name);
  const fetched = folder.fetched(input.name);
  await mkdir(dirname(fetched), { recursive: true });
  const scope = artifactScope(task);
  const found = await artifacts.fetch(input, fetched, scope, signal);
  if (!found && input.optional !== true) {
    const why = artifacts.absence(input, scope);
    throw new Error(`Input artifact "${input.name}" does not exist in its repository${why}`);
  }
  if (found && place !== undefined) await moveInside(fetched, place);
  await mkdir(dirname(mark), { recursive: true });
  await writeFile(mark, found ? "there" : "missing");
  return found;
}

/** The failure of a task with artifacts where there is no artifact store. */
export function noArtifactStore(name: string): Error {
  return new Error(
    `Artifact "${name}" can't be handled: this server has no artifact repository (see --artifacts)`,
  );
}
