/**
 * Processes that outlive the server. Each runs under a few lines of shell that claim the folder (so a command is started
 * once, whoever tries again), send its output to files there, write its exit code, and end what it left behind in its
 * process group. A new server finds the exit code, or the living process, or that it vanished. A process is known by its
 * folder in its command line, so an id that the system gave to another one is never mistaken for it.
 */
import { spawn, spawnSync } from "node:child_process";
import { readFileSync, watch, writeFileSync } from "node:fs";
import { mkdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import process from "node:process";
import { systemClock } from "../../platform/clock.ts";
import type { Clock } from "../../platform/clock.ts";

/**
 * `$1` folder, `$2` bell file, then the command. Nothing has a variable of the shell: the command would get that in place of
 * its own of the same name. Handled signals reach the command as usual; the shell itself stays to write the exit code. The
 * last line ends the whole group, itself included.
 */
const WRAPPER = `trap : TERM INT HUP
sluice_run() { shift 2; "$@"; }
set -C
{ echo "$$" >"$1/started"; } 2>/dev/null || exit 0
set +C
sluice_run "$@" >"$1/stdout" 2>"$1/stderr"
echo "$?" >"$1/exit"
echo >"$2"
kill -9 -"$$"`;

/** Name of the shell in its command line, before the folder. */
const SHELL_NAME = "sluice-task";

/** No process has this id. */
const NO_PROCESS = Number.MAX_SAFE_INTEGER;

/** How often it is looked whether a command runs, 5 ms apart. */
const MAX_BEGIN_TRIES = 200;

/** How often adopted processes are looked at besides the bell. */
const CHECK_MS = 1_000;

export interface ProcessExit {
  /** 0…255; 128 + signal number after a signal. */
  code: number;
  /** Epoch ms. */
  startedAt: number;
  finishedAt: number;
}

/** Undefined: it was started and is gone without an exit code (the machine restarted, or somebody killed it whole). */
export type ProcessEnd = ProcessExit | undefined;

export interface ProcessLaunch {
  /** Folder of this run; decides its identity. */
  dir: string;
  argv: readonly string[];
  cwd: string;
  env: Record<string, string>;
}

export interface SupervisedProcess {
  readonly ended: Promise<ProcessEnd>;
}

interface Adopted {
  dir: string;
  pid: number;
  settle(end: ProcessEnd): void;
}

export class ProcessSupervisor {
  readonly #bell: string;
  readonly #clock: Clock;
  readonly #adopted = new Set<Adopted>();
  /** Ids of the processes that were started here, by folder: each runs a moment before its id is in its folder. */
  readonly #started = new Map<string, number>();
  #stopWatching: (() => void) | undefined;
  #closed = false;

  /** @param bell File that every wrapper writes to at its end; its folder must exist. */
  constructor(bell: string, clock: Clock) {
    this.#bell = bell;
    this.#clock = clock;
  }

  /**
   * Starts the command, or finds the run that is in the folder already.
   *
   * @throws {Error} with the system's `code` (E2BIG, ENOENT …) when it can't be started at all.
   */
  async launch(launch: ProcessLaunch): Promise<SupervisedProcess> {
    const { dir } = launch;
    await mkdir(dir, { recursive: true });
    const exit = await readExit(dir);
    if (exit !== undefined) return { ended: Promise.resolve(exit) };
    if (await readPid(dir) !== undefined) return { ended: this.#adopt(dir) };
    return await this.#spawn(launch);
  }

  #spawn(launch: ProcessLaunch): Promise<SupervisedProcess> {
    const { dir, argv, cwd, env } = launch;
    // Shells drop variables whose names aren't theirs; env(1) hands those over.
    const odd = Object.entries(env).filter(([name]) => !/^[A-Za-z_]\w*$/.test(name));
    const command = odd.length === 0
      ? argv
      : ["/usr/bin/env", ...odd.map(([name, value]) => `${name}=${value}`), ...argv];
    return new Promise((resolve, reject) => {
      const child = spawn("/bin/sh", ["-c", WRAPPER, SHELL_NAME, dir, this.#bell, ...command], {
        cwd,
        env: env as NodeJS.ProcessEnv,
        detached: true,
        stdio: "ignore",
      });
      child.once("error", reject);
      child.once("spawn", () => {
        child.unref();
        if (child.pid !== undefined) this.#started.set(dir, child.pid);
        // Without an exit code it wasn't our child that claimed the folder, or it vanished: adopting tells which.
        const ended = new Promise<ProcessEnd>((settle) => {
          child.once("exit", () => {
            this.#started.delete(dir);
            void readExit(dir).then((exit) => settle(exit ?? this.#adopt(dir)));
          });
        });
        resolve({ ended });
      });
    });
  }

  #adopt(dir: string): Promise<ProcessEnd> {
    return new Promise((settle) => {
      void (async () => {
        const pid = await readPid(dir);
        if (pid === undefined) return settle(await readExit(dir));
        const adopted = { dir, pid, settle };
        this.#adopted.add(adopted);
        await this.#check(adopted);
        if (this.#adopted.size > 0) this.#watchAdopted();
      })();
    });
  }

  async #check(adopted: Adopted): Promise<void> {
    const alive = isAlive(adopted.pid, adopted.dir);
    // Read after the look at the process: it writes before it ends.
    const exit = await readExit(adopted.dir);
    if (exit === undefined && alive) return;
    if (this.#adopted.delete(adopted)) adopted.settle(exit);
    if (this.#adopted.size === 0) this.#stopWatching?.();
  }

  /** Looks at the adopted when the bell rings, and every now and then. */
  #watchAdopted(): void {
    if (this.#stopWatching !== undefined || this.#closed) return;
    const look = () => {
      for (const adopted of this.#adopted) void this.#check(adopted);
    };
    const stopHearing = this.#hearBell(look);
    let cancel: () => void = () => {};
    const again = () => {
      look();
      cancel = this.#clock.after(CHECK_MS, again);
    };
    cancel = this.#clock.after(CHECK_MS, again);
    this.#stopWatching = () => {
      stopHearing();
      cancel();
      this.#stopWatching = undefined;
    };
  }

  #hearBell(look: () => void): () => void {
    try {
      writeFileSync(this.#bell, "", { flag: "a" });
      const watcher = watch(this.#bell, look);
      watcher.on("error", () => watcher.close());
      watcher.unref?.();
      return () => watcher.close();
    } catch {
      // The disk is full, or too many files are watched: ends are seen a little later.
      return () => {};
    }
  }

  /** Sends a signal to the group of the run in a folder; false when it is not alive. */
  async signal(dir: string, signal: "SIGTERM" | "SIGKILL"): Promise<boolean> {
    const pid = await this.#targetOf(dir);
    if (pid === undefined || !isAlive(pid, dir)) return false;
    try {
      process.kill(-pid, signal);
      return true;
    } catch {
      return false;
    }
  }

  /** True when a run in the folder was started and is alive. */
  async isRunning(dir: string): Promise<boolean> {
    const pid = await this.#pidOf(dir);
    return pid !== undefined && await readExit(dir) === undefined && isAlive(pid, dir);
  }

  /** The id, once the command runs: before that, a signal would end the shell without an exit code, or reach nobody. */
  async #targetOf(dir: string): Promise<number | undefined> {
    for (let tries = 0; tries < MAX_BEGIN_TRIES; tries++) {
      const pid = await readPid(dir);
      if (pid === undefined ? !this.#started.has(dir) : hasBegun(pid, dir)) return pid;
      await systemClock.sleep(5);
    }
    return await this.#pidOf(dir);
  }

  async #pidOf(dir: string): Promise<number | undefined> {
    return await readPid(dir) ?? this.#started.get(dir);
  }

  /** Lets go of all processes; they go on. */
  close(): void {
    this.#closed = true;
    this.#adopted.clear();
    this.#stopWatching?.();
  }
}

/** The exit code in a folder; undefined until it is written completely, and when the folder is removed meanwhile. */
async function readExit(dir: string): Promise<ProcessExit | undefined> {
  const path = join(dir, "exit");
  try {
    const text = await readFile(path, "utf8");
    if (!/^\d+\n$/.test(text)) return undefined;
    const [exit, started] = await Promise.all([stat(path), stat(join(dir, "started"))]);
    return { code: Number(text), startedAt: started.mtimeMs, finishedAt: exit.mtimeMs };
  } catch {
    return undefined;
  }
}

/** Process id in a folder; undefined when nothing was started there. */
async function readPid(dir: string): Promise<number | undefined> {
  const path = join(dir, "started");
  for (let tries = 0;; tries++) {
    const text = await readFile(path, "utf8").catch(() => undefined);
    if (text === undefined) return undefined;
    const pid = Number.parseInt(text, 10);
    if (pid > 1) return pid;
    // The wrapper made the file and is about to write its id, or died right there.
    if (tries === 20) return NO_PROCESS;
    await systemClock.sleep(5);
  }
}

function isAlive(pid: number, dir: string): boolean {
  return commandLine(pid).includes(dir);
}

/**
 * True once the command has taken the place of the copy of the shell that runs it, and when the shell is gone. Where the
 * system does not tell, nobody waits.
 */
function hasBegun(pid: number, dir: string): boolean {
  const isShell = (id: string | number) =>
    commandLine(Number(id)).includes(`${SHELL_NAME}\0${dir}\0`);
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim();
    return children === "" ? !isShell(pid) : !isShell(children.split(" ")[0] ?? "");
  } catch {
    return true;
  }
}

/** Empty when there is no such process, or when it is dead and only not yet collected. */
function commandLine(pid: number): string {
  if (process.platform !== "linux") {
    return spawnSync("ps", ["-ww", "-o", "args=", "-p", String(pid)], { encoding: "utf8" }).stdout;
  }
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
