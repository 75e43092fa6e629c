/** The artifact store: reads locations, finds the repository in force, packs and unpacks. */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { parse } from "yaml";
import { isJsonObject } from "../base/json.ts";
import type { Json, JsonObject } from "../base/json.ts";
import { invalid, notFound, Problem, ProblemCode } from "../base/problem.ts";
import type { Artifact } from "../spec/manifest.ts";
import type { ConfigSource } from "./config_source.ts";
import { readFileStream } from "./file_stream.ts";
import { FolderObjects } from "./folder_objects.ts";
import { cloneRepository } from "./git_artifact.ts";
import { readUrl, writeUrl } from "./http_artifact.ts";
import type { ReadSecret } from "./http_artifact.ts";
import { joinKey, locationOf, textMember } from "./location.ts";
import type { Location } from "./location.ts";
import type { ObjectStore, StoredObject } from "./object_store.ts";
import { applyMode, archiveMode, archiveName, packTarGz, packZip, placeFile } from "./pack.ts";
import type { ArtifactContent, ArtifactScope, ArtifactStore } from "./port.ts";
import { S3Objects } from "./s3_objects.ts";
import type { S3Options } from "./s3_objects.ts";

/** The repository of a deployment. */
export type RepositorySetting =
  | { type: "folder"; path: string }
  | ({ type: "s3"; keyPrefix?: string } & S3Options);

export interface ArtifactStoreOptions {
  /** Where artifacts go that say nothing else; absent: such artifacts fail. */
  repository?: RepositorySetting;
  config: ConfigSource;
  /** Credentials of the server itself, for S3 locations that name no Secret. */
  s3Credentials?: { accessKey: string; secretKey: string; sessionToken?: string };
  /** Git repositories on the server's own disk may be cloned: right where tasks are local processes anyway. */
  allowLocalGit?: boolean;
}

/** Objects with the prefix that all keys of a repository have, and its key format. */
interface Repository {
  objects: ObjectStore;
  keyPrefix: string;
  keyFormat?: string;
}

/** Most entries of a folder that are shown. */
const MAX_ENTRIES = 10_000;

/** Most buckets that are kept open. */
const MAX_OPEN = 100;

/** Makes the artifact store. */
export function createArtifactStore(options: ArtifactStoreOptions): ArtifactStore {
  return new LocatedArtifacts(options);
}

class LocatedArtifacts implements ArtifactStore {
  readonly #options: ArtifactStoreOptions;
  readonly #default: Repository | undefined;
  readonly #open = new Map<string, S3Objects>();

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    const { repository } = options;
    if (repository?.type === "folder") {
      this.#default = { objects: new FolderObjects(repository.path), keyPrefix: "" };
    } else if (repository !== undefined) {
      const { keyPrefix = "", type: _type, ...s3 } = repository;
      this.#default = { objects: new S3Objects({ ...options.s3Credentials, ...s3 }), keyPrefix };
    }
  }

  async fetch(artifact: Artifact, path: string, scope: ArtifactScope): Promise<boolean> {
    const location = this.#locate(artifact);
    const found = await this.#fetch(location, artifact, path, scope);
    if (found) await applyMode(path, artifact);
    return found;
  }

  async #fetch(
    location: Location,
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
  ): Promise<boolean> {
    await mkdir(dirname(path), { recursive: true });
    switch (location.type) {
      case "raw":
        await writeFile(path, location.data);
        return true;
      case "git":
        await rm(path, { recursive: true, force: true });
        await cloneRepository(location.location, path, this.#secrets(scope), {
          allowLocal: this.#options.allowLocalGit === true,
        });
        return true;
      case "http": {
        const object = await readUrl(location.location, this.#secrets(scope));
        if (object === undefined) return false;
        await this.#place(object, path, artifact);
        return true;
      }
      case "repository":
      case "s3":
        return await this.#fetchKey(location, artifact, path, scope);
    }
  }

  async #fetchKey(
    location: Extract<Location, { key: string }>,
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
  ): Promise<boolean> {
    const { objects, key } = await this.#objects(location, scope);
    return await this.#naming(artifact, objects, async () => {
      const object = await objects.read(key);
      if (object !== undefined) {
        await this.#place(object, path, artifact);
        return true;
      }
      // A folder that was stored unpacked.
      const prefix = `${key.replace(/\/+$/, "")}/`;
      const folder = `${path}.tmpdir`;
      await rm(folder, { recursive: true, force: true });
      let count = 0;
      for await (const child of objects.list(prefix)) {
        const content = await objects.read(child);
        if (content === undefined || child.endsWith("/")) continue;
        const parts = child.slice(prefix.length).split("/");
        if (parts.includes("..")) throw invalid(`Key "${child}" leaves the artifact`);
        const place = join(folder, ...parts);
        await mkdir(dirname(place), { recursive: true });
        await pipeline(content.body, createWriteStream(place));
        count++;
      }
      if (count === 0) return false;
      await rm(path, { recursive: true, force: true });
      await rename(folder, path);
      return true;
    });
  }

  async #place(object: StoredObject, path: string, artifact: Artifact): Promise<void> {
    const file = `${path}.part-${randomUUID()}`;
    try {
      await pipeline(object.body, createWriteStream(file));
      await placeFile(file, path, artifact);
    } finally {
      await rm(file, { force: true });
    }
  }

  async save(
    artifact: Artifact,
    path: string,
    prefix: string,
    scope: ArtifactScope,
  ): Promise<Artifact> {
    const given = locationOf(artifact);
    if (given?.type === "raw" || given?.type === "git") {
      throw invalid(`Output artifact "${artifact.name}" can't be stored in ${given.type}`);
    }
    if (given?.type === "http") {
      await writeUrl(given.location, await this.#pack(artifact, path), this.#secrets(scope));
      return artifact;
    }
    const saved = given === undefined
      ? await this.#freshLocation(artifact, path, prefix, scope)
      : artifact;
    const location = this.#locate(saved);
    if (location.type !== "repository" && location.type !== "s3") return saved;
    const { objects, key } = await this.#objects(location, scope);
    await this.#naming(artifact, objects, async () => {
      const isFolder = (await stat(path)).isDirectory();
      if (archiveMode(artifact).type !== "none" || !isFolder) {
        await objects.write(key, await this.#pack(artifact, path));
        return;
      }
      for (const entry of await readdir(path, { recursive: true, withFileTypes: true })) {
        if (!entry.isFile()) continue;
        const file = join(entry.parentPath, entry.name);
        const below = file.slice(path.length + 1).split("\\").join("/");
        await objects.write(joinKey(key, below), readFileStream(file));
      }
    });
    return saved;
  }

  /** The artifact with a key of its own in the archive location or the repository in force. */
  async #freshLocation(
    artifact: Artifact,
    path: string,
    prefix: string,
    scope: ArtifactScope,
  ): Promise<Artifact> {
    const name = archiveName(artifact, artifact.path ?? path);
    const archive = scope.archiveLocation && locationOf(scope.archiveLocation);
    if (archive?.type === "s3") {
      return { ...artifact, s3: { ...archive.bucket, key: joinKey(archive.key, name) } };
    }
    if (archive?.type === "repository") {
      return { ...artifact, s3: { key: joinKey(archive.key, name) } };
    }
    const { keyFormat } = await this.#repository(scope);
    const start = keyFormat === undefined ? prefix : fillKeyFormat(keyFormat, scope.names ?? {});
    return { ...artifact, s3: { key: joinKey(start, name) } };
  }

  async #pack(artifact: Artifact, path: string): Promise<Readable> {
    const mode = archiveMode(artifact);
    if (mode.type === "zip") return packZip(path);
    if (mode.type === "tar") return await packTarGz(path, mode.level);
    return readFileStream(path);
  }

  async open(artifact: Artifact, scope: ArtifactScope): Promise<ArtifactContent | undefined> {
    const location = this.#locate(artifact);
    switch (location.type) {
      case "raw":
        return {
          name: artifact.name,
          size: Buffer.byteLength(location.data),
          body: Readable.from([Buffer.from(location.data)]),
        };
      case "git":
        throw new Problem(
          ProblemCode.Unimplemented,
          `Artifact "${artifact.name}" is a git repository; clone it instead of downloading it`,
        );
      case "http": {
        const object = await readUrl(location.location, this.#secrets(scope));
        const { pathname } = new URL(textMember(location.location, "url"));
        return object && { name: basename(pathname) || artifact.name, ...sized(object) };
      }
      case "repository":
      case "s3": {
        const { objects, key } = await this.#objects(location, scope);
        const object = await this.#naming(artifact, objects, () => objects.read(key));
        return object && { name: basename(key), ...sized(object) };
      }
    }
  }

  async list(artifact: Artifact, scope: ArtifactScope): Promise<string[]> {
    const location = this.#locate(artifact);
    if (location.type !== "repository" && location.type !== "s3") {
      throw invalid(`Only s3 artifacts can be listed; "${artifact.name}" is ${location.type}`);
    }
    const { objects, key, keyPrefix } = await this.#objects(location, scope);
    return await this.#naming(artifact, objects, async () => {
      const keys: string[] = [];
      for await (const found of objects.list(key)) keys.push(found.slice(keyPrefix.length));
      return keys;
    });
  }

  async entries(artifact: Artifact, scope: ArtifactScope): Promise<string[]> {
    const location = this.#locate(artifact);
    if (location.type !== "repository" && location.type !== "s3") return [];
    const { objects, key } = await this.#objects(location, scope);
    const prefix = `${key.replace(/\/+$/, "")}/`;
    return await this.#naming(artifact, objects, async () => {
      const names = new Set<string>();
      for await (const found of objects.list(prefix)) {
        const [name = "", ...below] = found.slice(prefix.length).split("/");
        if (name !== "") names.add(below.length === 0 ? name : `${name}/`);
        if (names.size >= MAX_ENTRIES) break;
      }
      return [...names];
    });
  }

  async write(artifact: Artifact, body: Readable, scope: ArtifactScope): Promise<void> {
    const location = this.#locate(artifact);
    if (location.type !== "repository" && location.type !== "s3") {
      throw invalid(`Only s3 artifacts can be uploaded; "${artifact.name}" is ${location.type}`);
    }
    const { objects, key } = await this.#objects(location, scope);
    await this.#naming(artifact, objects, () => objects.write(key, body));
  }

  async remove(artifact: Artifact, scope: ArtifactScope): Promise<void> {
    const location = this.#locate(artifact);
    if (location.type !== "repository" && location.type !== "s3") return;
    const { objects, key } = await this.#objects(location, scope);
    await this.#naming(artifact, objects, async () => {
      await objects.remove(key);
      const children: string[] = [];
      for await (const child of objects.list(`${key.replace(/\/+$/, "")}/`)) children.push(child);
      for (const child of children) await objects.remove(child);
    });
  }

  #locate(artifact: Artifact): Location {
    const location = locationOf(artifact, artifact.subPath);
    if (location !== undefined) return location;
    throw invalid(`Artifact "${artifact.name}" has no location`);
  }

  async #objects(
    location: Extract<Location, { key: string }>,
    scope: ArtifactScope,
  ): Promise<{ objects: ObjectStore; key: string; keyPrefix: string }> {
    if (location.type === "s3") {
      const objects = await this.#bucket(location.bucket, scope);
      return { objects, key: location.key, keyPrefix: "" };
    }
    const { objects, keyPrefix } = await this.#repository(scope);
    return { objects, key: keyPrefix + location.key, keyPrefix };
  }

  /** The repository that a workflow chose, else the deployment's. */
  async #repository({ namespace, repositoryRef }: ArtifactScope): Promise<Repository> {
    if (repositoryRef !== undefined) {
      return await this.#chosen(namespace, repositoryRef.configMap, repositoryRef.key);
    }
    if (this.#default !== undefined) return this.#default;
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "No artifact repository is configured; start the server with one, or give the artifact a full location",
    );
  }

  async #chosen(
    namespace: string,
    configMap = "artifact-repositories",
    key?: string,
  ): Promise<Repository> {
    const entries = await this.#options.config.configMap(namespace, configMap);
    const names = Object.keys(entries ?? {});
    const text = entries?.[key ?? names[0] ?? ""];
    if (text === undefined) {
      throw notFound(
        `Artifact repository "${
          key ?? ""
        }" of ConfigMap "${configMap}" does not exist in namespace ${namespace}`,
      );
    }
    const setting = parse(text) as Json;
    const s3 = isJsonObject(setting) ? setting["s3"] : undefined;
    if (!isJsonObject(s3)) {
      throw invalid(
        `Artifact repository "${key ?? ""}" of ConfigMap "${configMap}" has no s3 part`,
      );
    }
    const keyPrefix = typeof s3["keyPrefix"] === "string" ? `${s3["keyPrefix"]}/` : "";
    const keyFormat = s3["keyFormat"];
    return {
      objects: await this.#bucket(s3, { namespace }),
      keyPrefix: keyPrefix.replace(/\/+$/, "/"),
      ...(typeof keyFormat === "string" && keyFormat !== "" && { keyFormat }),
    };
  }

  async #bucket(location: JsonObject, scope: ArtifactScope): Promise<S3Objects> {
    const secret = this.#secrets(scope);
    if (
      isJsonObject(location["encryptionOptions"]) &&
      location["encryptionOptions"]["serverSideCustomerKeySecret"] !== undefined
    ) {
      throw new Problem(
        ProblemCode.Unimplemented,
        "S3 encryption with a customer's key is not supported",
      );
    }
    const own = this.#options.s3Credentials;
    const accessKey = await secret(location["accessKeySecret"]) ?? own?.accessKey;
    const secretKey = await secret(location["secretKeySecret"]) ?? own?.secretKey;
    const sessionToken = await secret(location["sessionTokenSecret"]) ??
      (location["accessKeySecret"] === undefined ? own?.sessionToken : undefined);
    const options: S3Options = {
      endpoint: textMember(location, "endpoint"),
      bucket: textMember(location, "bucket"),
      insecure: location["insecure"] === true,
      createBucket: isJsonObject(location["createBucketIfNotPresent"]),
      ...(typeof location["region"] === "string" && { region: location["region"] }),
      ...(accessKey !== undefined && { accessKey }),
      ...(secretKey !== undefined && { secretKey }),
      ...(sessionToken !== undefined && { sessionToken }),
    };
    const identity = JSON.stringify(options);
    const known = this.#open.get(identity);
    if (known !== undefined) return known;
    const made = new S3Objects(options);
    for (const oldest of [...this.#open.keys()].slice(0, this.#open.size - MAX_OPEN + 1)) {
      this.#open.delete(oldest);
    }
    this.#open.set(identity, made);
    return made;
  }

  #secrets({ namespace }: ArtifactScope): ReadSecret {
    return async (reference) => {
      if (!isJsonObject(reference)) return undefined;
      const name = String(reference["name"] ?? "");
      const key = String(reference["key"] ?? "");
      const value = (await this.#options.config.secret(namespace, name))?.[key];
      if (value !== undefined || reference["optional"] === true) return value;
      throw notFound(`Secret "${name}" in namespace ${namespace} has no key "${key}"`);
    };
  }

  /** Puts the artifact's name before what went wrong with its store. */
  async #naming<Result>(
    artifact: Artifact,
    objects: ObjectStore,
    act: () => Promise<Result>,
  ): Promise<Result> {
    try {
      return await act();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof Problem ? error.code : ProblemCode.Unknown;
      throw new Problem(code, `Artifact "${artifact.name}" in ${objects.name}: ${message}`, {
        cause: error,
        ...(error instanceof Problem && { status: error.status }),
      });
    }
  }
}

function sized({ size, body }: StoredObject): { size?: number; body: Readable } {
  return size > 0 ? { size, body } : { body };
}

/** Fills `{{workflow.name}}` and its likes; what isn't known stays. */
function fillKeyFormat(format: string, names: Record<string, string>): string {
  return format.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (tag, name: string) => names[name] ?? tag);
}
