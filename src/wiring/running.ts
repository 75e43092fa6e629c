/** A server that listens: it begins to before its store is open, and stops in order. */
import { starting } from "../http/starting.ts";
import { type Config, isLoopback } from "../platform/config.ts";
import { ListenError } from "../platform/listen_error.ts";
import type { Logger } from "../platform/log.ts";
import { type FetchHandler, serve, type ServeOptions, type Server } from "../platform/serve.ts";
import type { Seat } from "../processes/seat.ts";
import { shownConfig } from "./shown_config.ts";
import { shutDown } from "./shut_down.ts";
import { startSystem, type System } from "./system.ts";

export interface Running {
  /** Where it listens, without a slash at the end. */
  url: string;
  /** Stops in order, within the configured time. */
  close(): Promise<void>;
}

export interface RunOptions extends Pick<ServeOptions, "isGuest"> {
  /** Gives up while it starts, for example while the store cannot be reached. */
  stop: AbortSignal;
  /** Its place among the processes of one server. */
  seat?: Seat | undefined;
}

/**
 * Starts a server; resolves when it is ready. Nothing of it is left if that fails.
 * @throws {ListenError}
 */
export async function startRunning(
  config: Config,
  log: Logger,
  { stop, seat, isGuest = false }: RunOptions,
): Promise<Running> {
  let handler: FetchHandler = starting;
  const listen = () =>
    startListening((request, info) => handler(request, info), config, log, {
      isGuest,
      sharesPort: seat !== undefined,
      onLost: (cause) => log.error({ err: cause }, "the port was lost; listening again"),
    });
  // While the others serve, nobody is sent to a process that is still starting.
  const early = seat?.isReplacement ? undefined : await listen();
  let system: System;
  try {
    const address = urlOf(early ?? { hostname: config.host, port: config.port });
    system = await startSystem(config, log, stop, { address, seat });
  } catch (cause) {
    await early?.close(0);
    throw cause;
  }
  handler = seat === undefined ? system.handler : untilReady(system.handler);
  void seat?.allReady.then(() => handler = system.handler);
  let server: Server;
  try {
    server = early ?? await listen();
  } catch (cause) {
    await shutDown(system, undefined, config, log);
    throw cause;
  }
  seat?.ready();
  log.info({ shards: system.host.shards }, "ready");
  let closed: Promise<void> | undefined;
  return {
    url: urlOf(server),
    close: () => closed ??= shutDown(system, server, config, log),
  };
}

/** Serves, but does not say that the server is ready: another process of it, at the same port, may still be starting. */
function untilReady(serving: FetchHandler): FetchHandler {
  return (request, info) =>
    new URL(request.url).pathname === "/readyz" ? starting(request) : serving(request, info);
}

async function startListening(
  handler: FetchHandler,
  config: Config,
  log: Logger,
  options: ServeOptions,
): Promise<Server> {
  const { host, port, headerTimeout } = config;
  const headerTimeoutMs = isLoopback(host) ? undefined : headerTimeout;
  let server: Server;
  try {
    server = await serve(handler, host, port, headerTimeoutMs, options);
  } catch (cause) {
    throw new ListenError(config, cause);
  }
  log.info(shownConfig(config), "configuration");
  log.info(`listening on ${urlOf(server)}`);
  return server;
}

function urlOf({ hostname, port }: Pick<Server, "hostname" | "port">): string {
  const host = hostname.includes(":") && !hostname.startsWith("[") ? `[${hostname}]` : hostname;
  return `http://${host}:${port}`;
}
