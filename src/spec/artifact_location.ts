/** Where an artifact is stored, and how complete its location is. */
import { isJsonObject, type JsonObject } from "../base/json.ts";
import type { ArtifactLocation } from "./manifest.ts";

/** Kinds of location, in order of precedence. */
export const LOCATION_KINDS = [
  "artifactory",
  "azure",
  "git",
  "gcs",
  "hdfs",
  "http",
  "oss",
  "raw",
  "s3",
  "plugin",
] as const;
export type LocationKind = typeof LOCATION_KINDS[number];

/** Members that a full location must have. */
const FULL: Record<LocationKind, readonly string[]> = {
  artifactory: ["url", "usernameSecret"],
  azure: ["endpoint", "container", "blob"],
  git: ["repo"],
  gcs: ["bucket", "key"],
  hdfs: ["addresses"],
  http: ["url"],
  oss: ["endpoint", "bucket", "key"],
  raw: [],
  s3: ["endpoint", "bucket", "key"],
  plugin: ["name", "configuration", "key"],
};

/** The member that holds the key. */
const KEY: Partial<Record<LocationKind, string>> = {
  azure: "blob",
  gcs: "key",
  hdfs: "path",
  oss: "key",
  s3: "key",
  plugin: "key",
};

/** The kind of location that is given, and its members. */
export function findLocation(
  location: ArtifactLocation,
): { kind: LocationKind; members: JsonObject } | undefined {
  for (const kind of LOCATION_KINDS) {
    const members = location[kind];
    if (members !== undefined) return { kind, members };
  }
  return undefined;
}

/** Tells whether nothing else is needed to find the artifact. */
export function hasFullLocation(location: ArtifactLocation): boolean {
  const found = findLocation(location);
  return found !== undefined && FULL[found.kind].every((member) => isGiven(found.members[member]));
}

/** The key within its bucket, or the path of its URL; empty if the kind has none. */
export function locationKey(location: ArtifactLocation): string {
  const found = findLocation(location);
  if (found === undefined) return "";
  if (found.kind === "http" || found.kind === "artifactory") return urlPath(found.members.url);
  const member = KEY[found.kind];
  const key = member === undefined ? "" : found.members[member];
  return typeof key === "string" ? key : "";
}

/** Tells whether there is at least a key; the rest may come from the artifact repository in force. */
export function hasLocationOrKey(location: ArtifactLocation): boolean {
  return hasFullLocation(location) || locationKey(location) !== "";
}

/** What each kind of store calls the key, and what else a complete location needs. */
/** The member of a location that holds its key. */
export const KEY_MEMBERS = {
  s3: "key",
  gcs: "key",
  oss: "key",
  azure: "blob",
  hdfs: "path",
} as const;

/** What a location needs besides, to be complete. */
const NEEDS: Readonly<Record<keyof typeof KEY_MEMBERS, readonly string[]>> = {
  s3: ["endpoint", "bucket"],
  gcs: ["bucket"],
  oss: ["endpoint", "bucket"],
  azure: ["endpoint", "container"],
  hdfs: ["addresses"],
};

/** A location with a key. */
export interface KeyedLocation {
  kind: keyof typeof KEY_MEMBERS;
  key: string;
  members: JsonObject;
  /** The location is complete; otherwise the key is in the repository in force. */
  isFull: boolean;
}

/**
 * The first location of an artifact that has a key; undefined when there is none.
 * @param isWhole one without a key counts too, with the empty key: all of its bucket
 */
export function keyedLocation(
  location: ArtifactLocation,
  isWhole = false,
): KeyedLocation | undefined {
  for (const kind of Object.keys(KEY_MEMBERS) as (keyof typeof KEY_MEMBERS)[]) {
    const members = location[kind];
    if (!isJsonObject(members)) continue;
    const given = members[KEY_MEMBERS[kind]];
    const key = typeof given === "string" ? given : "";
    if (key === "" && !isWhole) continue;
    const isFull = NEEDS[kind].every((member) => isGiven(members[member]));
    return { kind, key, members, isFull };
  }
  return undefined;
}

function isGiven(value: unknown): boolean {
  if (Array.isArray(value)) return value.length > 0;
  return isJsonObject(value) || (typeof value === "string" && value !== "");
}

function urlPath(url: unknown): string {
  if (typeof url !== "string") return "";
  const path = /^(?:[a-z][a-z0-9+.-]*:)?(?:\/\/[^/?#]*)?([^?#]*)/i.exec(url)?.[1];
  return path ?? "";
}
