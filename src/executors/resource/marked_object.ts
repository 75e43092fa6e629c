/**
 * Pure: what is written on an object that a resource template makes, so that it is found again when the answer of the API
 * server got lost, and not made twice.
 */
import { createHash } from "node:crypto";
import { isJsonObject } from "../../base/json.ts";
import type { Json, JsonObject } from "../../base/json.ts";
import { TASK_ANNOTATION } from "../kubernetes/pod_marks.ts";

/** As Kubernetes makes them: no vowels, and no digits that look like letters. */
const ALPHABET = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
const MAX_NAME_LENGTH = 63;

/**
 * The object with the id of its task. Where the cluster is to choose its name, that is chosen here, by the task: the `nth` of
 * several, since one may be taken.
 */
export function markedObject(manifest: Json, taskId: string, nth: number): Json {
  if (!isJsonObject(manifest)) return manifest;
  const metadata = metadataOf(manifest);
  const { name = "", generateName = "", annotations = {} } = metadata;
  const isNamed = name !== "" || typeof generateName !== "string" || generateName === "";
  return {
    ...manifest,
    metadata: {
      ...metadata,
      ...(!isNamed && { name: generatedName(generateName, `${taskId}/${nth}`) }),
      // Others the API server refuses.
      ...((isJsonObject(annotations) || annotations === null) && {
        annotations: { ...annotations, [TASK_ANNOTATION]: taskId },
      }),
    },
  };
}

/** True for an object that was made for this task. */
export function isMarkedFor(object: Json, taskId: string): boolean {
  const { annotations } = metadataOf(object);
  return isJsonObject(annotations) && annotations[TASK_ANNOTATION] === taskId;
}

/** The name in the metadata; "" when there is none. */
export function nameOf(object: Json): string {
  return String(metadataOf(object)["name"] ?? "");
}

/** True for an object that says which version, or which object, it is to take the place of. */
export function namesVersion(object: Json | undefined): boolean {
  const { resourceVersion, uid } = metadataOf(object ?? null);
  return resourceVersion !== undefined || uid !== undefined;
}

/** The object as the next version of another. */
export function withVersionOf(other: JsonObject, object: Json): Json {
  if (!isJsonObject(object)) return object;
  const { resourceVersion = "" } = metadataOf(other);
  return { ...object, metadata: { ...metadataOf(object), resourceVersion } };
}

function metadataOf(object: Json): JsonObject {
  const metadata = isJsonObject(object) ? object["metadata"] : undefined;
  return isJsonObject(metadata) ? metadata : {};
}

function generatedName(prefix: string, seed: string): string {
  const digest = createHash("sha256").update(seed).digest().subarray(0, SUFFIX_LENGTH);
  const suffix = [...digest].map((byte) => ALPHABET[byte % ALPHABET.length]).join("");
  return prefix.slice(0, MAX_NAME_LENGTH - SUFFIX_LENGTH) + suffix;
}
