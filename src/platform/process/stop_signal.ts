/** How the process is told to end. */
import process from "node:process";
import type { Logger } from "../log.ts";

/** Aborts at the first SIGTERM or SIGINT; the second one ends the process at once. */
export function stopSignal(log: Logger): AbortSignal {
  const stop = new AbortController();
  const onSignal = (signal: string) => {
    if (stop.signal.aborted) process.exit(130);
    log.info({ signal }, "stopping");
    stop.abort();
  };
  process.on("SIGTERM", onSignal);
  process.on("SIGINT", onSignal);
  process.on("unhandledRejection", (cause) => log.error({ err: cause }, "unhandled rejection"));
  process.on("uncaughtException", (cause) => log.error({ err: cause }, "uncaught exception"));
  return stop.signal;
}
