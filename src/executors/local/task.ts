/**
 * One task on this machine, from its input artifacts to its outcome. Every step can be repeated: after a restart of the
 * server, the same steps find what is done already. Nothing here knows what a container really is (see `runtime.ts`).
 */
import { errorText } from "../../base/error_text.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { durationMs } from "../../spec/duration.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import { readTailInside } from "../../platform/files/inside.ts";
import { mainContainer, planContainers } from "../container_plan.ts";
import type { PlannedContainer } from "../container_plan.ts";
import { buildEnvironment } from "./environment.ts";
import type { ContainerEnd, RunningContainer } from "./runtime.ts";
import type { Mount } from "./path_map.ts";
import type { TaskFolder } from "./scratch.ts";
import { prepareInputs } from "./task_inputs.ts";
import {
  containerOutcomes,
  type EndedContainer,
  failureOf,
  initFailure,
  usedResources,
} from "./task_outcome.ts";
import type { LocalTaskDeps, TaskPlan } from "./task_plan.ts";
import { type CollectedOutputs, collectOutputs } from "./task_outputs.ts";
import type { Report } from "../port.ts";

/** Time between asking a container to end and killing it, where nobody says otherwise. */
export const DEFAULT_GRACE_MS = 30_000;

/** How much of the end of a progress file is read: its last line is shorter. */
const MAX_PROGRESS_BYTES = 4_096;

/** Places for containers that are being started. To start a process blocks the event loop for a moment. */
const LAUNCHES = 8;

export class LocalTask {
  readonly task: TaskSpec;
  readonly folder: TaskFolder;
  readonly #deps: LocalTaskDeps;
  readonly #report: Report;
  readonly #plan: TaskPlan;
  readonly #launches = new FairLimiter(LAUNCHES);
  readonly #live = new Map<RunningContainer, string>();
  /** By the name of the container. */
  readonly #ended = new Map<string, EndedContainer>();
  #progress = "";
  readonly #stop = new AbortController();
  /** A main container has failed for good, or one could not be started. */
  #hasFailed = false;
  #isStarted = false;

  constructor(task: TaskSpec, deps: LocalTaskDeps, report: Report) {
    this.task = task;
    this.folder = deps.scratch.task(task.id);
    this.#deps = deps;
    this.#report = report;
    this.#plan = { task, folder: this.folder, containers: planContainers(task.template) };
  }

  /** Runs to the end. Undefined when it was stopped meanwhile. Never rejects. */
  async run(): Promise<TaskOutcome | undefined> {
    const kept = await this.folder.outcome();
    if (kept !== undefined) return kept;
    try {
      const mounts = await prepareInputs(this.#plan, this.#deps, this.#stop.signal);
      const outcome = await this.#runContainers(mounts) ?? await this.#finish();
      return await this.#keep(outcome);
    } catch (error) {
      // A container that is being started meanwhile is ended as soon as it runs.
      this.#hasFailed = true;
      const message = errorText(error);
      return await this.#keep({ phase: "Error", message });
    } finally {
      await this.#stopLive().catch(() => {});
    }
  }

  /** Keeps the outcome. When another server that watches the same task was first, its outcome counts. */
  async #keep(outcome: TaskOutcome): Promise<TaskOutcome | undefined> {
    if (this.#stop.signal.aborted) return undefined;
    const first = await this.folder.outcome();
    if (first !== undefined) return first;
    await this.folder.saveOutcome(outcome).catch(() => {});
    await this.#deps.runtime.release(this.folder).catch(() => {});
    return outcome;
  }

  /** Starts no more containers, and lets `run` end without an outcome. The runtime ends what is running. */
  abandon(): void {
    this.#stop.abort();
  }

  /** Notes the sizes of logs, and reports progress that is new. */
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

  /** Runs all containers in their order. Gives an outcome when an init container failed. */
  async #runContainers(mounts: Map<string, Mount[]>): Promise<TaskOutcome | undefined> {
    const of = (role: PlannedContainer["role"]) =>
      this.#plan.containers.filter((container) => container.role === role);
    for (const container of of("init")) {
      const end = await this.#runOne(container, mounts);
      if (this.#stop.signal.aborted) return undefined;
      if ("fault" in end || end.code !== 0) return initFailure(container.name, end);
    }
    const sidecars = of("sidecar").map((container) => this.#runOne(container, mounts));
    // A sidecar that can't be started ends the task. How sidecars end is looked at later.
    const failedSidecar = new Promise<never>((_, reject) => {
      for (const sidecar of sidecars) sidecar.catch(reject);
    });
    const mains = this.#runMains(of("main"), mounts);
    await (sidecars.length === 0 ? mains : Promise.race([mains, failedSidecar]));
    if (this.#stop.signal.aborted) return undefined;
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

  /** Runs a main container; in a container set again, as its retry strategy says. */
  async #runMain(container: PlannedContainer, mounts: Map<string, Mount[]>): Promise<ContainerEnd> {
    const strategy = this.task.template.containerSet?.retryStrategy;
    const retries = Math.max(0, Math.trunc(Number(strategy?.retries ?? 0)) || 0);
    for (let run = 0;; run++) {
      const end = await this.#runOne(container, mounts, run);
      if (this.#stop.signal.aborted || ("code" in end && end.code === 0)) return end;
      if (run >= retries || this.#hasFailed) {
        this.#hasFailed = true;
        // Nothing is expected of those beside it any more.
        await this.#stopLive();
        return end;
      }
      await this.#deps.clock.sleep(durationMs(strategy?.duration ?? "0"));
    }
  }

  async #runOne(
    container: PlannedContainer,
    mounts: Map<string, Mount[]>,
    run = 0,
  ): Promise<ContainerEnd> {
    const dir = this.folder.container(container.name, run);
    const launch = () => this.#launch(container, dir, mounts.get(container.name) ?? []);
    const running = await this.#launches.run("", launch);
    if (running === undefined) return { fault: "stopped" };
    this.#live.set(running, dir);
    if (this.#hasFailed) running.stop(DEFAULT_GRACE_MS).catch(() => {});
    // The cancellation came while it was being started, and may have found nothing to end.
    else if (this.#stop.signal.aborted && await this.folder.isCancelled()) {
      await this.#deps.runtime.stop(this.folder, DEFAULT_GRACE_MS);
    }
    if (container.role === "main") this.#reportStarted(running);
    const end = await running.ended;
    await running.sample?.();
    this.#live.delete(running);
    this.#ended.set(container.name, { container, end, running });
    return end;
  }

  /** Starts a container; undefined when the task was stopped meanwhile. */
  async #launch(
    container: PlannedContainer,
    dir: string,
    mounts: Mount[],
  ): Promise<RunningContainer | undefined> {
    if (this.#stop.signal.aborted) return undefined;
    const { runtime, config } = this.#deps;
    const env = await buildEnvironment(this.task, container, config, runtime.host);
    env["ARGO_PROGRESS_FILE"] = runtime.progressPath(dir);
    return await runtime.launch({
      task: this.task,
      folder: this.folder,
      dir,
      container,
      env,
      mounts,
      outputPaths: this.#outputPaths(),
    });
  }

  #reportStarted(running: RunningContainer): void {
    if (this.#isStarted || this.#stop.signal.aborted) return;
    this.#isStarted = true;
    const { host } = this.#deps.runtime;
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

  async #stopLive(): Promise<void> {
    if (this.#stop.signal.aborted) return;
    await Promise.all([...this.#live.keys()].map((running) => running.stop(DEFAULT_GRACE_MS)));
  }

  /** Outputs and outcome after all containers have ended. */
  async #finish(): Promise<TaskOutcome> {
    const ended = [...this.#ended.values()];
    const main = mainContainer(this.#plan.containers);
    const mainEnd = main && this.#ended.get(main.name);
    const { outputs, fault }: CollectedOutputs = mainEnd === undefined
      ? { outputs: {} }
      : await collectOutputs(this.#plan, mainEnd, this.#deps, this.#stop.signal);
    const failure = failureOf(ended, main) ??
      (fault && { phase: "Error" as const, message: fault });
    const outcome: TaskOutcome = { phase: "Succeeded", ...failure };
    if (Object.keys(outputs).length > 0) outcome.outputs = outputs;
    outcome.resourcesDuration = usedResources(ended);
    outcome.hostNodeName = this.#deps.runtime.host.hostName;
    if (this.task.template.containerSet !== undefined) {
      outcome.containers = containerOutcomes(ended);
    }
    return outcome;
  }
}
