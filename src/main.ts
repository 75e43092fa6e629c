/** The server: reads the configuration, listens, starts, and stops in order. The parts are joined in `wiring`. */
import process from "node:process";
import { errorText } from "./base/error_text.ts";
import { Problem } from "./base/problem.ts";
import { ARGO_UI_BASE, checkArgoUi } from "./http/argo_ui.ts";
import { type Config, ConfigError, describeConfig, parseConfig } from "./platform/config.ts";
import { ListenError } from "./platform/listen_error.ts";
import { createLogger, flushLog, type Logger } from "./platform/log.ts";
import { strangeVariables } from "./platform/strange_variables.ts";
import { stopSignal } from "./platform/process/stop_signal.ts";
import { type Seat, takeSeat } from "./processes/seat.ts";
import { processCount, startProcesses } from "./processes/start.ts";
import { type Running, startRunning } from "./wiring/running.ts";

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
    return refuse(cause);
  }
  const seat = takeSeat(env);
  const root = createLogger(config.logLevel);
  const log = seat === undefined ? root : root.child({ process: seat.number });
  // Lines that are still kept are written even when the process ends out of order.
  process.on("exit", () => void flushLog(log));
  const variables = seat === undefined ? strangeVariables(env) : [];
  if (variables.length > 0) log.warn({ variables }, "no settings have these names");
  try {
    const isParent = seat === undefined && processCount(config) > 1;
    return await (isParent ? startProcesses(config, log) : run(config, log, seat));
  } catch (cause) {
    // Unhandled rejections are only logged, so that a defect ends no server: the process would end with status 0.
    log.fatal({ err: cause }, "ended by a defect");
    return 1;
  } finally {
    seat?.leave();
    await flushLog(log);
  }
}

/** Says what is wrong with the settings. @returns the exit status */
function refuse({ problems }: ConfigError): number {
  for (const problem of problems) process.stderr.write(`sluice: ${problem}\n`);
  return 2;
}

async function run(config: Config, log: Logger, seat: Seat | undefined): Promise<number> {
  const stop = AbortSignal.any([stopSignal(log), ...(seat === undefined ? [] : [seat.left])]);
  let running: Running;
  try {
    running = await startRunning(config, log, { stop, seat });
  } catch (cause) {
    if (cause instanceof ListenError) {
      process.stderr.write(
        `sluice: ${cause.message}: ${
          errorText(cause.cause)
        }; --port and --host choose another address\n`,
      );
      return 1;
    }
    if (cause instanceof ConfigError) return refuse(cause);
    if (stop.aborted) return 0;
    // What is said to people needs no stack; a defect does.
    log.fatal(
      cause instanceof Problem ? { reason: cause.message } : { err: cause },
      "cannot start",
    );
    return 1;
  }
  if (config.argoUiDir !== "") {
    log.info(`pages of Argo Workflows on ${running.url}${ARGO_UI_BASE}`);
  }
  await new Promise<void>((resolve) => {
    if (stop.aborted) resolve();
    else stop.addEventListener("abort", () => resolve());
  });
  await running.close();
  return 0;
}

if (import.meta.main) process.exit(await runServer(process.argv.slice(2), process.env));
