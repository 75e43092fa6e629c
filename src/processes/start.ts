/** From the setting `--processes` to processes that run, or a message that says why they can't. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { errorText } from "../base/error_text.ts";
import { systemClock } from "../platform/clock.ts";
import type { Config } from "../platform/config.ts";
import type { Logger } from "../platform/log.ts";
import { stopSignal } from "../platform/process/stop_signal.ts";
import { runProcesses } from "./parent.ts";

/** Longest path of a socket on Linux. */
const MAX_SOCKET_BYTES = 107;

/** How many processes `--processes` asks for. */
export function processCount({ processes }: Pick<Config, "processes">): number {
  return processes === "auto" ? availableParallelism() : Number(processes);
}

/** Runs this program in several processes until they are told to stop; resolves with the exit status. */
export async function startProcesses(config: Config, log: Logger): Promise<number> {
  const count = processCount(config);
  const stop = stopSignal(log);
  let command: string[];
  let folder: string;
  try {
    command = commandOf(config);
    await checkPort(config);
    folder = makeFolder();
  } catch (cause) {
    const reason = errorText(cause);
    process.stderr.write(`sluice: cannot start ${count} processes: ${reason}\n`);
    return 1;
  }
  log.info({ processes: count }, "starting processes");
  const { drainTimeout: drainTimeoutMs } = config;
  try {
    const options = { count, folder, command, drainTimeoutMs, clock: systemClock, log, stop };
    return await runProcesses(options);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** A folder for the sockets of the processes. */
function makeFolder(): string {
  const start = join(tmpdir(), "sluice-");
  // The system writes six more characters; each process adds a slash, its number, and how often it was started.
  if (Buffer.byteLength(start) + 6 + 16 > MAX_SOCKET_BYTES) {
    throw new Error(
      `a socket in ${tmpdir()} has too long a path; let TMPDIR name a shorter folder`,
    );
  }
  try {
    return mkdtempSync(start);
  } catch (cause) {
    throw new Error(`${errorText(cause)}; let TMPDIR name a folder that can be written to`);
  }
}

/** The command line of each process. */
function commandOf({ processCommand }: Config): string[] {
  if (process.platform !== "linux") {
    throw new Error("only Linux lets several processes share a port; run one, or use Linux");
  }
  if (processCommand !== "") {
    return withSharedPorts([...processCommand.split(" "), ...process.argv.slice(2)]);
  }
  // Its flags of the runtime too, which Deno tells nowhere else.
  const [, ...args] = readFileSync("/proc/self/cmdline", "utf8").split("\0").slice(0, -1);
  return withSharedPorts([process.execPath, ...args]);
}

/** Deno shares ports only where a flag allows it. */
function withSharedPorts(command: string[]): string[] {
  if (!("Deno" in globalThis)) return command;
  return command.toSpliced(command[1] === "run" ? 2 : 1, 0, "--unstable-net");
}

/** The processes share the port with whoever else shares it: so nobody may listen there yet. */
function checkPort({ host, port }: Config): Promise<void> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", (error) => {
      reject(new Error(`${errorText(error)}; --port and --host choose another address`));
    });
    server.listen({ host, port }, () => server.close(() => resolve()));
  });
}
