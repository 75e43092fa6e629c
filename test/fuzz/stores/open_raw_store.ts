/** One store of each sort for a process, opened when it is first asked for. */
import { memoryRawStore } from "./memory_records.ts";
import type { RawStore } from "./raw_store.ts";
import { redisRawStore } from "./redis_records.ts";
import { sqliteRawStore } from "./sqlite_records.ts";

export type Backend = "memory" | "sqlite" | "redis";
export const BACKENDS: readonly Backend[] = ["memory", "sqlite", "redis"];

const stores = new Map<Backend, RawStore>();

/** Uses the process's store of a sort. After a failure the next one is a new one, so that nothing is found twice. */
export async function withRawStore<T>(
  backend: Backend,
  use: (raw: RawStore) => Promise<T>,
): Promise<T> {
  const raw = stores.get(backend) ?? await open(backend);
  stores.set(backend, raw);
  try {
    return await use(raw);
  } catch (error) {
    stores.delete(backend);
    await raw.leave?.();
    throw error;
  }
}

async function open(backend: Backend): Promise<RawStore> {
  switch (backend) {
    case "memory":
      return memoryRawStore();
    case "sqlite":
      return sqliteRawStore();
    case "redis":
      return await redisRawStore();
  }
}
