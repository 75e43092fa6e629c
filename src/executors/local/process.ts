/**
 * The process executor: containers are processes of this machine, their image is not used. For one user's own machine
 * only: a task may do whatever the server may. See `path_map.ts` for what happens to the paths of a template.
 */
import { constants } from "node:fs";
import { access, mkdir, stat } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, relative, resolve } from "node:path";
import process from "node:process";
import type { Clock } from "../../platform/clock.ts";
import { findInside, makeFolderInside, writeInside } from "../../platform/files/inside.ts";
import type { Place } from "../../platform/files/place.ts";
import { readTail } from "../capture.ts";
import { expandReferences } from "./environment.ts";
import { followLinks } from "./follow_links.ts";
import { LocalExecutor } from "./executor.ts";
import type { LocalExecutorOptions } from "./executor.ts";
import { readLogs, sampleLog } from "./log_files.ts";
import type { LogSample } from "./log_files.ts";
import type { ContainerEnd, ContainerLaunch, LocalRuntime, RunningContainer } from "./runtime.ts";
import { createPathMap, guestPath } from "./path_map.ts";
import type { PathMap } from "./path_map.ts";
import { ProcessSupervisor } from "./process_supervisor.ts";
import type { Scratch, TaskFolder } from "./scratch.ts";
import { refuseNul, StartFault } from "./start_fault.ts";
import { PROXY_VARIABLES } from "./proxy_variables.ts";

/** Variables of the server that a task gets; no others, since they may hold the server's secrets. */
const INHERITED = [
  "PATH",
  "HOME",
  "USER",
  "LOGNAME",
  "SHELL",
  "LANG",
  "LC_ALL",
  "TZ",
  "TMPDIR",
  ...PROXY_VARIABLES,
  "SSL_CERT_FILE",
  "NODE_EXTRA_CA_CERTS",
];

/** Makes the process executor. */
export function createProcessExecutor(options: LocalExecutorOptions): LocalExecutor {
  return new LocalExecutor((scratch) => new ProcessRuntime(scratch, options.clock), options);
}

class ProcessRuntime implements LocalRuntime {
  readonly name = "process";
  readonly host = { hostName: hostname(), podIp: "127.0.0.1" };
  readonly #clock: Clock;
  readonly #supervisor: ProcessSupervisor;

  constructor(scratch: Scratch, clock: Clock) {
    this.#clock = clock;
    this.#supervisor = new ProcessSupervisor(scratch.bell, clock);
  }

  progressPath(dir: string): string {
    return join(dir, "progress");
  }

  /** A process has no mounts: its inputs lie in the task's own root, or where it begins if their path does not say. */
  inputPlace(folder: TaskFolder, path: string): Place {
    return { root: isAbsolute(path) ? folder.root : folder.work, path: guestPath(path) };
  }

  async launch(launch: ContainerLaunch): Promise<RunningContainer> {
    const { container, dir, folder } = launch;
    const paths = await this.#pathMap(launch);
    const env: Record<string, string> = {};
    for (const name of INHERITED) {
      const value = process.env[name];
      if (value !== undefined) env[name] = value;
    }
    for (const [name, value] of Object.entries(launch.env)) {
      env[name] = name === "ARGO_TEMPLATE" ? value : paths.rewrite(value);
    }
    const cwd = await workingDir(container.spec.workingDir, folder, paths);
    await mkdir(dir, { recursive: true });
    const argv = await this.#command(launch, env, cwd, paths);
    const { ended } = await this.#supervisor.launch({ dir, argv, cwd, env }).catch((error) => {
      throw new StartFault(container.name, "StartError", error.message);
    });
    return this.#running(launch, ended, cwd, paths);
  }

  /** Volumes and inputs first, then the outputs that lie in none of them. */
  async #pathMap({ folder, mounts, outputPaths }: ContainerLaunch): Promise<PathMap> {
    const given = createPathMap(mounts);
    const outputs = outputPaths
      .filter((path) => isAbsolute(path))
      .map((path) => guestPath(path))
      .filter((path) => given.place(path) === undefined)
      .map((path) => ({ at: path, host: join(folder.root, path), root: folder.root }));
    for (const { at, root } of outputs) await makeFolderInside({ root, path: dirname(at) });
    return createPathMap([...mounts, ...outputs]);
  }

  async #command(
    launch: ContainerLaunch,
    env: Record<string, string>,
    cwd: string,
    paths: PathMap,
  ): Promise<string[]> {
    const { command = [], args = [] } = launch.container.spec;
    const image = launch.container.spec.image ?? "";
    const argv = [...command, ...args].map((part) =>
      paths.rewrite(expandReferences(String(part), env))
    );
    const { source, name } = launch.container;
    if (source !== undefined && command.length > 0) {
      const script = join(launch.dir, "script");
      const place = { root: launch.dir, path: "script" };
      await writeInside(place, paths.rewrite(source), { mode: 0o755 });
      argv.push(script);
    }
    refuseNul(name, argv, env);
    const [program] = argv;
    if (program === undefined || (source !== undefined && command.length === 0)) {
      throw new StartFault(
        name,
        "NoCommand",
        `the process executor can't look up the entrypoint of image "${image}"; give a command, or use --executor container or kubernetes`,
      );
    }
    if (await findProgram(program, env["PATH"] ?? "", cwd)) return argv;
    throw new StartFault(
      name,
      "CommandNotFound",
      `"${program}" is not a program on this machine; the process executor doesn't use image "${image}", --executor container or kubernetes does`,
    );
  }

  #running(
    launch: ContainerLaunch,
    ended: Promise<{ code: number; startedAt: number; finishedAt: number } | undefined>,
    cwd: string,
    paths: PathMap,
  ): RunningContainer {
    const { dir, folder } = launch;
    let last: LogSample | undefined;
    const started = this.#clock.now();
    return {
      ended: ended.then((exit): ContainerEnd =>
        exit ?? { fault: "process vanished without an exit code; was this machine restarted?" }
      ),
      stop: (graceMs) => this.#stopRun(dir, graceMs),
      stdout: () => readTail({ root: dir, path: "stdout" }),
      sample: async () => {
        last = await sampleLog(dir, this.#clock.now(), last);
      },
      locate: async (path) => {
        const since = await stat(join(dir, "started")).then((file) => file.mtimeMs, () => started);
        const wanted = isAbsolute(path) ? guestPath(path) : resolve(cwd, path);
        const moved = paths.place(wanted);
        const placeOf = (path: string) => placeOfReal(path, folder, since);
        const found = await followLinks(
          wanted,
          async (path) => paths.place(path) ?? await placeOf(path),
        );
        // A program that put the path together itself wrote to the real one.
        return found ?? (moved === undefined ? undefined : await followLinks(wanted, placeOf));
      },
    };
  }

  async #stopRun(dir: string, graceMs: number): Promise<void> {
    if (!await this.#supervisor.signal(dir, "SIGTERM")) return;
    const until = this.#clock.now() + graceMs;
    for (
      let waitMs = 10;
      await this.#supervisor.isRunning(dir);
      waitMs = Math.min(waitMs * 2, 500)
    ) {
      if (this.#clock.now() >= until) {
        await this.#supervisor.signal(dir, "SIGKILL");
        return;
      }
      await this.#clock.sleep(Math.min(waitMs, Math.max(1, until - this.#clock.now())));
    }
  }

  async stop(folder: TaskFolder, graceMs: number): Promise<void> {
    const dirs = (await folder.containers()).map((name) => join(folder.dir, "containers", name));
    await Promise.all(dirs.map((dir) => this.#stopRun(dir, graceMs)));
  }

  logs(
    folder: TaskFolder,
    query: Parameters<LocalRuntime["logs"]>[1],
    isOver: () => Promise<boolean>,
  ) {
    return readLogs(() => folder.runs(query.container), isOver, query, this.#clock);
  }

  release(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#supervisor.close();
  }
}

/** A path of this machine itself: in the task's own folders, or written by it; an older file isn't its work. */
async function placeOfReal(
  path: string,
  { root, work }: TaskFolder,
  since: number,
): Promise<Place | undefined> {
  for (const own of [root, work]) {
    if (path === own || path.startsWith(`${own}/`)) {
      return { root: own, path: relative(own, path) };
    }
  }
  const place = { root: dirname(path), path: basename(path) };
  // A link is as good as what it leads to, which is looked at in turn.
  const found = await findInside(place).catch(() => ({ mtimeMs: since }));
  return found !== undefined && found.mtimeMs >= since ? place : undefined;
}

/** A folder of this machine where it exists, else one in the task's own root. */
async function workingDir(
  wanted: string | undefined,
  folder: TaskFolder,
  paths: PathMap,
): Promise<string> {
  if (wanted === undefined || wanted === "") return folder.work;
  const path = resolve(folder.work, wanted);
  const moved = paths.resolve(path);
  if (await stat(moved).then((found) => found.isDirectory(), () => false)) return moved;
  const own = moved === path && isAbsolute(wanted) ? join(folder.root, path) : moved;
  await mkdir(own, { recursive: true });
  return own;
}

async function findProgram(program: string, path: string, cwd: string): Promise<boolean> {
  const places = program.includes("/")
    ? [resolve(cwd, program)]
    : path.split(delimiter).map((folder) => join(folder, program));
  for (const place of places) {
    const found = await access(place, constants.X_OK).then(() => stat(place), () => undefined)
      .catch(() => undefined);
    if (found?.isFile()) return true;
  }
  return false;
}
