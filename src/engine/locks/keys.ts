/** Which locks a template or a workflow asks for. Semaphores come before mutexes. */
import { type ConfigMap, DATABASE_LIMITS, type Synchronization } from "../../spec/manifest.ts";
import type { LockKey } from "../effect.ts";
import { NodeFailure } from "../failure.ts";
import { findStored } from "../stored_manifests.ts";
import { workflowNamespace } from "../state.ts";
import type { Turn } from "../turn.ts";

/** Tells whether a synchronization names a lock. One may be empty, also because members that no version knows are left out. */
export function namesLocks(
  synchronization: Synchronization | undefined,
): synchronization is Synchronization {
  const { semaphores = [], mutexes = [] } = synchronization ?? {};
  return semaphores.length + mutexes.length > 0;
}

/**
 * The locks of a synchronization; empty when there is none.
 * @throws {NodeFailure} when the size of a semaphore is not found, a lock has no name, or a lock is named twice
 */
export function lockKeys(turn: Turn, synchronization: Synchronization | undefined): LockKey[] {
  const keys: LockKey[] = [];
  if (synchronization === undefined) return keys;
  for (const { configMapKeyRef, namespace, database } of synchronization.semaphores ?? []) {
    const place = namespace ?? workflowNamespace(turn.state);
    if (database?.key !== undefined) {
      const key = `${place}/Database/${database.key}`;
      const limit = semaphoreSize(turn, place, DATABASE_LIMITS, database.key, key);
      keys.push({ kind: "semaphore", key, limit });
      continue;
    }
    if (configMapKeyRef === undefined) {
      throw new NodeFailure(
        "requested configuration is invalid: cannot get LockName for a Semaphore without a ConfigMapRef or Database",
      );
    }
    const { name = "", key: member } = configMapKeyRef;
    const key = `${place}/ConfigMap/${name}/${member}`;
    keys.push({ kind: "semaphore", key, limit: semaphoreSize(turn, place, name, member, key) });
  }
  for (const { name = "", namespace, database } of synchronization.mutexes ?? []) {
    // A tag may have left nothing. All such mutexes would be one, which nobody wants.
    if (name === "") {
      throw new NodeFailure("requested configuration is invalid: a mutex without a name");
    }
    const place = namespace ?? workflowNamespace(turn.state);
    keys.push({
      kind: "mutex",
      key: `${place}/${database === true ? "Database" : "Mutex"}/${name}`,
      limit: 1,
    });
  }
  const seen = new Set<string>();
  for (const { key } of keys) {
    if (seen.has(key)) {
      throw new NodeFailure(
        "requested configuration is invalid: duplicate synchronization item found",
      );
    }
    seen.add(key);
  }
  return keys;
}

function semaphoreSize(
  turn: Turn,
  namespace: string,
  name: string,
  key: string,
  lock: string,
): number {
  const map = findStored<ConfigMap>(turn, "ConfigMap", namespace, name);
  const text = map?.data?.[key];
  if (text === undefined || !/^\s*\d+\s*$/.test(text)) {
    throw new NodeFailure(
      `Failed to get semaphore limit for ${lock}`,
    );
  }
  return Number(text);
}
