/** The artifact store: brings artifacts from and to their locations, packed or unpacked as they say. */
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { findInside, openInside, removeInside, writeInside } from "../platform/files/inside.ts";
import { type Place, placeText, trustedPlace } from "../platform/files/place.ts";
import { chmodInside, moveInside } from "../platform/files/tree.ts";
import type { Artifact } from "../spec/manifest.ts";
import { Budget, DEFAULT_MAX_ARTIFACT_BYTES } from "./budget.ts";
import { shareFairly } from "./fair_artifacts.ts";
import { toldToReader } from "./file_stream.ts";
import { cloneRepository } from "./git_artifact.ts";
import { placeOf, readUrl, writeUrl } from "./http_artifact.ts";
import { isInStore, joinKey, locationOf, textMember } from "./location.ts";
import type { Location } from "./location.ts";
import { naming } from "./naming.ts";
import type { StoredObject } from "./object_store.ts";
import { archiveMode, archiveName, filesInside, packTarGz, packZip, placeFile } from "./pack.ts";
import type { ArtifactContent, ArtifactScope, ArtifactStore } from "./port.ts";
import { Repositories, type RepositoriesOptions } from "./repositories.ts";
import { whole } from "./whole_stream.ts";

export interface ArtifactStoreOptions extends RepositoriesOptions {
  /** Git repositories on the server's own disk may be cloned: only where tasks are local processes anyway. */
  allowLocalGit?: boolean;
  /** Whether the repository is of this replica alone, while others share its workflows. @default {false} */
  isOfReplica?: boolean;
  /** Most bytes of one artifact, unpacked. @default {10 GiB} */
  maxBytes?: number;
}

const ELSEWHERE =
  "; each replica keeps artifacts in a folder of its own and does not see those of the others: give all of them one " +
  "repository with --artifacts";
/** Most entries of a folder that are shown. */
const MAX_ENTRIES = 10_000;
/** Most characters of the keys of one list. */
const MAX_LIST_LENGTH = 32 * 1024 * 1024;
/** What any key counts besides its own: a server may list empty ones for ever. */
const KEY_LENGTH = 32;

/** Makes the artifact store. */
export function createArtifactStore(options: ArtifactStoreOptions): ArtifactStore {
  return shareFairly(new LocatedArtifacts(options));
}

class LocatedArtifacts implements ArtifactStore {
  readonly #options: ArtifactStoreOptions;
  readonly #repositories: Repositories;

  constructor(options: ArtifactStoreOptions) {
    this.#options = options;
    this.#repositories = new Repositories(options);
  }

  async check(artifact: Artifact, scope: ArtifactScope): Promise<void> {
    const location = locationOf(artifact, artifact.subPath);
    if (location?.type !== "repository") return;
    const { objects } = await this.#repositories.inForce(scope);
    await naming(artifact, objects, () => objects.check(location.key));
  }

  async fetch(
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
    signal?: AbortSignal,
  ): Promise<boolean> {
    const location = this.#locate(artifact);
    const found = await this.#fetch(location, artifact, path, scope, signal);
    const { mode, recurseMode } = artifact;
    if (found && mode !== undefined) {
      await chmodInside(trustedPlace(path), mode & 0o777, recurseMode === true);
    }
    return found;
  }

  async #fetch(
    location: Location,
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    await mkdir(dirname(path), { recursive: true });
    switch (location.type) {
      case "raw":
        await writeFile(path, location.data);
        return true;
      case "git":
        await removeInside(trustedPlace(path));
        await cloneRepository(location.location, path, this.#repositories.secrets(scope), {
          allowLocal: this.#options.allowLocalGit === true,
          signal,
        });
        return true;
      case "http": {
        const { location: at } = location;
        return await naming(artifact, { name: placeOf(at) }, async () => {
          const object = await readUrl(at, this.#repositories.secrets(scope));
          if (object === undefined) return false;
          await this.#place(object, path, artifact, signal);
          return true;
        });
      }
      case "repository":
      case "s3":
        return await this.#fetchKey(location, artifact, path, scope, signal);
    }
  }

  async #fetchKey(
    location: Extract<Location, { key: string }>,
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
    signal: AbortSignal | undefined,
  ): Promise<boolean> {
    const { objects, key } = await this.#repositories.objects(location, scope);
    return await naming(artifact, objects, async () => {
      const object = await objects.read(key);
      if (object !== undefined) {
        await this.#place(object, path, artifact, signal);
        return true;
      }
      // It may be a folder that was stored unpacked.
      const prefix = `${key.replace(/\/+$/, "")}/`;
      const folder = `${path}.tmpdir`;
      await removeInside(trustedPlace(folder));
      await mkdir(folder, { recursive: true });
      const budget = this.#budget();
      let count = 0;
      for await (const child of objects.list(prefix)) {
        signal?.throwIfAborted();
        const content = child.endsWith("/") ? undefined : await objects.read(child);
        if (content === undefined) continue;
        const place = { root: folder, path: child.slice(prefix.length) };
        await whole(content.body, async (body) => {
          budget.takeEntry();
          await writeInside(place, budget.count(body));
        }, signal);
        count++;
      }
      if (count === 0) await removeInside(trustedPlace(folder));
      else await moveInside(folder, trustedPlace(path));
      return count > 0;
    });
  }

  #budget(): Budget {
    return new Budget(this.#options.maxBytes ?? DEFAULT_MAX_ARTIFACT_BYTES);
  }

  async #place(
    object: StoredObject,
    path: string,
    artifact: Artifact,
    signal: AbortSignal | undefined,
  ): Promise<void> {
    const file = `${path}.part-${randomUUID()}`;
    try {
      const packed = this.#budget();
      await whole(object.body, async (body) => {
        packed.expect(object.size);
        await pipeline(packed.count(body), createWriteStream(file));
      }, signal);
      await placeFile(file, path, artifact, this.#budget(), signal);
    } finally {
      await rm(file, { force: true });
    }
  }

  async save(
    artifact: Artifact,
    source: string | Place,
    prefix: string,
    scope: ArtifactScope,
    signal?: AbortSignal,
  ): Promise<Artifact> {
    const place = typeof source === "string" ? trustedPlace(source) : source;
    const given = locationOf(artifact);
    if (given?.type === "raw" || given?.type === "git") {
      throw invalid(`Output artifact "${artifact.name}" can't be stored in ${given.type}`);
    }
    if (given?.type === "http") {
      const secrets = this.#repositories.secrets(scope);
      const packed = await this.#pack(artifact, place);
      await whole(packed, (body) => writeUrl(given.location, body, secrets, signal), signal);
      return artifact;
    }
    const saved = given === undefined
      ? await this.#freshLocation(artifact, placeText(place), prefix, scope)
      : artifact;
    const location = this.#locate(saved);
    if (!isInStore(location)) return saved;
    const { objects, key } = await this.#repositories.objects(location, scope);
    await naming(artifact, objects, async () => {
      const found = await findInside(place);
      if (archiveMode(artifact).type !== "none" || found?.kind !== "folder") {
        const packed = await this.#pack(artifact, place);
        await whole(packed, (body) => objects.write(key, body), signal);
        return;
      }
      for await (const { path, body } of filesInside(place, this.#budget())) {
        await whole(body, (content) => objects.write(joinKey(key, path), content), signal);
      }
    });
    return saved;
  }

  /** The artifact with a new key, in the archive location or the repository in force. */
  async #freshLocation(
    artifact: Artifact,
    path: string,
    prefix: string,
    scope: ArtifactScope,
  ): Promise<Artifact> {
    const name = ownName(artifact, path, scope.siblings ?? []);
    const archive = scope.archiveLocation && locationOf(scope.archiveLocation);
    if (archive?.type === "s3") {
      return { ...artifact, s3: { ...archive.bucket, key: joinKey(archive.key, name) } };
    }
    if (archive?.type === "repository") {
      return { ...artifact, s3: { key: joinKey(archive.key, name) } };
    }
    const { keyFormat } = await this.#repositories.inForce(scope);
    const start = keyFormat === undefined
      ? `${scope.namespace}/${prefix}`
      : fillKeyFormat(keyFormat, scope.names ?? {});
    return { ...artifact, s3: { key: joinKey(start, name) } };
  }

  async #pack(artifact: Artifact, source: Place): Promise<Readable> {
    const mode = archiveMode(artifact);
    const budget = this.#budget();
    const name = basename(placeText(source));
    if (mode.type === "zip") return packZip(source, name, budget);
    if (mode.type === "tar") return packTarGz(source, name, budget, mode.level);
    const file = await openInside(source);
    try {
      budget.take((await file.stat()).size);
    } catch (error) {
      await file.close();
      throw error;
    }
    return toldToReader(file.createReadStream());
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
        const object = await readUrl(location.location, this.#repositories.secrets(scope));
        const { pathname } = new URL(textMember(location.location, "url"));
        return object && { name: basename(pathname) || artifact.name, ...sized(object) };
      }
      case "repository":
      case "s3": {
        const { objects, key } = await this.#repositories.objects(location, scope);
        const object = await naming(artifact, objects, () => objects.read(key));
        return object && { name: basename(key), ...sized(object) };
      }
    }
  }

  async list(artifact: Artifact, scope: ArtifactScope, signal?: AbortSignal): Promise<string[]> {
    const location = this.#locate(artifact, true);
    if (!isInStore(location)) {
      throw invalid(`Only s3 artifacts can be listed; "${artifact.name}" is ${location.type}`);
    }
    const { objects, key } = await this.#repositories.objects(location, scope);
    return await naming(artifact, objects, async () => {
      const keys: string[] = [];
      let length = 0;
      for await (const found of objects.list(key)) {
        signal?.throwIfAborted();
        keys.push(found);
        length += KEY_LENGTH + found.length;
        if (length > MAX_LIST_LENGTH) {
          throw invalid(
            `it lists keys of more than ${MAX_LIST_LENGTH} characters; name a longer one`,
          );
        }
      }
      return keys;
    });
  }

  absence(artifact: Artifact, { repositoryRef }: ArtifactScope): string {
    const isInOwn = repositoryRef === undefined && locationOf(artifact)?.type === "repository";
    return isInOwn && this.#options.isOfReplica === true ? ELSEWHERE : "";
  }

  async entries(artifact: Artifact, scope: ArtifactScope): Promise<string[]> {
    const location = this.#locate(artifact);
    if (!isInStore(location)) return [];
    const { objects, key } = await this.#repositories.objects(location, scope);
    const prefix = `${key.replace(/\/+$/, "")}/`;
    return await naming(artifact, objects, async () => {
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
    if (!isInStore(location)) {
      throw invalid(`Only s3 artifacts can be uploaded; "${artifact.name}" is ${location.type}`);
    }
    const { objects, key } = await this.#repositories.objects(location, scope);
    await naming(artifact, objects, () => objects.write(key, body));
  }

  async remove(artifact: Artifact, scope: ArtifactScope): Promise<void> {
    const location = this.#locate(artifact);
    if (!isInStore(location)) return;
    const { objects, key } = await this.#repositories.objects(location, scope);
    await naming(artifact, objects, async () => {
      await objects.remove(key);
      for await (const child of objects.list(`${key.replace(/\/+$/, "")}/`)) {
        await objects.remove(child);
      }
    });
  }

  #locate(artifact: Artifact, isWhole = false): Location {
    const location = locationOf(artifact, artifact.subPath, isWhole);
    if (location !== undefined) return location;
    throw invalid(`Artifact "${artifact.name}" has no location`);
  }
}

function sized({ size, body }: StoredObject): { size?: number; body: Readable } {
  return size > 0 ? { size, body } : { body };
}

/**
 * What a fresh key of an artifact ends with. One that is stored unpacked has the name of its file; an output that is declared
 * before it, and has that name too, would be overwritten.
 */
function ownName(artifact: Artifact, path: string, siblings: readonly Artifact[]): string {
  const name = archiveName(artifact, artifact.path ?? path);
  for (const sibling of siblings) {
    if (sibling.name === artifact.name) break;
    const isFresh = sibling.path !== undefined && locationOf(sibling) === undefined;
    if (isFresh && archiveName(sibling, sibling.path ?? "") === name) {
      return joinKey(artifact.name, name);
    }
  }
  return name;
}

/** Fills tags like `{{workflow.name}}`; unknown ones stay. */
function fillKeyFormat(format: string, names: Record<string, string>): string {
  return format.replace(/\{\{\s*([\w.-]+)\s*\}\}/g, (tag, name: string) => names[name] ?? tag);
}
