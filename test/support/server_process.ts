/** A real server in a separate process, on the runtime that runs the test. */
import { type ChildProcess, spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import process from "node:process";
import { nodeStartFlags, startFlags } from "./start_flags.ts";

const MAIN = fileURLToPath(new URL("../../src/main.ts", import.meta.url));
const START_TIMEOUT_MS = 60_000;

export interface ServerProcess {
  url: string;
  port: number;
  pid: number;
  /** Lines of its log so far (a bounded tail). */
  log: string[];
  /** Kills it without warning. */
  kill(): Promise<void>;
  /** Asks it to stop; resolves with its exit status. */
  stop(): Promise<number | null>;
  /** Stops or continues the process, as a paused machine would. */
  signal(name: "SIGSTOP" | "SIGCONT" | "SIGUSR2"): void;
}

/** Differences from this repository's server. */
export interface ServerVariant {
  /** Its program, for example of another version. */
  main?: string;
  /** A module that is loaded before it. */
  preload?: string;
  /** Variables in addition to those of the test. */
  env?: Record<string, string>;
  /** Hears every line of its log. */
  onLine?: (line: string) => void;
  /** Its bound on the heap, MiB. @default that of the start task */
  heapMiB?: number;
  /** How many files it may open. */
  maxFiles?: number;
}

/**
 * Starts a server and waits until it is ready.
 *
 * @param flags as on the command line; includes `--port 0` unless a port is given
 */
export async function startServer(
  flags: string[],
  { main = MAIN, preload, env = {}, onLine = () => {}, heapMiB, maxFiles }: ServerVariant = {},
): Promise<ServerProcess> {
  const isDeno = "Deno" in globalThis;
  const first = preload === undefined ? [] : [isDeno ? "--preload" : "--import", preload];
  const args = [
    ...(isDeno ? startFlags() : nodeStartFlags()).map((flag) =>
      heapMiB === undefined ? flag : flag.replace(/(max-old-space-size=)\d+/, `$1${heapMiB}`)
    ),
    ...first,
    main,
    "--port=0",
    ...flags,
  ];
  const [program, ...rest] = maxFiles === undefined
    ? [process.execPath, ...args]
    : ["sh", "-c", `ulimit -n ${maxFiles}; exec "$0" "$@"`, process.execPath, ...args];
  const child = spawn(program, rest, {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, ...env },
  });
  const log: string[] = [];
  // Intentionally not `child.kill`: on Deno it works only once, and hides the exit status.
  const send = (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) process.kill(child.pid ?? 0, signal);
  };
  const ended = new Promise<number | null>((resolve) => child.once("exit", resolve));
  try {
    const port = await listeningPort(child, log, ended, onLine);
    const url = `http://127.0.0.1:${port}`;
    await isReady(url, ended, log);
    return {
      url,
      port,
      pid: child.pid ?? 0,
      log,
      async kill() {
        send("SIGKILL");
        await ended;
      },
      stop() {
        send("SIGTERM");
        return ended;
      },
      signal: send,
    };
  } catch (cause) {
    send("SIGKILL");
    throw cause;
  }
}

function listeningPort(
  child: ChildProcess,
  log: string[],
  ended: Promise<number | null>,
  onLine: (line: string) => void,
): Promise<number> {
  return new Promise((resolve, reject) => {
    const keep = (line: string) => {
      log.push(line);
      onLine(line);
      if (log.length > 500) log.shift();
      const match = /listening on http:\/\/[^ "]*:(\d+)/.exec(line);
      if (match) resolve(Number(match[1]));
    };
    for (const stream of [child.stdout, child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", keep);
    }
    void ended.then((status) => reject(failure(`ended with status ${status}`, log)));
  });
}

async function isReady(url: string, ended: Promise<number | null>, log: string[]): Promise<void> {
  const deadline = performance.now() + START_TIMEOUT_MS;
  let isEnded = false;
  void ended.then(() => isEnded = true);
  while (performance.now() < deadline && !isEnded) {
    const response = await fetch(`${url}/readyz`).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw failure("is not ready", log);
}

function failure(what: string, log: string[]): Error {
  return new Error(`The server ${what}:\n${log.slice(-30).join("\n")}`);
}
