/** Opens the store that the configuration names. */
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import { type Logger, maskUrl } from "../platform/log.ts";
import { Seldom } from "../platform/seldom.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import { openMemoryStore } from "./memory_store.ts";
import type { Store } from "./port.ts";
import { openRedisStore } from "./redis_store.ts";
import { openSqliteStore } from "./sqlite_store.ts";

type StoreSetting = Pick<Config, "store" | "durability" | "labelPrefix">;

/**
 * Opens the store; one that others run is waited for, longer from one attempt to the next.
 * @throws {unknown} why a local one can't be opened, or `stop` came
 */
export async function reachStore(
  setting: StoreSetting,
  log: Logger,
  stop: AbortSignal,
  onUnreadable: ReportUnreadable,
): Promise<Store> {
  const store = maskUrl(setting.store);
  const seldom = new Seldom(systemClock);
  for (let attempt = 0;; attempt++) {
    // What is heard before it is open is part of the reason why it can't be reached, or is told when it could.
    let early: string[] | undefined = [];
    const warn = (text: string) => {
      if (seldom.ask(`redis: ${text}`) !== undefined) log.warn({ trouble: text }, "redis");
    };
    const onTrouble = (text: string) => void (early === undefined ? warn(text) : early.push(text));
    try {
      const opened = await openStore(setting, onTrouble, onUnreadable);
      const heard = early;
      early = undefined;
      heard.forEach(warn);
      return opened;
    } catch (cause) {
      if (!setting.store.startsWith("redis") || stop.aborted) throw cause;
      const reason = cause instanceof Error ? cause.message : String(cause);
      if (seldom.ask(reason) !== undefined) {
        log.warn({ store, reason }, "the store cannot be reached; trying again until it can");
      }
      await systemClock.sleep(Math.min(5_000, 200 * 2 ** attempt), stop);
    }
  }
}

function openStore(
  { store, durability, labelPrefix }: StoreSetting,
  onTrouble: (text: string) => void,
  onUnreadable: ReportUnreadable,
): Promise<Store> {
  if (store === "memory:") return Promise.resolve(openMemoryStore());
  if (store.startsWith("sqlite:")) {
    const synchronous = durability === "always" ? "FULL" : "NORMAL";
    const folder = store.slice("sqlite:".length);
    return openSqliteStore({ folder, synchronous, labelPrefix, onUnreadable });
  }
  return openRedisStore({ url: store, labelPrefix, onTrouble, onUnreadable });
}
