/** Opens the store that the configuration names. */
import { errorText } from "../base/error_text.ts";
import { maskUrl } from "../base/masked_url.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import { Seldom } from "../platform/seldom.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import { openMemoryStore } from "./memory/store.ts";
import type { Store } from "./port.ts";
import { openSqliteStore } from "./sqlite/store.ts";

type StoreSetting = Pick<
  Config,
  "store" | "shards" | "durability" | "labelPrefix" | "redisWait" | "redisWaitTimeout"
>;

/**
 * Opens the store. If it is a server, this waits until it can be reached, and takes the first write of a new store, a little
 * longer after each attempt.
 * @throws {unknown} why a local store can't be opened, or what a server says that never fits; or anything, once `stop` has aborted
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
    // Trouble before the store is open is part of the reason why it can't be reached, or is logged once it can.
    let early: string[] | undefined = [];
    const warn = (text: string) => {
      if (seldom.ask(`redis: ${text}`) !== undefined) log.warn({ trouble: text }, "redis");
    };
    const onTrouble = (text: string) => void (early === undefined ? warn(text) : early.push(text));
    try {
      const opened = await openStore(setting, onTrouble, onUnreadable);
      await makeNew(opened, setting);
      const heard = early;
      early = undefined;
      heard.forEach(warn);
      return opened;
    } catch (cause) {
      if (!setting.store.startsWith("redis") || stop.aborted || isForGood(cause)) throw cause;
      const reason = errorText(cause);
      if (seldom.ask(reason) !== undefined) {
        log.warn({ store, reason }, "the store cannot be reached; trying again until it can");
      }
      await systemClock.sleep(Math.min(5_000, 200 * 2 ** attempt), stop);
    }
  }
}

/** Makes a new store where there is none, so that nothing of the start depends on whether it can be written. */
async function makeNew(opened: Store, { shards }: StoreSetting): Promise<void> {
  try {
    await opened.membership.shardCount(shards);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** Whether the store was reached, and waiting makes it no other: too old, or not what its address says. */
function isForGood(cause: unknown): boolean {
  return cause instanceof Problem && cause.code === ProblemCode.FailedPrecondition;
}

/** The client of Redis takes a third of the start, and is loaded only where Redis is the store. */
async function openStore(
  { store, durability, labelPrefix, redisWait, redisWaitTimeout }: StoreSetting,
  onTrouble: (text: string) => void,
  onUnreadable: ReportUnreadable,
): Promise<Store> {
  if (store === "memory:") return openMemoryStore();
  if (store.startsWith("sqlite:")) {
    const folder = store.slice("sqlite:".length);
    return openSqliteStore({ folder, durability, labelPrefix, onUnreadable });
  }
  const wait = redisWait > 0 ? { replicas: redisWait, timeoutMs: redisWaitTimeout } : undefined;
  const { openRedisStore } = await import("./redis/store.ts");
  return openRedisStore({ url: store, labelPrefix, wait, onTrouble, onUnreadable });
}
