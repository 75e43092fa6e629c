/** One store of each sort for a process, opened when it is first asked for. */
import { memoryRawStore } from "./memory_records.ts";
import type { RawStore } from "./raw_store.ts";
import { redisRawStore } from "./redis_records.ts";
import { sqliteRawStore } from "./sqlite_records.ts";

export type Backend = "memory" | "sqlite" | "redis";
export const BACKENDS: readonly Backend[] = ["memory", "sqlite", "redis"];

const stores = new Map<Backend, RawStore>();

/** The process's store of a sort. */
export async function rawStoreOf(backend: Backend): Promise<RawStore> {
  const known = stores.get(backend);
  if (known !== undefined) return known;
  const made = backend === "memory"
    ? memoryRawStore()
    : backend === "sqlite"
    ? sqliteRawStore()
    : await redisRawStore();
  stores.set(backend, made);
  return made;
}
