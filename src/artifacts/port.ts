/**
 * The artifact port: files and folders that tasks take in and leave behind. Locations are those of manifests. A location
 * with only a key (like `s3: {key}`) is in the repository in force. In the deployment's own repository it must be below the
 * workflow's namespace.
 */
import type { Readable } from "node:stream";
import type { Place } from "../platform/files/place.ts";
import type { Artifact, ArtifactLocation } from "../spec/manifest.ts";

/** Whose artifact it is. This decides which repository is in force and whose Secrets are read. */
export interface ArtifactScope {
  namespace: string;
  /** `spec.artifactRepositoryRef`. */
  repositoryRef?: { configMap?: string; key?: string };
  /** `archiveLocation` of the template: where its outputs go instead of the repository. */
  archiveLocation?: ArtifactLocation;
  /** The outputs that the template declares: where one of them is saved, each gets a key of its own. */
  siblings?: readonly Artifact[];
  /** Keys of the workflow that do not begin with its namespace, see `formerKeys` of the engine. */
  formerKeys?: readonly string[];
  /** Values of the tags in a repository's key format: `workflow.name`, `pod.name` … */
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
   * Checks that a workflow may use the location of an artifact, before anything is done for it.
   *
   * @throws {Problem} PermissionDenied when its key belongs to another namespace
   */
  check(artifact: Artifact, scope: ArtifactScope): Promise<void>;
  /**
   * Brings an artifact to `path`: unpacks it, and sets its mode.
   *
   * @param path absolute, in a folder that only the server writes to
   * @param signal ends a wait for other transfers, and the transfer
   * @returns false when nothing is stored there
   * @throws {Problem} when it can't be read, or its kind of location isn't supported
   */
  fetch(
    artifact: Artifact,
    path: string,
    scope: ArtifactScope,
    signal?: AbortSignal,
  ): Promise<boolean>;
  /**
   * Packs and stores a file or folder. A repeat overwrites it.
   *
   * @param source a place, or a path that is trusted except for its last name. Links are packed as links, never followed
   * @param prefix what the key begins with when the artifact has no location
   * @param signal ends a wait for other transfers, and the transfer
   * @returns the artifact with its location; only the key when it is in the repository
   */
  save(
    artifact: Artifact,
    source: string | Place,
    prefix: string,
    scope: ArtifactScope,
    signal?: AbortSignal,
  ): Promise<Artifact>;
  /** The stored bytes, for a download. Undefined when nothing is stored there. */
  open(artifact: Artifact, scope: ArtifactScope): Promise<ArtifactContent | undefined>;
  /** Stores an uploaded file at the artifact's key: all of it, or nothing. */
  write(artifact: Artifact, body: Readable, scope: ArtifactScope): Promise<void>;
  /**
   * Keys below the artifact's key, sorted; without a key all of its bucket, or what the namespace has in the repository.
   * @param signal ends it: a list may be very long, and its server slow
   */
  list(artifact: Artifact, scope: ArtifactScope, signal?: AbortSignal): Promise<string[]>;
  /**
   * Names directly in an artifact that was stored as a folder, sorted; those of folders end with a slash. None when it is
   * no folder, or its location has no folders.
   */
  entries(artifact: Artifact, scope: ArtifactScope): Promise<string[]>;
  /**
   * Why an artifact that was stored may be missing here, to be put behind the words that it is missing; "" when there is no
   * other reason than that somebody removed it.
   */
  absence(artifact: Artifact, scope: ArtifactScope): string;
  /** Removes what is stored, a folder with all that is in it. It may be missing. */
  remove(artifact: Artifact, scope: ArtifactScope): Promise<void>;
}
