/** The manifest of a resource template. */
import { readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import type { Document } from "yaml";
import type { ArtifactStore } from "../../artifacts/port.ts";
import { isJsonObject } from "../../base/json.ts";
import type { Json } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { makeTempFolder } from "../../platform/process/temp_folders.ts";
import type { ResourceTemplate } from "../../spec/manifest.ts";
import { parseYaml } from "../../spec/yaml/documents.ts";
import { YAML_OPTIONS } from "../../spec/yaml/options.ts";
import { artifactScope } from "../artifact_scope.ts";

/** Most bytes of a manifest: more than a cluster stores of one object. */
const MAX_MANIFEST_BYTES = 3 * 1024 * 1024;

/** The manifest as it is written, or from an input artifact; "" when there is none. */
export async function manifestText(
  task: TaskSpec,
  { manifest, manifestFrom }: ResourceTemplate,
  artifacts: ArtifactStore | undefined,
  signal: AbortSignal,
): Promise<string> {
  if (manifest !== undefined && manifest.trim() !== "") return manifest;
  const name = manifestFrom?.artifact?.name;
  if (name === undefined) return "";
  const artifact = task.template.inputs?.artifacts?.find((one) => one.name === name);
  if (artifact === undefined) throw new Error(`there is no input artifact ${name}`);
  if (artifacts === undefined) {
    throw new Error("manifestFrom needs a server with an artifact repository");
  }
  const folder = await makeTempFolder("manifest");
  try {
    const file = join(folder, "manifest");
    const scope = artifactScope(task);
    const isThere = await artifacts.fetch(artifact, file, scope, signal);
    if (!isThere) {
      const why = artifacts.absence(artifact, scope);
      throw new Error(`artifact ${name} of manifestFrom does not exist${why}`);
    }
    if ((await stat(file)).size > MAX_MANIFEST_BYTES) {
      throw new Error(
        `artifact ${name} of manifestFrom is larger than ${MAX_MANIFEST_BYTES} bytes`,
      );
    }
    return await readFile(file, "utf8");
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/**
 * What a manifest holds: one object, or the operations of a JSON patch.
 *
 * @param mayBeEmpty flags name the object
 */
export function readManifest(manifest: string, isPatch: boolean, mayBeEmpty: boolean): Json {
  // As for kubectl, the last of two members with one name counts.
  const documents = parseYaml(manifest, { ...YAML_OPTIONS, uniqueKeys: false })
    .map((document) => valueOf(document))
    .filter((document) => document !== null);
  const [only = null] = documents;
  if (documents.length === 0 && mayBeEmpty && !isPatch) return {};
  if (isPatch) {
    if (!mayBeEmpty) {
      throw new Error("a JSON patch needs the object in flags, for example [deployment, web]");
    }
    if (!Array.isArray(only)) throw new Error("a JSON patch must be a list of operations");
  } else if (documents.length !== 1 || !isJsonObject(only)) {
    throw new Error(`resource.manifest has ${documents.length} objects, it must have one`);
  }
  return only;
}

/** What was read before a mistake is something else than what was meant. */
function valueOf(document: Document.Parsed): Json {
  const [error] = document.errors;
  if (error === undefined) return document.toJS() as Json;
  throw new Error(`resource.manifest is not YAML: ${error.message.split(/:?\n/)[0]}`);
}
