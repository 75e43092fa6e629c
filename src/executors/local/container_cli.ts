/** The command line of docker, podman or nerdctl: one call, one stream, and the ends of containers. */
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { access, constants } from "node:fs/promises";
import { delimiter, join } from "node:path";
import process from "node:process";
import type { Readable } from "node:stream";
import { limitSilence } from "../../artifacts/silence.ts";
import type { Clock } from "../../platform/clock.ts";
import { PROXY_VARIABLES } from "./proxy_variables.ts";

/** In order of preference. */
const PROGRAMS = ["podman", "docker", "nerdctl"];
/** How often containers are looked at besides the events. */
const CHECK_MS = 5_000;
/** The same where the program gives no events. */
const CHECK_WITHOUT_EVENTS_MS = 1_000;
/** How long a call may take: its daemon may hang. */
const CALL_MS = 120_000;
/** How much longer one may take that moves much: an image that is pulled, a whole log. */
export const LONG_WORK_MS = 30 * 60_000;
/** Most bytes kept of what a call prints. */
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;

export interface CliResult {
  code: number;
  stdout: Buffer;
  stderr: string;
}

/** What `container inspect` says of one. */
export interface ContainerFacts {
  name: string;
  status: string;
  exitCode: number;
  isOutOfMemory: boolean;
  /** The runtime's own words, if any. */
  error: string;
  /** Epoch ms. */
  startedAt: number;
  finishedAt: number;
  ip: string;
}

/** The first program on PATH that runs containers. */
export async function findContainerProgram(): Promise<string | undefined> {
  for (const program of PROGRAMS) {
    for (const folder of (process.env["PATH"] ?? "").split(delimiter)) {
      const path = join(folder, program);
      if (await access(path, constants.X_OK).then(() => true, () => false)) return program;
    }
  }
  return undefined;
}

/** Variables of the server that the program gets: how it finds its daemon, its stores and its registries. */
const CLIENT_VARIABLES = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  "XDG_RUNTIME_DIR",
  "XDG_CONFIG_HOME",
  "XDG_DATA_HOME",
  "XDG_CACHE_HOME",
  "DBUS_SESSION_BUS_ADDRESS",
  "SSH_AUTH_SOCK",
  "DOCKER_HOST",
  "DOCKER_CONTEXT",
  "DOCKER_CONFIG",
  "DOCKER_CERT_PATH",
  "DOCKER_TLS_VERIFY",
  "DOCKER_API_VERSION",
  "CONTAINER_HOST",
  "CONTAINER_CONNECTION",
  "CONTAINER_SSHKEY",
  "CONTAINERD_ADDRESS",
  "CONTAINERD_NAMESPACE",
  "NERDCTL_TOML",
  "CONTAINERS_CONF",
  "CONTAINERS_STORAGE_CONF",
  "CONTAINERS_REGISTRIES_CONF",
  "REGISTRY_AUTH_FILE",
  "STORAGE_DRIVER",
  "STORAGE_OPTS",
  "SSL_CERT_FILE",
  "SSL_CERT_DIR",
  ...PROXY_VARIABLES,
];

/** The program's whole environment: from the server's own, never a step's. */
function clientEnvironment(own: Record<string, string | undefined>): NodeJS.ProcessEnv {
  const env: NodeJS.ProcessEnv = {};
  for (const name of CLIENT_VARIABLES) {
    if (own[name] !== undefined) env[name] = own[name];
  }
  return env;
}

interface Waiting {
  name: string;
  settle(facts: ContainerFacts | undefined): void;
}

export class ContainerCli {
  /** Program and its own options. */
  readonly command: readonly string[];
  readonly #clock: Clock;
  readonly #label: string;
  readonly #waiting = new Set<Waiting>();
  #events: ChildProcess | undefined;
  #hasEvents = false;
  #cancelCheck: (() => void) | undefined;
  #looking: Promise<void> | undefined;
  #isClosed = false;

  /** @param label `key=value` that all containers of this executor carry. */
  constructor(command: readonly string[], label: string, clock: Clock) {
    this.command = command;
    this.#label = label;
    this.#clock = clock;
  }

  /** Program name without its folder. */
  get program(): string {
    return (this.command[0] ?? "").replace(/^.*\//, "");
  }

  /**
   * Runs to the end. A call that takes too long is killed, and has failed.
   *
   * @param workMs how long what it asks for may take, beside the call itself
   */
  run(args: readonly string[], workMs = 0): Promise<CliResult> {
    const limitMs = CALL_MS + workMs;
    return new Promise((resolve, reject) => {
      const child = this.spawn(args);
      const stdout: Buffer[] = [];
      let bytes = 0;
      let stderr = "";
      child.stdout?.on("data", (data: Buffer) => {
        stdout.push(data);
        bytes += data.length;
        // The end counts.
        while (bytes - (stdout[0]?.length ?? 0) > MAX_OUTPUT_BYTES) {
          bytes -= stdout.shift()?.length ?? 0;
        }
      });
      child.stderr?.on("data", (data: Buffer) => {
        stderr = (stderr + data.toString()).slice(-64 * 1024);
      });
      const end = (code: number) => {
        cancel();
        resolve({ code, stdout: Buffer.concat(stdout), stderr: stderr.trim() });
      };
      const cancel = this.#clock.after(limitMs, () => {
        stderr += `\n${this.program} ${args[0]} did not end within ${limitMs / 1000} s`;
        child.kill("SIGKILL");
        end(1);
      }, true);
      child.once("error", (error) => {
        cancel();
        reject(error);
      });
      child.once("close", (code) => end(code ?? 1));
    });
  }

  /**
   * Runs to the end while its output is read, and ends it when the reader gives up or nothing comes for too long.
   *
   * @returns What the program said of itself. The reader's fault counts only when the program was content.
   */
  async pipe(
    args: readonly string[],
    read: (output: AsyncIterable<Uint8Array>) => Promise<void>,
  ): Promise<Omit<CliResult, "stdout">> {
    const child = this.spawn(args);
    let stderr = "";
    child.stderr?.on("data", (data: Buffer) => {
      stderr = (stderr + data.toString()).slice(-64 * 1024);
    });
    const ended = new Promise<number>((resolve, reject) => {
      child.once("error", reject);
      child.once("close", (code) => resolve(code ?? 1));
    });
    ended.catch(() => {});
    let fault: unknown;
    try {
      await read(limitSilence(child.stdout as Readable, {
        ms: CALL_MS,
        late: () => new Error(`${this.program} ${args[0]} gave nothing for ${CALL_MS / 1000} s`),
        clock: this.#clock,
      }));
    } catch (error) {
      fault = error;
      child.kill("SIGKILL");
    }
    child.stdout?.resume();
    const code = await ended;
    if (fault !== undefined && (code === 0 || child.signalCode === "SIGKILL")) throw fault;
    return { code, stderr: stderr.trim() };
  }

  /** Starts a call whose output is read while it runs. */
  spawn(args: readonly string[]): ChildProcess {
    const [program = "", ...own] = this.command;
    return spawn(program, [...own, ...args], {
      stdio: ["ignore", "pipe", "pipe"],
      env: clientEnvironment(process.env),
    });
  }

  /**
   * Facts of the containers that exist, in no order.
   * @throws {Error} the program can't tell, for example because its daemon is being started again
   */
  async inspect(names: readonly string[]): Promise<ContainerFacts[]> {
    if (names.length === 0) return [];
    const { code, stdout, stderr } = await this.run(["container", "inspect", ...names]);
    if (code !== 0 && !/no such (container|object)/i.test(stderr)) {
      throw new Error(lastLine(stderr) || `${this.program} ended with ${code}`);
    }
    const text = stdout.toString();
    const end = text.lastIndexOf("]");
    if (end < 0) return [];
    return (JSON.parse(text.slice(text.indexOf("["), end + 1)) as InspectAnswer[]).map(readFacts);
  }

  /**
   * Removes the containers that exist, with their own volumes. Each by a call of its own: if one of them does not exist,
   * podman removes none, and one whose network another uses can only go after that one.
   */
  async remove(names: readonly string[]): Promise<void> {
    const refused: string[] = [];
    for (const name of names) {
      if (!await this.#hasRemoved(name)) refused.push(name);
    }
    for (const name of refused) await this.#hasRemoved(name);
  }

  async #hasRemoved(name: string): Promise<boolean> {
    return (await this.run(["rm", "--force", "--volumes", name])).code === 0;
  }

  /** Resolves when the container has ended; undefined when it is gone. */
  ended(name: string): Promise<ContainerFacts | undefined> {
    return new Promise((settle) => {
      this.#waiting.add({ name, settle });
      this.#watch();
      this.#look();
    });
  }

  #watch(): void {
    if (this.#events !== undefined || this.#isClosed) return;
    const events = this.spawn(["events", "--filter", `label=${this.#label}`]);
    this.#events = events;
    this.#hasEvents = true;
    events.stdout?.on("data", () => this.#look());
    events.stderr?.resume();
    events.once("error", () => this.#hasEvents = false);
    events.once("close", () => {
      this.#hasEvents = false;
      if (this.#events === events) this.#events = undefined;
    });
    this.#scheduleCheck();
  }

  #scheduleCheck(): void {
    this.#cancelCheck?.();
    const wait = this.#hasEvents ? CHECK_MS : CHECK_WITHOUT_EVENTS_MS;
    this.#cancelCheck = this.#clock.after(wait, () => {
      this.#look();
      if (this.#waiting.size > 0) this.#scheduleCheck();
      else this.#stopWatching();
    });
  }

  /** Looks at all containers that are waited for; a call while it looks makes it look once more. */
  #look(): void {
    if (this.#isClosed) return;
    if (this.#looking !== undefined) {
      this.#lookAgain = true;
      return;
    }
    this.#looking = this.#lookOnce().catch(() => {}).finally(() => {
      this.#looking = undefined;
      if (!this.#lookAgain) return;
      this.#lookAgain = false;
      this.#look();
    });
  }

  #lookAgain = false;

  async #lookOnce(): Promise<void> {
    const waiting = [...this.#waiting];
    const facts = await this.inspect(waiting.map(({ name }) => name));
    const byName = new Map(facts.map((found) => [found.name, found]));
    for (const entry of waiting) {
      const found = byName.get(entry.name);
      if (found !== undefined && !isOver(found)) continue;
      if (this.#waiting.delete(entry)) entry.settle(found);
    }
  }

  #stopWatching(): void {
    this.#cancelCheck?.();
    this.#cancelCheck = undefined;
    this.#events?.kill();
    this.#events = undefined;
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#stopWatching();
  }
}

/** True when the container has run and ended. */
export function isOver({ status }: ContainerFacts): boolean {
  return status === "exited" || status === "stopped" || status === "dead";
}

/** The last line of what a program says. */
export function lastLine(text: string): string {
  return text.split("\n").at(-1)?.replace(/^Error:\s*/, "") ?? "";
}

interface InspectAnswer {
  Name?: string;
  State?: {
    Status?: string;
    ExitCode?: number;
    OOMKilled?: boolean;
    Error?: string;
    StartedAt?: string;
    FinishedAt?: string;
  };
  NetworkSettings?: { IPAddress?: string; Networks?: Record<string, { IPAddress?: string }> };
}

function readFacts({ Name = "", State = {}, NetworkSettings = {} }: InspectAnswer): ContainerFacts {
  const networks = Object.values(NetworkSettings.Networks ?? {});
  return {
    name: Name.replace(/^\//, ""),
    status: (State.Status ?? "").toLowerCase(),
    exitCode: State.ExitCode ?? 0,
    isOutOfMemory: State.OOMKilled === true,
    error: State.Error ?? "",
    startedAt: Date.parse(State.StartedAt ?? "") || 0,
    finishedAt: Date.parse(State.FinishedAt ?? "") || 0,
    ip: NetworkSettings.IPAddress ||
      (networks.find((network) => (network.IPAddress ?? "") !== "")?.IPAddress ?? ""),
  };
}
