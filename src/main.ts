/** The server: reads the configuration, listens, starts, and stops in order. The parts are joined in `wiring`. */
import process from "node:process";
import { errorText } from "./base/error_text.ts";
import { ARGO_UI_BASE, checkArgoUi } from "./http/argo_ui.ts";
import { starting } from "./http/starting.ts";
import {
  type Config,
  ConfigError,
  describeConfig,
  isLoopback,
  parseConfig,
} from "./platform/config.ts";
import { createLogger, flushLog, type Logger, maskUrl } from "./platform/log.ts";
import { type FetchHandler, serve, type Server } from "./platform/serve.ts";
import { stopSignal } from "./platform/stop_signal.ts";
import { type Seat, takeSeat } from "./processes/seat.ts";
import { processCount, startProcesses } from "./processes/start.ts";
import { shutDown } from "./wiring/shut_down.ts";
import { startSystem, type System } from "./wiring/system.ts";

/** Runs a server, or the parent of several processes of it, until it is told to stop; resolves with the exit status. */
export async function runServer(
  args: string[],
  env: Record<string, string | undefined>,
): Promise<number> {
  if (args.includes("--help") || args.includes("-h")) {
    process.stdout.write(`sluice server [flags]\n\n${describeConfig()}\n`);
    return 0;
  }
  let config: Config;
  try {
    config = parseConfig(args, env);
    if (config.argoUiDir !== "") await checkArgoUi(config.argoUiDir);
  } catch (cause) {
    if (!(cause instanceof ConfigError)) throw cause;
    for (const problem of cause.problems) process.stderr.write(`sluice: ${problem}\n`);
    return 2;
  }
  const seat = takeSeat(env);
  const root = createLogger(config.logLevel);
  const log = seat === undefined ? root : root.child({ process: seat.number });
  // Lines that are still kept are written even when the process ends out of order.
  process.on("exit", () => void flushLog(log));
  try {
    const isParent = seat === undefined && processCount(config) > 1;
    return await (isParent ? startProcesses(config, log) : run(config, log, seat));
  } finally {
    seat?.leave();
    await flushLog(log);
  }
}

async function run(config: Config, log: Logger, seat: Seat | undefined): Promise<number> {
  const stop = AbortSignal.any([stopSignal(log), ...(seat === undefined ? [] : [seat.left])]);
  let handler: FetchHandler = starting;
  const listen = () => startListening((request, info) => handler(request, info), config, log, seat);
  // While the others serve, nobody is sent to a process that is still starting.
  const early = seat?.isReplacement ? undefined : await listen();
  if (early === "failed") return 1;
  let system: System;
  try {
    system = await startSystem(config, log, stop, seat);
  } catch (cause) {
    await early?.close(0);
    if (stop.aborted) return 0;
    log.fatal({ err: cause }, "cannot start");
    return 1;
  }
  handler = system.handler;
  const server = early ?? await listen();
  if (server === "failed") return 1;
  seat?.ready();
  log.info({ shards: system.host.shards }, "ready");
  if (config.argoUiDir !== "") {
    log.info(`pages of Argo Workflows on http://${server.hostname}:${server.port}${ARGO_UI_BASE}`);
  }
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener("abort", () => resolve());
  });
  await shutDown(system, server, config, log);
  return 0;
}

async function startListening(
  handler: FetchHandler,
  config: Config,
  log: Logger,
  seat: Seat | undefined,
): Promise<Server | "failed"> {
  const { host, port, headerTimeout } = config;
  try {
    const headerTimeoutMs = isLoopback(host) ? undefined : headerTimeout;
    const server = await serve(handler, host, port, headerTimeoutMs, seat !== undefined);
    const shown = { store: maskUrl(config.store), artifacts: maskUrl(config.artifacts) };
    log.info({ ...config, ...shown }, "configuration");
    log.info(`listening on http://${server.hostname}:${server.port}`);
    return server;
  } catch (cause) {
    process.stderr.write(`sluice: cannot listen on ${host}:${port}: ${errorText(cause)}\n`);
    return "failed";
  }
}

if (import.meta.main) process.exit(await runServer(process.argv.slice(2), process.env));
