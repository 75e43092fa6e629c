/** Opens the store that the configuration names. */
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { type Logger, maskUrl } from "../platform/log.ts";
import { openMemoryStore } from "./memory_store.ts";
import type { Store } from "./port.ts";
import { openRedisStore } from "./redis_store.ts";
import { openSqliteStore } from "./sqlite_store.ts";

type StoreSetting = Pick<Config, "store" | "durability">;

/** Opens the store; one that others run is waited for. @throws {unknown} why a local one can't be opened, or `stop` came */
export async function reachStore(
  setting: StoreSetting,
  log: Logger,
  stop: AbortSignal,
): Promise<Store> {
  for (let attempt = 0;; attempt++) {
    try {
      return await openStore(setting, log);
    } catch (cause) {
      if (!setting.store.startsWith("redis") || stop.aborted) throw cause;
      log.warn({ err: cause, store: maskUrl(setting.store) }, "the store cannot be reached");
      await systemClock.sleep(Math.min(5_000, 200 * 2 ** attempt), stop);
    }
  }
}

function openStore({ store, durability }: StoreSetting, log: Logger): Promise<Store> {
  if (store === "memory:") return Promise.resolve(openMemoryStore());
  if (store.startsWith("sqlite:")) {
    const synchronous = durability === "always" ? "FULL" : "NORMAL";
    return openSqliteStore({ folder: store.slice("sqlite:".length), synchronous });
  }
  return openRedisStore({ url: store, onTrouble: (text) => log.warn({ trouble: text }, "redis") });
}
