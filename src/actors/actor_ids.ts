/** Names of actors and where they live. The text forms are stored: they never change. */
import type { ActorId } from "../store/port.ts";

/** The one actor that keeps all mutexes and semaphores. */
export const LOCKS_ACTOR: ActorId = "locks";

/** The actor of the workflow with this name. */
export function workflowActorId(namespace: string, name: string): ActorId {
  return `wf/${namespace}/${name}`;
}

/**
 * The actor that keeps a workflow in the archive after it was deleted. Its name has a character that no workflow's name
 * has.
 */
export function archivedActorId(namespace: string, name: string, uid: string): ActorId {
  return workflowActorId(namespace, archivedActorName(name, uid));
}

/** Name of such an actor within its namespace. */
export function archivedActorName(name: string, uid: string): string {
  return `${name}@${uid}`;
}

/** Tells whether an actor keeps a deleted workflow. */
export function isArchivedActor(id: ActorId): boolean {
  return id.startsWith("wf/") && id.includes("@");
}

/** Namespace and name of a workflow's actor id; undefined for other actors, also those of the archive. */
export function parseWorkflowActorId(
  id: ActorId,
): { namespace: string; name: string } | undefined {
  const [kind, namespace, name] = id.split("/");
  return kind === "wf" && namespace !== undefined && name !== undefined && !name.includes("@")
    ? { namespace, name }
    : undefined;
}

/** Whose work it is: the namespace of a workflow, also of an archived one; "" for all other actors. */
export function namespaceOf(id: ActorId): string {
  return id.startsWith("wf/") ? id.slice(3, id.indexOf("/", 3)) : "";
}

/** The shard an actor lives in: FNV-1a over the id, mixed, modulo the number of shards. */
export function shardOf(id: ActorId, shards: number): number {
  return mix(hashText(id)) % shards;
}

/** FNV-1a, 32 bit, over UTF-16 code units. */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index++) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  }
  return hash >>> 0;
}

/** Spreads the bits of a weak hash (the finalizer of MurmurHash3). */
export function mix(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}
