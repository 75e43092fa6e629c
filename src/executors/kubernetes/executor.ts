/**
 * The Kubernetes executor: one pod for each task, found again by its name. The pod is created as soon as the task starts.
 * What happens to it comes through one watch, without polling.
 */
import { errorText } from "../../base/error_text.ts";
import { invalid, notFound } from "../../base/problem.ts";
import type { ArtifactStore } from "../../artifacts/port.ts";
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import { type Clock, runAt } from "../../platform/clock.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import type { Logger } from "../../platform/log.ts";
import type { Metrics } from "../../platform/metrics.ts";
import type { Artifact } from "../../spec/manifest.ts";
import { LATE } from "../deadline.ts";
import { KubernetesClaims } from "./claims.ts";
import { INSTANCE_LABEL, TASK_ANNOTATION } from "./pod_marks.ts";
import {
  hasEnded,
  hasMaybeStarted,
  hasStarted,
  haveMainsEnded,
  mustBeEnded,
  podOutcome,
} from "./outcome.ts";
import type { Pod } from "./outcome.ts";
import { type FindUnwanted, OrphanPods } from "./orphan_pods.ts";
import { deletePod, markCompleted } from "./pod_calls.ts";
import { PodEnds } from "./pod_ends.ts";
import { logTrouble, podLogs } from "./pod_logs.ts";
import { createPodMetrics, type PodMetrics } from "./pod_metrics.ts";
import { archivePodLogs, podOutputs } from "./pod_outputs.ts";
import { PodWatch } from "./pod_watch.ts";
import type { Executor, LogLine, LogQuery, Report, WorkflowClaims } from "../port.ts";
import { isPassing } from "../passing_trouble.ts";
import { memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";
import { PodCreator } from "./pod_creator.ts";
import { RunningTask } from "./running_task.ts";
import { StuckPods } from "./stuck_pods.ts";

/** Waits before a pod is created again, ms: the first and the longest one. */
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** How often the log of a container is asked for that starts later than its pod, ms. */
const LOG_WAIT_MS = 500;

export interface KubernetesExecutorOptions {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  memory: TaskMemory;
  /** Marks the pods of this deployment. The same on all replicas, and different for each deployment. */
  instance: string;
  /** Where pods may run; empty: in all namespaces. */
  namespaces: readonly string[];
  /** Image with a static `/bin/busybox`. */
  helperImage: string;
  helperPullPolicy?: string;
  /** Base URL of the server as pods reach it; plain http, inside the cluster. */
  callbackUrl: string;
  /** Prefix of the pods' labels and annotations. */
  labelPrefix: string;
  /** The deployment's secret, the same on all replicas. */
  secret: string;
  /** Service account of pods whose workflow names none. */
  serviceAccount?: string;
  /** Where logs are archived. Absent: nowhere. */
  artifacts?: ArtifactStore;
  /** Calls at once that create pods, 16 of 21 for one namespace. @default {21} */
  maxCreating?: number;
}

export class KubernetesExecutor implements Executor {
  readonly name = "kubernetes";
  readonly #options: KubernetesExecutorOptions;
  readonly #watch: PodWatch;
  readonly #turns: FairLimiter;
  readonly #metrics: PodMetrics;
  readonly #claims: KubernetesClaims;
  readonly #creator: PodCreator;
  readonly #running = new Map<string, RunningTask>();
  readonly #ends: PodEnds;
  readonly #stuck: StuckPods;
  readonly #stop = new AbortController();

  /** @throws {Problem} InvalidArgument when the call back URL is not a URL */
  constructor(options: KubernetesExecutorOptions) {
    if (!URL.canParse(options.callbackUrl)) {
      throw invalid(`Pods can't call back at "${options.callbackUrl}", which is not a URL`);
    }
    if (!options.callbackUrl.startsWith("http:")) {
      options.log.warn(
        { callbackUrl: options.callbackUrl },
        "pods can call back by plain http only: artifacts and outputs over 3 kB will fail",
      );
    }
    this.#options = options;
    this.#turns = new FairLimiter(options.maxCreating ?? 21);
    const { client, clock, namespaces, instance, labelPrefix } = options;
    this.#claims = new KubernetesClaims(client, instance, labelPrefix);
    this.#metrics = createPodMetrics(options.metrics, () => this.#running.size);
    this.#creator = new PodCreator({ ...options, metrics: this.#metrics }, this.#claims);
    this.#watch = new PodWatch({
      client,
      clock,
      namespaces,
      labelSelector: `${INSTANCE_LABEL}=${instance}`,
      labelPrefix,
      onPod: (pod, isGone) => this.#onPod(pod, isGone),
      onTrouble: (error, namespace) => this.#onWatchTrouble(error, namespace),
    });
    this.#stuck = new StuckPods(options);
    this.#ends = new PodEnds(options, (task) => this.#watch.find(task), this.#stop.signal);
  }

  /** Removes pods of this deployment that nobody waits for, until it is closed. */
  sweepOrphans(findUnwanted: FindUnwanted, everyMs?: number): void {
    const { clock, log, client } = this.#options;
    const orphans = new OrphanPods({
      clock,
      log,
      ...(everyMs !== undefined && { everyMs }),
      findUnwanted,
      pods: () => this.#watch.pods().filter(({ task }) => !this.#running.has(task)),
      remove: async (pod) => {
        await deletePod(client, pod);
        await this.#options.memory.removeBlobs(memoryKey(pod.task, ""));
        this.#metrics.orphans.inc();
      },
    });
    void this.#watch.start().then(() => orphans.run(this.#stop.signal));
  }

  refuses({ template }: TaskSpec): string | undefined {
    const { container, script, containerSet } = template;
    if (container !== undefined || script !== undefined || containerSet !== undefined) {
      return undefined;
    }
    return "The kubernetes executor runs container, script and containerSet templates only";
  }

  start(task: TaskSpec, report: Report): Promise<void> {
    if (this.#running.has(task.id) || this.#stop.signal.aborted) return Promise.resolve();
    const entry = new RunningTask(task, report, this.#options.clock.monotonic());
    this.#running.set(task.id, entry);
    const { namespaces } = this.#options;
    if (namespaces.length > 0 && !namespaces.includes(task.namespace)) {
      const message = `This server runs no pods in namespace "${task.namespace}", only in ${
        namespaces.join(", ")
      }`;
      this.#settle(entry, { phase: "Error", message });
      return Promise.resolve();
    }
    this.#armDeadline(entry);
    void this.#watch.start();
    void this.#create(entry);
    return Promise.resolve();
  }

  /** Creates or finds the pod, and tries again while the cluster can't do it, or the store does not answer. */
  async #create(entry: RunningTask): Promise<void> {
    const { task } = entry;
    const { clock, memory } = this.#options;
    for (let wait = FIRST_WAIT_MS; this.#isCurrent(entry); wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      // What the API server asks for when it is busy.
      let asked = 0;
      await this.#turns.enter(task.namespace);
      try {
        if (!this.#isCurrent(entry)) return;
        const pod = await this.#creator.ensure(task, entry.since);
        if (pod === undefined) {
          return this.#settle(entry, { phase: "Error", message: "pod deleted" });
        }
        // At once: what the watch tells meanwhile is newer.
        this.#watch.see(pod);
        await memory.putBlob(memoryKey(task.id, "created"), new Uint8Array([1]));
        if (entry.isUnwanted) this.#endUnawaited(task.id);
        return;
      } catch (error) {
        const message = errorText(error);
        if (!isPassing(error)) return this.#settle(entry, { phase: "Error", message });
        entry.report({ type: "task-pending", task: task.id, message });
        if (error instanceof KubeError) {
          this.#metrics.refused.inc({ reason: error.reason });
          asked = (error.retryAfterSeconds ?? 0) * 1000;
        }
      } finally {
        this.#turns.leave(task.namespace);
      }
      await clock.sleep(asked + wait / 2 + Math.random() * wait / 2, this.#stop.signal);
    }
  }

  #isCurrent(entry: RunningTask): boolean {
    return this.#running.get(entry.task.id) === entry && !this.#stop.signal.aborted;
  }

  #onPod(pod: Pod, isGone: boolean): void {
    const entry = this.#running.get(pod.metadata.annotations?.[TASK_ANNOTATION] ?? "");
    if (entry === undefined || entry.isEnding) return;
    const { task } = entry;
    if (!isGone && mustBeEnded(pod, task)) void this.#ends.endContainers(pod.metadata);
    if (hasEnded(pod, task) || (isGone && haveMainsEnded(pod, task))) {
      return void this.#finish(entry, pod, this.#options.clock.monotonic());
    }
    if (!isGone) {
      entry.see(pod, this.#options.labelPrefix);
      return this.#stuck.see(entry, pod);
    }
    if (entry.isStarted || hasMaybeStarted(pod, task)) {
      return this.#settle(entry, { phase: "Error", message: "pod deleted" });
    }
    void this.#createAgain(entry);
  }

  /** Says at the steps whose pods the cluster does not let be watched why nothing happens. */
  #onWatchTrouble(error: unknown, namespace: string | undefined): void {
    this.#options.log.warn({ err: error }, "pods can't be watched");
    if (isPassing(error)) return;
    for (const entry of this.#running.values()) {
      if (namespace !== undefined && entry.task.namespace !== namespace) continue;
      entry.pend(`pods can't be watched: ${errorText(error)}`);
    }
  }

  /** For a pod that was deleted before it began. Nothing has been done yet, so the task gets another one. */
  async #createAgain(entry: RunningTask): Promise<void> {
    const { clock, log, memory } = this.#options;
    const { id } = entry.task;
    while (this.#isCurrent(entry)) {
      try {
        await memory.removeBlobs(memoryKey(id, "created"));
        break;
      } catch (error) {
        log.warn({ err: error, task: id }, "a deleted pod can't be made again yet");
        await clock.sleep(FIRST_WAIT_MS, this.#stop.signal);
      }
    }
    await this.#create(entry);
  }

  /** @param seen when the end was heard of, by the monotonic clock */
  async #finish(entry: RunningTask, pod: Pod, seen: number): Promise<void> {
    entry.isEnding = true;
    const { task } = entry;
    const { client, clock, memory, log, labelPrefix } = this.#options;
    if (!entry.isStarted && hasStarted(pod, task)) entry.see(pod, labelPrefix);
    entry.seeProgress(pod, labelPrefix);
    const outcome = podOutcome(pod, task);
    try {
      const { outputs, fault } = await podOutputs(task, pod, memory, labelPrefix);
      if (Object.keys(outputs).length > 0) outcome.outputs = outputs;
      const logs = await this.#archiveLogs(task);
      if (logs.length > 0) {
        outcome.outputs = { ...outputs, artifacts: [...(outputs.artifacts ?? []), ...logs] };
      }
      if (fault !== undefined && outcome.phase === "Succeeded") {
        outcome.phase = "Error";
        outcome.message = fault;
      }
    } catch (error) {
      // The store can't be reached now.
      log.warn({ err: error, task: task.id }, "outputs can't be read");
      await clock.sleep(FIRST_WAIT_MS, this.#stop.signal);
      if (this.#isCurrent(entry)) return void this.#finish(entry, pod, seen);
      return;
    }
    this.#settle(entry, outcome);
    this.#metrics.end.observe((clock.monotonic() - seen) / 1000);
    await markCompleted(client, task.namespace, task.podName, labelPrefix).catch(() => {});
  }

  /** The logs as artifacts. When that fails, the task does not. */
  async #archiveLogs(task: TaskSpec): Promise<Artifact[]> {
    const { artifacts, log } = this.#options;
    if (artifacts === undefined || task.archiveLogs !== true) return [];
    try {
      const { signal } = this.#stop;
      const linesOf = (container: string) => this.logs(task, { container, follow: false, signal });
      return await archivePodLogs(task, artifacts, linesOf);
    } catch (error) {
      log.warn({ err: error, task: task.id }, "logs can't be archived");
      return [];
    }
  }

  /** Reports the outcome, once. */
  #settle(entry: RunningTask, outcome: TaskOutcome): void {
    if (!this.#isCurrent(entry)) return;
    this.#forget(entry);
    entry.report({ type: "task-ended", task: entry.task.id, outcome });
  }

  #forget(entry: RunningTask): void {
    this.#running.delete(entry.task.id);
    entry.forget();
  }

  #armDeadline(entry: RunningTask): void {
    const { deadline } = entry.task;
    if (deadline === undefined) return;
    entry.cancelDeadline = runAt(this.#options.clock, deadline, () => {
      entry.isUnwanted = true;
      this.#settle(entry, LATE);
      this.#endUnawaited(entry.task.id);
    });
  }

  /** Ends a pod in the background. The sweep for orphans finds what is left. */
  #endUnawaited(taskId: string): void {
    void this.#ends.endPod(taskId).catch(() => {});
  }

  /** The grace is that of the pod. */
  async cancel(taskId: string): Promise<void> {
    const entry = this.#running.get(taskId);
    if (entry !== undefined) {
      entry.isUnwanted = true;
      this.#forget(entry);
    }
    await this.#watch.start();
    await this.#ends.endPod(taskId);
  }

  async *logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncGenerator<LogLine> {
    const { clock, client } = this.#options;
    for (;;) {
      // The API gives an empty log before the pod is on a node.
      const entry = this.#running.get(task.id);
      if (entry?.isStarted === false) {
        if (!query.follow) return;
        await Promise.race([entry.begun, aborted(query.signal)]);
        if (query.signal.aborted) return;
      }
      try {
        return yield* podLogs(client, task, query);
      } catch (error) {
        if (!(error instanceof KubeError) || query.signal.aborted) throw error;
        const isWaiting = this.#running.has(task.id);
        if (error.status === 404 && !isWaiting) {
          throw notFound(
            `Logs of pod "${task.podName}" are not kept any more, or it has not started`,
          );
        }
        if (error.status !== 400 && error.status !== 404) throw logTrouble(task, error);
        // The container has not begun.
        if (!query.follow || !isWaiting) return;
      }
      await clock.sleep(LOG_WAIT_MS, query.signal);
    }
  }

  removeClaims(claims: WorkflowClaims): Promise<void> {
    return this.#claims.remove(claims);
  }

  async clean(taskIds: string[]): Promise<void> {
    await this.#watch.start();
    for (const id of taskIds) {
      if (this.#running.has(id)) continue;
      // One that is still being ended keeps its grace.
      await this.#ends.delete(id, this.#watch.find(id)?.isRunning === true ? undefined : 0);
      await this.#options.memory.removeBlobs(memoryKey(id, ""));
    }
  }

  close(): Promise<void> {
    this.#stop.abort();
    this.#watch.stop();
    this.#stuck.close();
    for (const entry of this.#running.values()) this.#forget(entry);
    this.#options.client.close();
    return Promise.resolve();
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
