/**
 * One task on this machine, from its input artifacts to its outcome. Every step can be repeated: after a restart of the
 * server the same steps find what is done already. Nothing here knows what a container really is (see `machine.ts`).
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { ConfigSource } from "../artifacts/config_source.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { durationMs } from "../engine/expressions.ts";
import type { Clock } from "../platform/clock.ts";
import { moveInside, placeText, readTailInside } from "../platform/inside.ts";
import type { Place } from "../platform/inside.ts";
import type { Artifact, Outputs } from "../spec/manifest.ts";
import { artifactScope, saveLog, writeLines } from "./archived_log.ts";
import { MAX_PARAMETER_BYTES, readParameters, resultFrom } from "./capture.ts";
import { planContainers } from "./container_plan.ts";
import type { PlannedContainer } from "./container_plan.ts";
import { buildEnvironment } from "./environment.ts";
import type { ContainerEnd, Machine, RunningContainer } from "./machine.ts";
import { createPathMap, guestPath } from "./path_map.ts";
import type { Mount } from "./path_map.ts";
import { addResources, resourcesDuration } from "./resources_duration.ts";
import type { Scratch, TaskFolder } from "./scratch.ts";
import { mountVolumes } from "./volumes.ts";
import type { Report } from "./port.ts";

/** Time between asking a container to end and ending it, where nobody says otherwise. */
export const DEFAULT_GRACE_MS = 30_000;

/** The last line of a progress file is shorter. */
const MAX_PROGRESS_BYTES = 4_096;

export interface LocalTaskDeps {
  machine: Machine;
  scratch: Scratch;
  /** Absent: artifacts fail with a message. */
  artifacts: ArtifactStore | undefined;
  config: ConfigSource;
  clock: Clock;
  /** Most bytes of one artifact. */
  maxArtifactBytes: number;
}

/** Ended containers of a task, by name. */
interface Ended {
  container: PlannedContainer;
  end: ContainerEnd;
  running?: RunningContainer;
}

export class LocalTask {
  readonly task: TaskSpec;
  readonly folder: TaskFolder;
  readonly #deps: LocalTaskDeps;
  readonly #report: Report;
  readonly #containers: PlannedContainer[];
  readonly #live = new Map<RunningContainer, string>();
  readonly #ended = new Map<string, Ended>();
  #progress = "";
  #isStopped = false;
  #isStarted = false;

  constructor(task: TaskSpec, deps: LocalTaskDeps, report: Report) {
    this.task = task;
    this.folder = deps.scratch.task(task.id);
    this.#deps = deps;
    this.#report = report;
    this.#containers = planContainers(task.template);
  }

  /** Runs to the end. Undefined when it was stopped meanwhile. Never rejects. */
  async run(): Promise<TaskOutcome | undefined> {
    const kept = await this.folder.outcome();
    if (kept !== undefined) return kept;
    try {
      const mounts = await this.#prepare();
      const outcome = await this.#runContainers(mounts) ?? await this.#finish();
      return await this.#keep(outcome);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      return await this.#keep({ phase: "Error", message });
    } finally {
      await this.#stopLive();
    }
  }

  /** Keeps the outcome, unless another server that watches the same task was first: then that one counts. */
  async #keep(outcome: TaskOutcome): Promise<TaskOutcome | undefined> {
    if (this.#isStopped) return undefined;
    const first = await this.folder.outcome();
    if (first !== undefined) return first;
    await this.folder.saveOutcome(outcome).catch(() => {});
    await this.#deps.machine.release(this.folder).catch(() => {});
    return outcome;
  }

  /** Starts no more containers and lets `run` end without an outcome. What runs is ended by the machine. */
  abandon(): void {
    this.#isStopped = true;
  }

  /** Notes sizes of logs, and reports progress when it changed. */
  async sample(): Promise<void> {
    for (const [running, dir] of this.#live) {
      await running.sample?.();
      const place = { root: dir, path: "progress" };
      const text = (await readTailInside(place, MAX_PROGRESS_BYTES)).toString("utf8");
      const progress = /^\s*(\d+\/\d+)\s*$/m.exec(text.trim().split("\n").at(-1) ?? "");
      if (progress?.[1] === undefined || progress[1] === this.#progress) continue;
      this.#progress = progress[1];
      this.#report({ type: "task-progress", task: this.task.id, progress: progress[1] });
    }
  }

  /** Folders, volumes of all containers, input artifacts. */
  async #prepare(): Promise<Map<string, Mount[]>> {
    const { scratch, config } = this.#deps;
    await mkdir(this.folder.work, { recursive: true });
    await mkdir(this.folder.root, { recursive: true });
    const mounts = new Map<string, Mount[]>();
    for (const container of this.#containers) {
      const sources = { scratch, folder: this.folder, config };
      mounts.set(container.name, await mountVolumes(this.task, container, sources));
    }
    const inputs = (this.task.template.inputs?.artifacts ?? []).filter((input) =>
      input.path !== undefined
    );
    const main = this.#mainContainer();
    const volumes = createPathMap(mounts.get(main?.name ?? "") ?? []);
    for (const input of inputs) {
      const at = guestPath(input.path ?? "");
      if (at === "/") throw new Error(`Input artifact "${input.name}" can't have the path "/"`);
      const inVolume = volumes.place(at);
      const place = inVolume ?? this.#deps.machine.inputPlace?.(this.folder, at);
      if (!await this.#fetch(input, place) || inVolume !== undefined) continue;
      const mount = place === undefined
        ? { at, host: this.folder.fetched(input.name) }
        : { at, host: placeText(place), root: place.root };
      for (const container of this.#containers) {
        if (container.role === "main") mounts.get(container.name)?.push(mount);
      }
    }
    return mounts;
  }

  /**
   * False when an optional artifact isn't there. Fetched once, into a folder of the server's; from there it is moved to
   * where steps may write, if it has to lie there.
   */
  async #fetch(input: Artifact, place: Place | undefined): Promise<boolean> {
    const mark = this.folder.input(input.name);
    const done = await readFile(mark, "utf8").catch(() => undefined);
    if (done !== undefined) return done === "there";
    const { artifacts } = this.#deps;
    if (artifacts === undefined) throw new Error(noArtifacts(input.name));
    const fetched = this.folder.fetched(input.name);
    await mkdir(dirname(fetched), { recursive: true });
    const found = await artifacts.fetch(input, fetched, artifactScope(this.task));
    if (!found && input.optional !== true) {
      throw new Error(`Input artifact "${input.name}" does not exist in its repository`);
    }
    if (found && place !== undefined) await moveInside(fetched, place);
    await mkdir(dirname(mark), { recursive: true });
    await writeFile(mark, found ? "there" : "missing");
    return found;
  }

  /** Runs all containers in their order; an outcome when one of the first ones failed. */
  async #runContainers(mounts: Map<string, Mount[]>): Promise<TaskOutcome | undefined> {
    const of = (role: PlannedContainer["role"]) =>
      this.#containers.filter((container) => container.role === role);
    for (const container of of("init")) {
      const end = await this.#runOne(container, mounts);
      if (this.#isStopped) return undefined;
      if ("fault" in end || end.code !== 0) {
        return { phase: "Error", message: describeEnd(container.name, end) };
      }
    }
    const sidecars = of("sidecar").map((container) => this.#runOne(container, mounts));
    // A sidecar that can't be started ends the task; one that ends is looked at later.
    const failedSidecar = new Promise<never>((_, reject) => {
      for (const sidecar of sidecars) sidecar.catch(reject);
    });
    const mains = this.#runMains(of("main"), mounts);
    await (sidecars.length === 0 ? mains : Promise.race([mains, failedSidecar]));
    if (this.#isStopped) return undefined;
    await this.#stopLive();
    await Promise.all(sidecars);
    return undefined;
  }

  /** Main containers, each after those it depends on. */
  async #runMains(mains: PlannedContainer[], mounts: Map<string, Mount[]>): Promise<void> {
    const ends = new Map<string, Promise<ContainerEnd>>();
    const endOf = (container: PlannedContainer): Promise<ContainerEnd> => {
      const known = ends.get(container.name);
      if (known !== undefined) return known;
      const end = (async () => {
        for (const name of container.dependencies) {
          const dependency = mains.find((other) => other.name === name);
          if (dependency === undefined) continue;
          const before = await endOf(dependency);
          if ("fault" in before || before.code !== 0) {
            this.#ended.set(container.name, { container, end: before });
            return before;
          }
        }
        return await this.#runMain(container, mounts);
      })();
      ends.set(container.name, end);
      return end;
    };
    await Promise.all(mains.map(endOf));
  }

  /** A container of a set is run again in place as its retry strategy says. */
  async #runMain(container: PlannedContainer, mounts: Map<string, Mount[]>): Promise<ContainerEnd> {
    const strategy = this.task.template.containerSet?.retryStrategy;
    const retries = Math.max(0, Math.trunc(Number(strategy?.retries ?? 0)) || 0);
    for (let run = 0;; run++) {
      const end = await this.#runOne(container, mounts, run);
      if (this.#isStopped || ("code" in end && end.code === 0) || run >= retries) return end;
      await this.#deps.clock.sleep(durationMs(strategy?.duration ?? "0"));
    }
  }

  async #runOne(
    container: PlannedContainer,
    mounts: Map<string, Mount[]>,
    run = 0,
  ): Promise<ContainerEnd> {
    if (this.#isStopped) return { fault: "stopped" };
    const { machine, config } = this.#deps;
    const dir = this.folder.container(container.name, run);
    const env = await buildEnvironment(this.task, container, config, machine.host);
    env["ARGO_PROGRESS_FILE"] = machine.progressPath(dir);
    const running = await machine.launch({
      task: this.task,
      folder: this.folder,
      dir,
      container,
      env,
      mounts: mounts.get(container.name) ?? [],
      outputPaths: this.#outputPaths(),
    });
    this.#live.set(running, dir);
    if (container.role === "main") this.#reportStarted(running);
    const end = await running.ended;
    await running.sample?.();
    this.#live.delete(running);
    this.#ended.set(container.name, { container, end, running });
    return end;
  }

  #reportStarted(running: RunningContainer): void {
    if (this.#isStarted || this.#isStopped) return;
    this.#isStarted = true;
    const { host } = this.#deps.machine;
    this.#report({
      type: "task-started",
      task: this.task.id,
      podIP: running.podIp ?? host.podIp,
      hostNodeName: host.hostName,
      ready: true,
    });
  }

  #outputPaths(): string[] {
    const { parameters = [], artifacts = [] } = this.task.template.outputs ?? {};
    return [
      ...parameters.map((parameter) => parameter.valueFrom?.path),
      ...artifacts.map((artifact) => artifact.path),
    ].filter((path) => path !== undefined);
  }

  /** The container whose outputs count. */
  #mainContainer(): PlannedContainer | undefined {
    const mains = this.#containers.filter((container) => container.role === "main");
    return mains.find((container) => container.name === "main");
  }

  async #stopLive(): Promise<void> {
    if (this.#isStopped) return;
    await Promise.all([...this.#live.keys()].map((running) => running.stop(DEFAULT_GRACE_MS)));
  }

  /** Outputs and outcome after all containers ended. */
  async #finish(): Promise<TaskOutcome> {
    const { outputs, fault } = await this.#collect();
    const failure = this.#failure() ?? (fault && { phase: "Error" as const, message: fault });
    const outcome: TaskOutcome = { phase: "Succeeded", ...failure };
    if (Object.keys(outputs).length > 0) outcome.outputs = outputs;
    outcome.resourcesDuration = this.#resources();
    outcome.hostNodeName = this.#deps.machine.host.hostName;
    if (this.task.template.containerSet !== undefined) {
      outcome.containers = this.#containerOutcomes();
    }
    return outcome;
  }

  /** The first container that ended badly: the main one, other main ones, then sidecars. */
  #failure(): { phase: "Failed" | "Error"; message: string } | undefined {
    const main = this.#mainContainer();
    const rank = ({ container }: Ended) =>
      container === main ? 0 : container.role === "main" ? 1 : 2;
    for (const ended of [...this.#ended.values()].sort((a, b) => rank(a) - rank(b))) {
      const { container, end } = ended;
      if (container.role === "init") continue;
      if ("fault" in end) return { phase: "Error", message: describeEnd(container.name, end) };
      // A sidecar is ended by us.
      if (container.role === "sidecar" && (end.code === 143 || end.code === 137)) continue;
      if (end.code !== 0) return { phase: "Failed", message: describeEnd(container.name, end) };
    }
    return undefined;
  }

  async #collect(): Promise<{ outputs: Outputs; fault?: string }> {
    const outputs: Outputs = {};
    const main = this.#ended.get(this.#mainContainer()?.name ?? "");
    if (main === undefined) return { outputs };
    if ("code" in main.end) outputs.exitCode = String(main.end.code);
    const { running } = main;
    if (running === undefined) return { outputs };
    if (this.task.includeResult) outputs.result = resultFrom(await running.stdout());
    const { parameters = [], artifacts = [] } = this.task.template.outputs ?? {};
    let fault: string | undefined;
    if (parameters.length > 0) {
      const read = await readParameters(
        parameters,
        (path) => running.locate(path, MAX_PARAMETER_BYTES),
      );
      outputs.parameters = read.parameters;
      fault = read.fault;
    }
    const saved: Artifact[] = [];
    for (const artifact of artifacts) {
      try {
        const kept = await this.#save(artifact, running);
        if (kept !== undefined) saved.push(kept);
      } catch (error) {
        fault ??= error instanceof Error ? error.message : String(error);
      }
    }
    if (this.task.archiveLogs === true) saved.push(...await this.#archiveLogs());
    if (saved.length > 0) outputs.artifacts = saved;
    return fault === undefined ? { outputs } : { outputs, fault };
  }

  /** Undefined when an optional artifact isn't there. */
  async #save(artifact: Artifact, running: RunningContainer): Promise<Artifact | undefined> {
    const { artifacts, maxArtifactBytes } = this.#deps;
    if (artifact.path === undefined) return artifact;
    const place = await running.locate(artifact.path, maxArtifactBytes);
    if (place === undefined) {
      if (artifact.optional === true) return undefined;
      throw new Error(
        `Cannot save output artifact "${artifact.name}": ${artifact.path} no such file or directory`,
      );
    }
    if (artifacts === undefined) throw new Error(noArtifacts(artifact.name));
    return await artifacts.save(
      artifact,
      place,
      this.task.artifactPrefix,
      artifactScope(this.task),
    );
  }

  /** Logs of the main containers as artifacts named `<container>-logs`; trouble doesn't fail the task. */
  async #archiveLogs(): Promise<Artifact[]> {
    const { artifacts, machine } = this.#deps;
    if (artifacts === undefined) return [];
    const saved: Artifact[] = [];
    for (const { name, role } of this.#containers) {
      if (role !== "main") continue;
      const place = { root: this.folder.dir, path: `logs/${name}.log` };
      const query = { container: name, follow: false, signal: new AbortController().signal };
      await writeLines(place, machine.logs(this.folder, query, () => Promise.resolve(true)));
      const kept = await saveLog(artifacts, name, place, this.task).catch(() => undefined);
      if (kept !== undefined) saved.push(kept);
    }
    return saved;
  }

  #resources(): Record<string, number> {
    let sum: Record<string, number> = {};
    for (const { container, end } of this.#ended.values()) {
      if ("fault" in end) continue;
      const seconds = (end.finishedAt - end.startedAt) / 1000;
      sum = addResources(sum, resourcesDuration(container.spec, seconds));
    }
    return sum;
  }

  #containerOutcomes(): NonNullable<TaskOutcome["containers"]> {
    const outcomes: NonNullable<TaskOutcome["containers"]> = {};
    for (const { container, end } of this.#ended.values()) {
      if (container.role !== "main") continue;
      if ("fault" in end) {
        outcomes[container.name] = { phase: "Error", message: describeEnd(container.name, end) };
        continue;
      }
      const failed = end.code !== 0;
      outcomes[container.name] = {
        phase: failed ? "Failed" : "Succeeded",
        // The reference puts the container's own, empty, message behind the colon.
        ...(failed && { message: `${describeEnd(container.name, end)}: ` }),
        exitCode: String(end.code),
      };
    }
    return outcomes;
  }
}

function describeEnd(container: string, end: ContainerEnd): string {
  return "fault" in end
    ? `${container}: ${end.fault}`
    : `${container}: ${end.reason ?? "Error"} (exit code ${end.code})`;
}

function noArtifacts(name: string): string {
  return `Artifact "${name}" can't be handled: this server has no artifact repository (see --artifacts)`;
}
