/**
 * The container executor: one machine with podman, docker or nerdctl. The name of a container follows from its task, so a
 * restarted server finds it. When it has ended, its output is copied to the task's folder. When the outcome is kept, it is
 * removed.
 */
import { createHash } from "node:crypto";
import { chmod, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { unpackTar } from "../../artifacts/unpack.ts";
import { Budget } from "../../artifacts/budget.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Clock } from "../../platform/clock.ts";
import { removeInside } from "../../platform/files/inside.ts";
import { type Place, trustedPlace } from "../../platform/files/place.ts";
import { createArguments, SCRIPT_PATH, splitVariables } from "./container_arguments.ts";
import {
  ContainerCli,
  findContainerProgram,
  isOver,
  lastLine,
  LONG_WORK_MS,
} from "./container_cli.ts";
import type { ContainerFacts } from "./container_cli.ts";
import { containerRefusal, parseContainerAllow } from "./container_rules.ts";
import type { ContainerAllow } from "./container_rules.ts";
import { containerName, ContainerOutput } from "./container_output.ts";
import { followLinks } from "./follow_links.ts";
import { LocalExecutor } from "./executor.ts";
import type { LocalExecutorOptions } from "./executor.ts";
import type { ContainerEnd, ContainerLaunch, LocalRuntime, RunningContainer } from "./runtime.ts";
import { createPathMap, guestPath, type Mount } from "./path_map.ts";
import type { LogLine, LogQuery } from "../port.ts";
import { exists, writeWhole } from "./scratch.ts";
import type { Scratch, TaskFolder } from "./scratch.ts";
import { StartFault } from "./start_fault.ts";

const PROGRESS_PATH = "/argo/staging/progress";
/** The current folder of a container whose image does not have it. Clusters and docker make it, podman does not. */
const WORK_DIR = "workdir";
const NO_WORK_DIR = /workdir ".*" does not exist/;
/** Bytes that a tar adds to one file and more, so that a whole parameter fits. */
const TAR_BYTES = 16 * 1024;

export interface ContainerExecutorOptions extends LocalExecutorOptions {
  /** The program and its own options. @default the first of podman, docker and nerdctl on PATH */
  command?: readonly string[];
  /** Name of the containers' network. @default that of the program */
  network?: string;
  /** What templates may use of the machine, as `--container-allow` names it. @default {""} nothing */
  allow?: string;
}

/**
 * Makes the container executor.
 *
 * @throws {Problem} FailedPrecondition when no program is found.
 */
export async function createContainerExecutor(
  options: ContainerExecutorOptions,
): Promise<LocalExecutor> {
  const program = await findContainerProgram();
  const command = options.command ?? (program === undefined ? undefined : [program]);
  if (command === undefined) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "--executor container needs podman, docker or nerdctl on PATH",
    );
  }
  return new LocalExecutor(
    (scratch) => new ContainerRuntime(scratch, command, options),
    { maxRunning: 100, ...options },
  );
}

class ContainerRuntime implements LocalRuntime {
  readonly name = "container";
  readonly host = { hostName: hostname(), podIp: "127.0.0.1" };
  readonly #cli: ContainerCli;
  readonly #options: ContainerExecutorOptions;
  readonly #clock: Clock;
  readonly #owner: string;
  readonly #dir: string;
  readonly #allow: ContainerAllow;
  readonly #output: ContainerOutput;

  constructor(scratch: Scratch, command: readonly string[], options: ContainerExecutorOptions) {
    this.#owner = createHash("sha256").update(scratch.dir).digest("hex").slice(0, 16);
    this.#cli = new ContainerCli(command, `sluice.executor=${this.#owner}`, options.clock);
    this.#output = new ContainerOutput(this.#cli, options.clock);
    this.#dir = scratch.dir;
    this.#options = options;
    this.#allow = parseContainerAllow(options.allow ?? "");
    this.#clock = options.clock;
  }

  refuses(task: TaskSpec): string | undefined {
    return containerRefusal(task, this.#allow);
  }

  progressPath(): string {
    return PROGRESS_PATH;
  }

  async launch(given: ContainerLaunch): Promise<RunningContainer> {
    const { dir, container, task } = given;
    const launch = { ...given, mounts: [...given.mounts] };
    if ((container.spec.image ?? "") === "") {
      throw new StartFault(container.name, "InvalidImageName", "the container has no image");
    }
    await mkdir(dir, { recursive: true });
    if (await exists(join(dir, WORK_DIR))) launch.mounts.push(workDirMount(launch));
    const name = containerName(launch.folder, dir);
    const kept = await readEnd(dir);
    if (kept !== undefined) return this.#running(launch, name, Promise.resolve(kept), "");
    const isStarted = await exists(join(dir, "started"));
    const [facts] = await this.#cli.inspect([name]).catch((error) => {
      if (isStarted) return [];
      throw error;
    });
    // It was started, and is gone or can't be asked about now: what waits for its end sees which.
    if (facts === undefined && isStarted) {
      return this.#running(launch, name, this.#endOf(dir, name), "");
    }
    try {
      await this.#begin(launch, name, facts);
    } catch (error) {
      if (!await this.#isMended(launch, error)) throw error;
      await this.#begin(launch, name, undefined);
    }
    const ip = task.template.daemon === true ? (await this.#cli.inspect([name]))[0]?.ip ?? "" : "";
    return this.#running(launch, name, this.#endOf(dir, name), ip);
  }

  /** Tells whether another container can be started in place of one that could not. */
  async #isMended(launch: ContainerLaunch, error: unknown): Promise<boolean> {
    const folder = join(launch.dir, WORK_DIR);
    if (error instanceof StartFault && NO_WORK_DIR.test(error.message) && !await exists(folder)) {
      await mkdir(folder);
      await chmod(folder, 0o777);
      launch.mounts.push(workDirMount(launch));
      return true;
    }
    // The sidecar may have ended whose network it was to share: now it gets one of its own.
    const owner = networkOwner(launch);
    return owner !== undefined && await this.#hasEnded(owner);
  }

  /** Makes a container, unless it is there, and starts it, unless it has begun. @param known what is there of it */
  async #begin(
    launch: ContainerLaunch,
    name: string,
    known: ContainerFacts | undefined,
  ): Promise<void> {
    let owner = networkOwner(launch);
    if (known === undefined) owner = await this.#create(launch, name);
    const facts = known ?? (await this.#cli.inspect([name]))[0];
    if (facts?.status !== "created" && facts?.status !== "configured") return;
    // Podman would start the sidecar once more.
    if (owner !== undefined && await this.#hasEnded(owner)) {
      await this.#cli.run(["rm", "--force", name]);
      await this.#create(launch, name);
    }
    await this.#start(name, launch.container.name);
    await writeFile(join(launch.dir, "started"), "");
  }

  async #hasEnded(name: string): Promise<boolean> {
    const [facts] = await this.#cli.inspect([name]);
    return facts !== undefined && isOver(facts);
  }

  /** @returns the sidecar whose network the container shares, if it does */
  async #create(launch: ContainerLaunch, name: string): Promise<string | undefined> {
    const { dir, container, env, folder, task } = launch;
    const mounts = [...launch.mounts];
    if (container.source !== undefined) {
      await writeFile(join(dir, "script"), container.source, { mode: 0o755 });
      mounts.push({ at: SCRIPT_PATH, host: join(dir, "script"), readOnly: true });
    }
    await writeFile(join(dir, "progress"), "", { flag: "a" });
    await chmod(join(dir, "progress"), 0o666);
    mounts.push({ at: PROGRESS_PATH, host: join(dir, "progress") });
    const envFile = join(dir, "variables");
    const sidecar = await this.#firstSidecar(launch);
    const args = createArguments(launch, {
      name,
      mounts,
      envFile,
      program: this.#cli.program,
      ...(this.#options.network !== undefined && { network: this.#options.network }),
      ...(sidecar !== undefined && { networkOf: sidecar }),
      labels: {
        "sluice.executor": this.#owner,
        "sluice.task": folder.name,
        "sluice.container": container.name,
        "sluice.workflow": `${task.namespace}/${task.workflow}`,
      },
    });
    await writeFile(envFile, splitVariables(container.name, env).file, { mode: 0o600 });
    const { code, stderr } = await this.#cli.run(args, LONG_WORK_MS)
      .finally(() => rm(envFile, { force: true }));
    if (code === 0 || /already in use|name .* is already used/i.test(stderr)) return sidecar;
    const isPull = /pull|manifest unknown|not known|no such image|initializing source|denied/i
      .test(stderr);
    throw new StartFault(
      container.name,
      isPull ? "ErrImagePull" : "CreateContainerError",
      this.#told(stderr),
    );
  }

  /** The first sidecar, if it runs: its network is that of the pod. */
  async #firstSidecar(launch: ContainerLaunch): Promise<string | undefined> {
    const name = networkOwner(launch);
    if (name === undefined) return undefined;
    // Sidecars are launched at the same time, and will run in a moment.
    for (let tries = 0; tries < 100; tries++) {
      const [facts] = await this.#cli.inspect([name]);
      if (facts?.status === "running") return name;
      if (facts !== undefined && isOver(facts)) return undefined;
      await this.#clock.sleep(100);
    }
    return undefined;
  }

  async #start(name: string, container: string): Promise<void> {
    const { code, stderr } = await this.#cli.run(["start", name]);
    if (code === 0) return;
    const [facts] = await this.#cli.inspect([name]);
    // It has run, whatever the program says.
    if (facts !== undefined && facts.startedAt > 0 && facts.error === "") return;
    await this.#cli.run(["rm", "--force", name]);
    throw new StartFault(container, "StartError", this.#told(stderr));
  }

  /** The last line of what the program says, without the server's own folder. */
  #told(stderr: string): string {
    return lastLine(stderr).replaceAll(this.#dir, "");
  }

  async #endOf(dir: string, name: string): Promise<ContainerEnd> {
    const facts = await this.#cli.ended(name);
    if (facts === undefined) {
      return await readEnd(dir) ?? { fault: "container deleted" };
    }
    const known = await readEnd(dir);
    if (known !== undefined) return known;
    const end = endFrom(facts);
    await this.#output.keep(dir, name);
    await writeWhole(join(dir, "end"), JSON.stringify(end));
    return end;
  }

  #running(
    launch: ContainerLaunch,
    name: string,
    ended: Promise<ContainerEnd>,
    podIp: string,
  ): RunningContainer {
    const { dir, folder, mounts, container } = launch;
    const paths = createPathMap(mounts);
    return {
      ended,
      ...(podIp !== "" && { podIp }),
      stop: (graceMs) => this.#stopContainers([name], graceMs),
      stdout: async () => await readFile(join(dir, "stdout")).catch(() => Buffer.alloc(0)),
      locate: (path, maxBytes) =>
        followLinks(
          guestPath(path, container.spec.workingDir),
          async (path) => paths.place(path) ?? await this.#copyOut(name, path, folder, maxBytes),
        ),
    };
  }

  /** Copies a file or folder out of an ended container. It comes as a tar, whose size is bounded and whose links are not followed. */
  async #copyOut(
    name: string,
    path: string,
    folder: TaskFolder,
    maxBytes: number,
  ): Promise<Place | undefined> {
    const kept = folder.output(path);
    if (!await exists(kept)) {
      const fresh = `${kept}.fresh`;
      await removeInside(trustedPlace(fresh));
      await mkdir(fresh, { recursive: true });
      const budget = new Budget(maxBytes + TAR_BYTES);
      const { code, stderr } = await this.#cli.pipe(
        ["cp", `${name}:${path}`, "-"],
        (output) => unpackTar(output, fresh, budget, { links: "as they are" }),
      );
      if (/no such file|could not find|not found|could not be found/i.test(stderr)) {
        return undefined;
      }
      if (code !== 0) {
        throw new Error(`Cannot copy ${path} out of the container: ${this.#told(stderr)}`);
      }
      await rename(fresh, kept);
    }
    const [entry] = await readdir(kept);
    return entry === undefined ? undefined : { root: kept, path: entry };
  }

  async #stopContainers(names: readonly string[], graceMs: number): Promise<void> {
    if (names.length === 0) return;
    const args = ["stop", "--time", String(Math.ceil(graceMs / 1000)), ...names];
    await this.#cli.run(args, graceMs);
  }

  async stop(folder: TaskFolder, graceMs: number): Promise<void> {
    const names = (await folder.containers()).map((entry) => `${folder.name}-${entry}`);
    const alive = (await this.#cli.inspect(names)).filter((facts) => !isOver(facts));
    await this.#stopContainers(alive.map((facts) => facts.name), graceMs);
    // Its output is kept, the container is not.
    for (const { name } of alive) {
      const dir = join(folder.dir, "containers", name.slice(folder.name.length + 1));
      await this.#output.keep(dir, name);
    }
    await this.release(folder);
  }

  logs(
    folder: TaskFolder,
    query: LogQuery,
    isOver: () => Promise<boolean>,
  ): AsyncIterable<LogLine> {
    return this.#output.logs(folder, query, isOver);
  }

  async release(folder: TaskFolder): Promise<void> {
    const names = (await folder.containers()).map((entry) => `${folder.name}-${entry}`);
    await this.#cli.remove(names);
  }

  close(): void {
    this.#cli.close();
  }
}

function workDirMount({ dir, container }: ContainerLaunch): Mount {
  return { at: guestPath(container.spec.workingDir ?? "/"), host: join(dir, WORK_DIR) };
}

/** The name of the sidecar whose network a container may share: main containers do, while it runs. */
function networkOwner({ container, folder, task }: ContainerLaunch): string | undefined {
  const sidecar = container.role === "main" ? task.template.sidecars?.[0] : undefined;
  return sidecar && containerName(folder, folder.container(sidecar.name ?? "sidecar-0"));
}

function endFrom(facts: ContainerFacts): ContainerEnd {
  const { exitCode: code, startedAt, finishedAt, isOutOfMemory } = facts;
  return {
    code,
    startedAt,
    finishedAt,
    ...(isOutOfMemory && { reason: "OOMKilled" }),
  };
}

async function readEnd(dir: string): Promise<ContainerEnd | undefined> {
  try {
    return JSON.parse(await readFile(join(dir, "end"), "utf8")) as ContainerEnd;
  } catch {
    return undefined;
  }
}
