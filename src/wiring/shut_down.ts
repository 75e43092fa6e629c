/** Stops a server in order. */
import { endsWithin, systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import type { Server } from "../platform/serve.ts";
import type { System } from "./system.ts";

/** Share of the time for stopping that running requests may take; the rest is for handing over. */
const REQUESTS_SHARE = 0.5;
/** Longest wait for executors and store to let go, ms. */
const CLOSE_MS = 2_000;

/** Takes no more requests (`server` is absent where it took none), finishes what was begun, gives the shards to others; gives up on what takes too long. */
export async function shutDown(
  system: System,
  server: Server | undefined,
  { drainTimeout }: Config,
  log: Logger,
): Promise<void> {
  log.info("stopping");
  system.closing.abort();
  const deadline = systemClock.monotonic() + drainTimeout;
  const inTime = (step: Promise<unknown>) =>
    endsWithin(systemClock, deadline - systemClock.monotonic(), step);
  await server?.close(drainTimeout * REQUESTS_SHARE);
  await inTime(
    Promise.all([system.events.stop(), system.cron.stop(), system.clusterSource?.stop()]),
  );
  const isHandedOver = await inTime(system.host.drain());
  if (!isHandedOver) {
    log.warn("the store does not answer: others take over when the leases have run out");
    system.host.halt();
  }
  system.service.watches.close();
  system.service.checks?.close();
  await endsWithin(
    systemClock,
    CLOSE_MS,
    Promise.all([system.executor.close(), system.store.close(), system.archive?.close()]),
  );
  log.info("stopped");
}
