/** Reads the location of an artifact from its manifest. */
import type { JsonObject } from "../base/json.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { keyedLocation } from "../spec/artifact_location.ts";
import type { ArtifactLocation } from "../spec/manifest.ts";

export type Location =
  /** In the repository in force. */
  | { type: "repository"; key: string }
  | { type: "s3"; key: string; bucket: JsonObject }
  | { type: "http"; location: JsonObject }
  | { type: "git"; location: JsonObject }
  | { type: "raw"; data: string };

/** Tells whether a location is in a store of objects: only there artifacts are written, listed and removed. */
export function isInStore(
  location: Location,
): location is Extract<Location, { type: "repository" | "s3" }> {
  return location.type === "repository" || location.type === "s3";
}

/**
 * The location of an artifact; undefined when it names none.
 *
 * @param isWhole one without a key counts too: all of its bucket, or of the repository
 * @throws {Problem} for a kind of location that is not supported
 */
export function locationOf(
  artifact: ArtifactLocation,
  subPath = "",
  isWhole = false,
): Location | undefined {
  const { raw, http, git, artifactory, plugin } = artifact;
  if (raw !== undefined) return { type: "raw", data: raw.data };
  if (http !== undefined) return { type: "http", location: http };
  if (artifactory !== undefined) return { type: "http", location: artifactory };
  if (git !== undefined) return { type: "git", location: git };
  if (plugin !== undefined) throw unsupported("plugin");
  const found = keyedLocation(artifact, isWhole);
  if (found === undefined) return undefined;
  const key = joinKey(found.key, subPath);
  if (!found.isFull) return { type: "repository", key };
  if (found.kind !== "s3") throw unsupported(found.kind);
  return { type: "s3", key, bucket: found.members };
}

/** The key of a path below a key. */
export function joinKey(key: string, subPath: string): string {
  const below = subPath.replace(/^\/+|\/+$/g, "");
  return below === "" ? key : `${key.replace(/\/+$/, "")}/${below}`;
}

function unsupported(kind: string): Problem {
  return new Problem(
    ProblemCode.Unimplemented,
    `Artifacts in ${kind} are not supported; use s3 (many stores speak it), http, git, raw or a key in the server's repository`,
  );
}

/** A required text of a location. */
export function textMember(location: JsonObject, name: string): string {
  const value = location[name];
  if (typeof value === "string" && value !== "") return value;
  throw invalid(`Artifact location has no ${name}`);
}
