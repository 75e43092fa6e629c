/**
 * The whole service inside a program of your own, on Node and Deno: for tests, and for programs that need no server beside them.
 *
 * @example
 * ```ts
 * import { createClient } from "sluice";
 * import { startServer } from "sluice/server";
 *
 * const server = await startServer({ port: 0, store: "memory:" });
 * const client = createClient({ server: server.url });
 * await client.call("WorkflowService_ListWorkflows", { params: { namespace: "default" } });
 * await server.close();
 * ```
 *
 * @module
 */
import { checkArgoUi } from "./http/argo_ui.ts";
import {
  type Config,
  CONFIG_TABLE,
  ConfigError,
  flagText,
  parseConfig,
} from "./platform/config.ts";
import { ListenError } from "./platform/listen_error.ts";
import { createLogger, flushLog } from "./platform/log.ts";
import { startRunning } from "./wiring/running.ts";

export { ConfigError, ListenError };

/** Settings of a server in a process of its own only: several processes are started from a command line. */
type OwnProcess = "processes" | "processCommand";

/**
 * The flags of `sluice server`, by their names in camel case, with the same defaults and checks. Times are milliseconds.
 * Variables of the environment are not read. `logLevel` is `warn` unless given.
 */
export type ServerOptions =
  & { [Name in Exclude<keyof Config, OwnProcess>]?: Config[Name] | undefined }
  & {
    /** Gives up the start, for example while the store cannot be reached. It does not stop a server that is running. */
    signal?: AbortSignal | undefined;
  };

/** A server that is ready. */
export interface RunningServer {
  /** Its address without a slash at the end, also when port 0 was asked for. */
  readonly url: string;
  /** Stops in order: running requests end, others take over; at the latest after `drainTimeout`. May be called again. */
  close(): Promise<void>;
}

/**
 * Starts a server in this process and resolves when it is ready. It adds no handlers of signals or errors, and replaces no
 * globals. Several may run side by side, on ports and stores of their own.
 *
 * @throws {ConfigError} an option is wrong
 * @throws {ListenError} the address cannot be had
 */
export async function startServer(options: ServerOptions = {}): Promise<RunningServer> {
  const { signal, ...settings } = options;
  const config = parseConfig(flagsOf({ logLevel: "warn", ...settings }), {});
  if (config.argoUiDir !== "") await checkArgoUi(config.argoUiDir);
  const log = createLogger(config.logLevel);
  try {
    const stop = signal ?? new AbortController().signal;
    const { url, close } = await startRunning(config, log, { stop, isGuest: true });
    return { url, close: () => close().finally(() => flushLog(log)) };
  } catch (cause) {
    await flushLog(log);
    signal?.throwIfAborted();
    throw cause;
  }
}

/** The settings as on a command line, so that they are checked as there. @throws {ConfigError} */
function flagsOf(settings: Record<string, unknown>): string[] {
  return Object.entries(settings).flatMap(([name, value]) => {
    if (value === undefined) return [];
    if (!(name in CONFIG_TABLE) || name === "processes" || name === "processCommand") {
      throw new ConfigError([`Unknown option "${name}"`]);
    }
    return [flagText(name as keyof Config, value)];
  });
}
