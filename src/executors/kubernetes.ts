/**
 * The Kubernetes executor: one pod per task, found again by its name. A pod is created as soon as its task is started; all
 * that happens to it comes by one watch, without any polling.
 */
import type { JsonObject } from "../base/json.ts";
import { invalid, notFound } from "../base/problem.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { type KubeClient, KubeError } from "../kubernetes/kube_client.ts";
import { MAX_TIMER_MS } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Artifact } from "../spec/manifest.ts";
import { artifactScope } from "./archived_log.ts";
import { DEADLINE_MESSAGE } from "./deadline.ts";
import { ImageConfigs } from "./image_config.ts";
import { KubernetesClaims } from "./kubernetes_claims.ts";
import { INSTANCE_LABEL, podFor, TASK_ANNOTATION } from "./kubernetes_pod.ts";
import {
  hasEnded,
  hasStarted,
  isReady,
  pendingMessage,
  podOutcome,
  podProgress,
} from "./kubernetes_outcome.ts";
import type { Pod } from "./kubernetes_outcome.ts";
import { type FindUnwanted, OrphanPods } from "./orphan_pods.ts";
import { createPod, deletePod, getPod, markCompleted } from "./pod_calls.ts";
import { podLogs } from "./pod_logs.ts";
import { createPodMetrics, type PodMetrics } from "./pod_metrics.ts";
import { commandsOf } from "./pod_commands.ts";
import { archivePodLogs, podOutputs } from "./pod_outputs.ts";
import { PodWatch } from "./pod_watch.ts";
import type { PodPlace } from "./pod_watch.ts";
import type { Executor, LogLine, LogQuery, Report, WorkflowClaims } from "./port.ts";
import { memoryKey } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** How often the log of a container that begins later than its pod is asked for. */
const LOG_WAIT_MS = 500;

export interface KubernetesExecutorOptions {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  metrics: Metrics;
  memory: TaskMemory;
  /** Marks the pods of this deployment; the same on all replicas, another for another deployment. */
  instance: string;
  /** Where pods may run; none: in all namespaces. */
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
  /** For pods of workflows that name none. */
  serviceAccount?: string;
  /** Where logs are archived; absent: nowhere. */
  artifacts?: ArtifactStore;
  /** @default {21} Calls that create pods under way at once, 16 of them for one namespace. */
  maxCreating?: number;
}

interface Running {
  task: TaskSpec;
  report: Report;
  /** By the monotonic clock. */
  since: number;
  cancelDeadline(): void;
  isStarted: boolean;
  isReady: boolean;
  isEnding: boolean;
  /** Resolves when a main container runs, or when nothing more is awaited of the task. */
  begun: PromiseWithResolvers<void>;
  pending?: string;
  progress?: string;
}

export class KubernetesExecutor implements Executor {
  readonly name = "kubernetes";
  readonly #options: KubernetesExecutorOptions;
  readonly #watch: PodWatch;
  readonly #turns: FairLimiter;
  readonly #metrics: PodMetrics;
  readonly #images: ImageConfigs;
  readonly #claims: KubernetesClaims;
  readonly #running = new Map<string, Running>();
  readonly #stop = new AbortController();

  /** @throws {Problem} InvalidArgument when the call back URL is none. */
  constructor(options: KubernetesExecutorOptions) {
    if (!URL.canParse(options.callbackUrl)) {
      throw invalid(`Pods can't call back at "${options.callbackUrl}", which is no URL`);
    }
    if (!options.callbackUrl.startsWith("http:")) {
      options.log.warn(
        { callbackUrl: options.callbackUrl },
        "pods can call back by plain http only: artifacts and outputs over 3 kB will fail",
      );
    }
    this.#options = options;
    this.#images = new ImageConfigs(options.clock);
    this.#turns = new FairLimiter(options.maxCreating ?? 21);
    const { client, clock, namespaces, instance, labelPrefix, log } = options;
    this.#claims = new KubernetesClaims(client, instance, labelPrefix);
    this.#metrics = createPodMetrics(options.metrics, () => this.#running.size);
    this.#watch = new PodWatch({
      client,
      clock,
      namespaces,
      labelSelector: `${INSTANCE_LABEL}=${instance}`,
      labelPrefix,
      onPod: (pod, isGone) => this.#onPod(pod, isGone),
      onTrouble: (error) => log.warn({ err: error }, "pods can't be watched"),
    });
  }

  /** From now on removes pods of this deployment that nobody waits for, until it is closed. */
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
    const entry: Running = {
      task,
      report,
      since: this.#options.clock.monotonic(),
      cancelDeadline: () => {},
      isStarted: false,
      isReady: false,
      isEnding: false,
      begun: Promise.withResolvers(),
    };
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

  /** Creates the pod or finds it, and tries again while the cluster can't. */
  async #create(entry: Running): Promise<void> {
    const { task } = entry;
    const { clock, memory } = this.#options;
    for (let wait = FIRST_WAIT_MS; this.#isCurrent(entry); wait = Math.min(wait * 2, MAX_WAIT_MS)) {
      await this.#turns.enter(task.namespace);
      try {
        if (!this.#isCurrent(entry)) return;
        const pod = await this.#createOrFind(entry);
        if (pod === undefined) {
          return this.#settle(entry, { phase: "Error", message: "pod deleted" });
        }
        await memory.putBlob(memoryKey(task.id, "created"), new Uint8Array([1]));
        this.#watch.see(pod);
        // Cancelled while it was being created.
        if (!this.#isCurrent(entry)) await this.#delete(task.id, 0);
        return;
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        if (!(error instanceof KubeError) || !error.isTransient) {
          return this.#settle(entry, { phase: "Error", message });
        }
        this.#metrics.refused.inc({ reason: error.reason });
        entry.report({ type: "task-pending", task: task.id, message });
        wait = Math.max(wait, (error.retryAfterSeconds ?? 0) * 1000);
      } finally {
        this.#turns.leave(task.namespace);
      }
      await clock.sleep(wait / 2 + Math.random() * wait / 2, this.#stop.signal);
    }
  }

  /** Undefined when the task had a pod that is gone. */
  async #createOrFind({ task, since }: Running): Promise<Pod | undefined> {
    const { client, memory, clock } = this.#options;
    const { namespace, podName } = task;
    const wasCreated = await memory.getBlob(memoryKey(task.id, "created")) !== undefined;
    if (wasCreated) return this.#adopt(task, await getPod(client, namespace, podName));
    await this.#checkArtifacts(task);
    await this.#claims.ensure(task);
    for (;;) {
      const made = await createPod(client, await this.#pod(task));
      if (made !== undefined) {
        this.#metrics.create.observe((clock.monotonic() - since) / 1000);
        return made;
      }
      const found = await getPod(client, namespace, podName);
      if (found === undefined) continue;
      if (found.metadata.annotations?.[TASK_ANNOTATION] === task.id) {
        return this.#adopt(task, found);
      }
      // The pod of an earlier start of this node, which a retry replaces.
      await deletePod(client, { namespace, name: podName, uid: found.metadata.uid }, 0);
      if (await getPod(client, namespace, podName) !== undefined) {
        await clock.sleep(200, this.#stop.signal);
      }
    }
  }

  /** Before a pod is made in vain. @throws {Problem} for an artifact that this workflow may not have */
  async #checkArtifacts(task: TaskSpec): Promise<void> {
    const { inputs, outputs } = task.template;
    for (const artifact of [...inputs?.artifacts ?? [], ...outputs?.artifacts ?? []]) {
      await this.#options.artifacts?.check(artifact, artifactScope(task));
    }
  }

  /** The pod found, if it is the task's. @throws {Error} when another deployment watches it, so it can't here */
  #adopt(task: TaskSpec, pod: Pod | undefined): Pod | undefined {
    if (pod?.metadata.annotations?.[TASK_ANNOTATION] !== task.id) return undefined;
    const owner = pod.metadata.labels?.[INSTANCE_LABEL] ?? "";
    if (owner !== this.#options.instance) {
      throw new Error(
        `Pod ${task.podName} of this task belongs to deployment "${owner}": this server is "${this.#options.instance}" (--instance)`,
      );
    }
    this.#metrics.adopted.inc();
    return pod;
  }

  async #pod(task: TaskSpec): Promise<JsonObject> {
    const { instance, labelPrefix, helperImage, helperPullPolicy, callbackUrl, secret } = this
      .#options;
    const { serviceAccount, clock } = this.#options;
    return podFor(task, {
      instance,
      labelPrefix,
      helperImage,
      callbackUrl,
      secret,
      now: clock.now(),
      commands: await commandsOf(this.#options.client, this.#images, task, labelPrefix),
      ...(helperPullPolicy !== undefined && { helperPullPolicy }),
      ...(serviceAccount !== undefined && { serviceAccount }),
    });
  }

  #isCurrent(entry: Running): boolean {
    return this.#running.get(entry.task.id) === entry && !this.#stop.signal.aborted;
  }

  #onPod(pod: Pod, isGone: boolean): void {
    const entry = this.#running.get(pod.metadata.annotations?.[TASK_ANNOTATION] ?? "");
    if (entry === undefined || entry.isEnding) return;
    if (hasEnded(pod)) return void this.#finish(entry, pod, this.#options.clock.monotonic());
    if (isGone) return this.#settle(entry, { phase: "Error", message: "pod deleted" });
    this.#reportState(entry, pod);
  }

  #reportState(entry: Running, pod: Pod): void {
    const { id, template } = entry.task;
    if (hasStarted(pod)) {
      // Only a daemon's readiness is waited for.
      const ready = template.daemon !== true || isReady(pod);
      this.#reportProgress(entry, pod);
      if (entry.isStarted && entry.isReady === ready) return;
      entry.isStarted = true;
      entry.isReady = ready;
      entry.begun.resolve();
      const { podIP } = pod.status ?? {};
      const { nodeName } = pod.spec;
      entry.report({
        type: "task-started",
        task: id,
        ready,
        ...(podIP !== undefined && { podIP }),
        ...(nodeName !== undefined && { hostNodeName: nodeName }),
      });
      return;
    }
    const message = pendingMessage(pod);
    if (message === undefined || message === entry.pending) return;
    entry.pending = message;
    entry.report({ type: "task-pending", task: id, message });
  }

  #reportProgress(entry: Running, pod: Pod): void {
    const progress = podProgress(pod, this.#options.labelPrefix);
    if (progress === undefined || progress === entry.progress) return;
    entry.progress = progress;
    entry.report({ type: "task-progress", task: entry.task.id, progress });
  }

  /** @param seen When the end was heard of, by the monotonic clock. */
  async #finish(entry: Running, pod: Pod, seen: number): Promise<void> {
    entry.isEnding = true;
    const { task } = entry;
    const { client, clock, memory, log } = this.#options;
    if (!entry.isStarted && hasStarted(pod)) this.#reportState(entry, pod);
    this.#reportProgress(entry, pod);
    const outcome = podOutcome(pod, task);
    try {
      const { outputs, fault } = await podOutputs(task, pod, memory, this.#options.labelPrefix);
      if (Object.keys(outputs).length > 0) outcome.outputs = outputs;
      const logs = await this.#archiveLogs(task, pod);
      if (logs.length > 0) {
        outcome.outputs = { ...outputs, artifacts: [...(outputs.artifacts ?? []), ...logs] };
      }
      if (fault !== undefined && outcome.phase === "Succeeded") {
        outcome.phase = "Error";
        outcome.message = fault;
      }
    } catch (error) {
      // The store can't be reached: look again after a while.
      log.warn({ err: error, task: task.id }, "outputs can't be read");
      await clock.sleep(FIRST_WAIT_MS, this.#stop.signal);
      if (this.#isCurrent(entry)) return void this.#finish(entry, pod, seen);
      return;
    }
    this.#settle(entry, outcome);
    this.#metrics.end.observe((clock.monotonic() - seen) / 1000);
    await markCompleted(client, task.namespace, task.podName, this.#options.labelPrefix).catch(
      () => {},
    );
  }

  /** Trouble with the log doesn't fail the task. */
  async #archiveLogs(task: TaskSpec, pod: Pod): Promise<Artifact[]> {
    const { artifacts, log } = this.#options;
    if (artifacts === undefined || task.archiveLogs !== true) return [];
    try {
      const { signal } = this.#stop;
      const linesOf = (container: string) => this.logs(task, { container, follow: false, signal });
      return await archivePodLogs(task, pod, artifacts, linesOf);
    } catch (error) {
      log.warn({ err: error, task: task.id }, "logs can't be archived");
      return [];
    }
  }

  /** Reports once. */
  #settle(entry: Running, outcome: TaskOutcome): void {
    if (!this.#isCurrent(entry)) return;
    this.#forget(entry);
    entry.report({ type: "task-ended", task: entry.task.id, outcome });
  }

  #forget(entry: Running): void {
    this.#running.delete(entry.task.id);
    entry.cancelDeadline();
    entry.begun.resolve();
  }

  #armDeadline(entry: Running): void {
    const { deadline, deadlineMessage = DEADLINE_MESSAGE } = entry.task;
    if (deadline === undefined) return;
    const { clock } = this.#options;
    const look = () => {
      const left = deadline - clock.now();
      if (left > 0) {
        entry.cancelDeadline = clock.after(Math.min(left, MAX_TIMER_MS), look);
        return;
      }
      this.#settle(entry, { phase: "Failed", message: deadlineMessage });
      void this.#delete(entry.task.id, undefined);
    };
    look();
  }

  async cancel(taskId: string, graceMs: number): Promise<void> {
    const entry = this.#running.get(taskId);
    if (entry !== undefined) this.#forget(entry);
    await this.#watch.start();
    await this.#delete(taskId, graceMs);
  }

  async #delete(taskId: string, graceMs: number | undefined): Promise<void> {
    const { client, log } = this.#options;
    const place: PodPlace | undefined = this.#watch.find(taskId);
    if (place === undefined) return;
    await deletePod(client, place, graceMs).catch((error) =>
      log.warn({ err: error, task: taskId }, "pod can't be deleted")
    );
  }

  async *logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncGenerator<LogLine> {
    const { clock, client } = this.#options;
    for (;;) {
      // Before a pod is on a node, the API answers with an empty log.
      const entry = this.#running.get(task.id);
      if (entry?.isStarted === false) {
        if (!query.follow) return;
        await Promise.race([entry.begun.promise, aborted(query.signal)]);
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
        if (error.status !== 400 && error.status !== 404) throw error;
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
      await this.#delete(id, 0);
      await this.#options.memory.removeBlobs(memoryKey(id, ""));
    }
  }

  close(): Promise<void> {
    this.#stop.abort();
    this.#watch.stop();
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
