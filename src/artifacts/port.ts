/**
 * The artifact port: files and folders that tasks take in and leave behind. Locations are those of manifests. A location
 * that has only a key (`s3: {key}` and its likes) lies in the repository in force; in the deployment's own, only below the
 * namespace.
 */
import type { Readable } from "node:stream";
import type { Place } from "../platform/inside.ts";
import type { Artifact, ArtifactLocation } from "../spec/manifest.ts";

/** Whose artifact it is: decides the repository in force and whose secrets are read. */
export interface ArtifactScope {
  namespace: string;
  /** `spec.artifactRepositoryRef`. */
  repositoryRef?: { configMap?: string; key?: string };
  /** `archiveLocation` of the template: where its outputs go instead of the repository. */
  archiveLocation?: ArtifactLocation;
  /** Keys that don't begin with the namespace and are the workflow's all the same: see `formerKeys` of the engine. */
  formerKeys?: readonly string[];
  /** What a repository's key format may name: `workflow.name`, `pod.name` … */
  names?: Record<string, string>;
}

/** One file of an artifact, as it is stored. */
export interface ArtifactContent {
  /** File name for a download, with the archive's ending. */
  name: string;
  /** Bytes, when known. */
  size?: number;
  body: Readable;
}

export interface ArtifactStore {
  /**
   * Says whether a workflow may have an artifact that names its place, before anything is done for it.
   *
   * @throws {Problem} PermissionDenied when its key is another namespace's
   */
  check(artifact: Artifact, scope: ArtifactScope): Promise<void>;
  /**
   * Brings an artifact to `path`: fetched, unpacked, made executable or whatever `mode` says.
   *
   * @param path Absolute, in a folder that only the server writes to.
   * @returns False when nothing is stored there.
   * @throws {Problem} when it can't be read, or its kind of location isn't known.
   */
  fetch(artifact: Artifact, path: string, scope: ArtifactScope): Promise<boolean>;
  /**
   * Packs and stores a file or folder. Repeating it overwrites.
   *
   * @param source A path that is trusted but for its end, or a place: links are packed as links, never followed.
   * @param prefix Key prefix for artifacts that don't say where they go.
   * @returns The artifact with its location, only the key for one in the repository.
   */
  save(
    artifact: Artifact,
    source: string | Place,
    prefix: string,
    scope: ArtifactScope,
  ): Promise<Artifact>;
  /** The stored bytes, for a download. Undefined when nothing is stored there. */
  open(artifact: Artifact, scope: ArtifactScope): Promise<ArtifactContent | undefined>;
  /** Stores bytes as they are, at the artifact's key: a file that somebody uploads. All of them, or nothing. */
  write(artifact: Artifact, body: Readable, scope: ArtifactScope): Promise<void>;
  /** Keys below the artifact's key, sorted. */
  list(artifact: Artifact, scope: ArtifactScope): Promise<string[]>;
  /**
   * What lies directly in an artifact that was stored as a folder, sorted, folders with a slash at the end; none when it
   * is no folder, or what it lies in knows no folders.
   */
  entries(artifact: Artifact, scope: ArtifactScope): Promise<string[]>;
  /** Removes what is stored, a folder with all in it. Nothing there is fine. */
  remove(artifact: Artifact, scope: ArtifactScope): Promise<void>;
}
