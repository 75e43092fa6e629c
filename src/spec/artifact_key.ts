/**
 * Keys of artifacts in the deployment's repository, which all namespaces share. A key begins with the namespace to
 * which it belongs; files that callers upload are below `uploads/NAMESPACE/UUID/`.
 */
import { keyedLocation } from "./artifact_location.ts";
import type { ArtifactLocation } from "./manifest.ts";

/** `namespace`: only keys of the workflow's own namespace. `shared`: every key, as it was before keys had owners. */
export type ArtifactKeys = "namespace" | "shared";

const UPLOADS = "uploads";
const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Key of an uploaded file. */
export function uploadKey(namespace: string, id: string, fileName: string): string {
  return `${UPLOADS}/${namespace}/${id}/${fileName}`;
}

/** The namespace of an uploaded file; undefined if no uploaded file can have this key. */
export function uploadOwner(key: string): string | undefined {
  const [folder, owner, id = "", file = ""] = key.split("/");
  const isUpload = folder === UPLOADS && UUID.test(id) && file !== "" && isPath(key);
  return isUpload ? owner : undefined;
}

/** True for a key that is a plain path: no empty segments except at the end, no `.` or `..`, no control characters. */
export function isPath(key: string): boolean {
  return key !== "" && !/\p{Cc}/u.test(key) && key.isWellFormed() &&
    key.replace(/\/$/, "").split("/").every((part) => part !== "" && part !== "." && part !== "..");
}

/** True when an object with this key belongs to the namespace. */
export function isKeyOf(namespace: string, key: string): boolean {
  if (!isPath(key)) return false;
  const owner = uploadOwner(key) ?? key.slice(0, Math.max(0, key.indexOf("/")));
  return owner === namespace && namespace !== "";
}

/** What the keys of a namespace begin with, sorted. */
export function ownPrefixes(namespace: string): string[] {
  // The first one holds the other one, too.
  if (namespace === UPLOADS) return [`${UPLOADS}/`];
  return [`${namespace}/`, `${UPLOADS}/${namespace}/`].sort();
}

/** True when keys with this prefix may be listed for the namespace; some of them may belong to others. */
export function isPrefixOf(namespace: string, prefix: string): boolean {
  return namespace !== "" && isPath(prefix) &&
    (prefix.startsWith(`${namespace}/`) || prefix.startsWith(`${UPLOADS}/${namespace}/`));
}

/** The key of an artifact that is in the repository in force, but outside the part of its namespace. */
export function foreignKey(artifact: ArtifactLocation, namespace: string): string | undefined {
  const found = keyedLocation(artifact);
  return found === undefined || found.isFull || isKeyOf(namespace, found.key)
    ? undefined
    : found.key;
}

/** Why a namespace may not use a key, and what to do about it. */
export function foreignKeyText(namespace: string, key: string): string {
  return isPath(key)
    ? `key "${key}" does not begin with "${namespace}/", as the artifacts of this namespace do: use such a key, or a full ` +
      "location of your own; the server's setting --artifact-keys shared allows every key"
    : `key "${key}" is not a path: it has empty segments, "." or "..", or control characters`;
}
