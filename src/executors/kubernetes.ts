/**
 * The Kubernetes executor: one pod per task, found again by its name. A pod is created as soon as its task is started; all
 * that happens to it comes by one watch, without any polling.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { invalid, notFound } from "../base/problem.ts";
import type { ArtifactStore } from "../artifacts/port.ts";
import type { TaskOutcome } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";
import { MAX_TIMER_MS } from "../platform/clock.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import { LABEL_PREFIX } from "../spec/manifest.ts";
import type { Artifact, Outputs } from "../spec/manifest.ts";
import { saveLog, writeLines } from "./archived_log.ts";
import { DEADLINE_MESSAGE } from "./deadline.ts";
import { KubeClient, KubeError } from "../kubernetes/kube_client.ts";
import { INSTANCE_LABEL, needsWrapper, podFor, TASK_ANNOTATION } from "./kubernetes_pod.ts";
import {
  hasEnded,
  hasStarted,
  isReady,
  mainExit,
  pendingMessage,
  podOutcome,
} from "./kubernetes_outcome.ts";
import type { Pod } from "./kubernetes_outcome.ts";
import { PodWatch } from "./pod_watch.ts";
import type { PodPlace } from "./pod_watch.ts";
import type { Executor, LogLine, LogQuery, Report } from "./port.ts";
import { memoryKey, outputsFromReport, reportInMessage, taskToken } from "./task_report.ts";
import type { TaskMemory } from "./task_report.ts";
import { Turns } from "./turns.ts";

const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 30_000;
/** How often a followed log is asked for while its container has not begun. */
const LOG_WAIT_MS = 500;

export interface KubernetesExecutorOptions {
  client: KubeClient;
  clock: Clock;
  log: Logger;
  memory: TaskMemory;
  /** Marks the pods of this deployment; the same on all replicas, another for another deployment. */
  instance: string;
  /** Absent: all namespaces. */
  namespace?: string;
  /** Image with a static `/bin/busybox`. */
  helperImage: string;
  helperPullPolicy?: string;
  /** Base URL of the server as pods reach it; plain http, inside the cluster. */
  callbackUrl: string;
  /** The deployment's secret, the same on all replicas. */
  secret: string;
  /** For pods of workflows that name none. */
  serviceAccount?: string;
  /** Where logs are archived; absent: nowhere. */
  artifacts?: ArtifactStore;
  /** @default {16} Calls that create pods under way at once. */
  maxCreating?: number;
}

interface Running {
  task: TaskSpec;
  report: Report;
  cancelDeadline(): void;
  isStarted: boolean;
  isReady: boolean;
  isEnding: boolean;
  pending?: string;
}

export class KubernetesExecutor implements Executor {
  readonly name = "kubernetes";
  readonly #options: KubernetesExecutorOptions;
  readonly #watch: PodWatch;
  readonly #turns: Turns;
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
    this.#turns = new Turns(options.maxCreating ?? 16);
    const { client, clock, namespace, instance, log } = options;
    this.#watch = new PodWatch({
      client,
      clock,
      ...(namespace !== undefined && { namespace }),
      labelSelector: `${INSTANCE_LABEL}=${instance}`,
      onPod: (pod, isGone) => this.#onPod(pod, isGone),
      onTrouble: (error) => log.warn({ err: error }, "pods can't be watched"),
    });
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
      cancelDeadline: () => {},
      isStarted: false,
      isReady: false,
      isEnding: false,
    };
    this.#running.set(task.id, entry);
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
      await this.#turns.take();
      try {
        if (!this.#isCurrent(entry)) return;
        const pod = await this.#createOrFind(task);
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
        entry.report({ type: "task-pending", task: task.id, message });
        wait = Math.max(wait, (error.retryAfterSeconds ?? 0) * 1000);
      } finally {
        this.#turns.release();
      }
      await clock.sleep(wait / 2 + Math.random() * wait / 2, this.#stop.signal);
    }
  }

  /** Undefined when the task had a pod that is gone. */
  async #createOrFind(task: TaskSpec): Promise<Pod | undefined> {
    const { client, memory, clock } = this.#options;
    const path = podsPath(task.namespace);
    const wasCreated = await memory.getBlob(memoryKey(task.id, "created")) !== undefined;
    if (wasCreated) {
      const found = await this.#get(task.namespace, task.podName);
      return found?.metadata.annotations?.[TASK_ANNOTATION] === task.id ? found : undefined;
    }
    for (;;) {
      try {
        return await client.call<Pod>({ method: "POST", path, body: this.#pod(task) });
      } catch (error) {
        if (!(error instanceof KubeError) || error.reason !== "AlreadyExists") throw error;
      }
      const found = await this.#get(task.namespace, task.podName);
      if (found === undefined) continue;
      if (found.metadata.annotations?.[TASK_ANNOTATION] === task.id) return found;
      // The pod of an earlier start of this node, which a retry replaces.
      await this.#deletePod({
        namespace: task.namespace,
        name: task.podName,
        uid: found.metadata.uid,
      }, 0);
      await clock.sleep(200, this.#stop.signal);
    }
  }

  #pod(task: TaskSpec) {
    const { instance, helperImage, helperPullPolicy, callbackUrl, secret, serviceAccount, clock } =
      this.#options;
    return podFor(task, {
      instance,
      helperImage,
      callbackUrl,
      token: taskToken(secret, task.id),
      now: clock.now(),
      ...(helperPullPolicy !== undefined && { helperPullPolicy }),
      ...(serviceAccount !== undefined && { serviceAccount }),
    });
  }

  async #get(namespace: string, name: string): Promise<Pod | undefined> {
    try {
      return await this.#options.client.call<Pod>({ path: `${podsPath(namespace)}/${name}` });
    } catch (error) {
      if (error instanceof KubeError && error.status === 404) return undefined;
      throw error;
    }
  }

  #isCurrent(entry: Running): boolean {
    return this.#running.get(entry.task.id) === entry && !this.#stop.signal.aborted;
  }

  #onPod(pod: Pod, isGone: boolean): void {
    const entry = this.#running.get(pod.metadata.annotations?.[TASK_ANNOTATION] ?? "");
    if (entry === undefined || entry.isEnding) return;
    if (hasEnded(pod)) return void this.#finish(entry, pod);
    if (isGone) return this.#settle(entry, { phase: "Error", message: "pod deleted" });
    this.#reportProgress(entry, pod);
  }

  #reportProgress(entry: Running, pod: Pod): void {
    const { id, template } = entry.task;
    if (hasStarted(pod)) {
      // Only a daemon's readiness is waited for.
      const ready = template.daemon !== true || isReady(pod);
      if (entry.isStarted && entry.isReady === ready) return;
      entry.isStarted = true;
      entry.isReady = ready;
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

  async #finish(entry: Running, pod: Pod): Promise<void> {
    entry.isEnding = true;
    const { task } = entry;
    if (!entry.isStarted && hasStarted(pod)) this.#reportProgress(entry, pod);
    const outcome = podOutcome(pod, task);
    try {
      const { outputs, fault } = await this.#outputs(task, pod);
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
      // The store can't be reached: look again with the next event, or after a while.
      this.#options.log.warn({ err: error, task: task.id }, "outputs can't be read");
      await this.#options.clock.sleep(FIRST_WAIT_MS, this.#stop.signal);
      if (this.#isCurrent(entry)) return void this.#finish(entry, pod);
      return;
    }
    this.#settle(entry, outcome);
    const body = { metadata: { labels: { [`${LABEL_PREFIX}completed`]: "true" } } };
    const path = `${podsPath(task.namespace)}/${task.podName}`;
    await this.#options.client.call({ method: "PATCH", path, body }).catch(() => {});
  }

  async #outputs(task: TaskSpec, pod: Pod): Promise<{ outputs: Outputs; fault?: string }> {
    const exit = mainExit(pod);
    const own: Outputs = exit === undefined ? {} : { exitCode: String(exit.code) };
    if (!needsWrapper(task)) return { outputs: own };
    const messages = (pod.status?.containerStatuses ?? []).map(({ state }) =>
      state?.terminated?.message ?? ""
    );
    for (const message of messages) {
      const inline = await reportInMessage(message);
      if (inline === undefined) continue;
      const report = inline.length > 0
        ? inline
        : await this.#options.memory.getBlob(memoryKey(task.id, "outputs"));
      if (report === undefined) return { outputs: own, fault: "outputs of the pod are lost" };
      const read = await outputsFromReport(report, task.template);
      return { ...read, outputs: { ...read.outputs, ...own } };
    }
    // Nothing was written: everything takes its default, or is missing.
    const read = await outputsFromReport(EMPTY_TAR, task.template);
    if (task.includeResult && exit?.code === 0) read.outputs.result = "";
    return { ...read, outputs: { ...read.outputs, ...own } };
  }

  /** Logs of the main containers as artifacts named `<container>-logs`; trouble doesn't fail the task. */
  async #archiveLogs(task: TaskSpec, pod: Pod): Promise<Artifact[]> {
    const { artifacts, log } = this.#options;
    if (artifacts === undefined || task.archiveLogs !== true) return [];
    const folder = await mkdtemp(join(tmpdir(), "sluice-logs-"));
    const saved: Artifact[] = [];
    try {
      for (const { name } of pod.spec.containers) {
        const path = join(folder, `${name}.log`);
        const query = { container: name, follow: false, signal: this.#stop.signal };
        await writeLines(path, this.logs(task, query));
        saved.push(await saveLog(artifacts, name, path, task));
      }
    } catch (error) {
      log.warn({ err: error, task: task.id }, "logs can't be archived");
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
    return saved;
  }

  /** Reports once. */
  #settle(entry: Running, outcome: TaskOutcome): void {
    if (!this.#isCurrent(entry)) return;
    this.#running.delete(entry.task.id);
    entry.cancelDeadline();
    entry.report({ type: "task-ended", task: entry.task.id, outcome });
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
    this.#running.delete(taskId);
    entry?.cancelDeadline();
    await this.#watch.start();
    await this.#delete(taskId, graceMs);
  }

  async #delete(taskId: string, graceMs: number | undefined): Promise<void> {
    const place = this.#watch.find(taskId);
    if (place === undefined) return;
    await this.#deletePod(place, graceMs).catch((error) =>
      this.#options.log.warn({ err: error, task: taskId }, "pod can't be deleted")
    );
  }

  async #deletePod({ namespace, name, uid }: PodPlace, graceMs: number | undefined): Promise<void> {
    try {
      await this.#options.client.call({
        method: "DELETE",
        path: `${podsPath(namespace)}/${name}`,
        body: {
          apiVersion: "v1",
          kind: "DeleteOptions",
          preconditions: { uid },
          ...(graceMs !== undefined && { gracePeriodSeconds: Math.ceil(graceMs / 1000) }),
        },
      });
    } catch (error) {
      // Gone, or another pod has its name.
      if (!(error instanceof KubeError && (error.status === 404 || error.status === 409))) {
        throw error;
      }
    }
  }

  async *logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncGenerator<LogLine> {
    const path = `${podsPath(task.namespace)}/${task.podName}/log`;
    const { clock, client } = this.#options;
    for (;;) {
      // Before a pod is on a node, the API answers with an empty log.
      while (this.#running.get(task.id)?.isStarted === false) {
        if (!query.follow || query.signal.aborted) return;
        await clock.sleep(LOG_WAIT_MS, query.signal);
      }
      try {
        const lines = client.lines({
          path,
          signal: query.signal,
          query: {
            container: query.container,
            timestamps: "true",
            follow: String(query.follow),
            ...(query.tailLines !== undefined && { tailLines: String(query.tailLines) }),
            ...(query.sinceMs !== undefined && {
              sinceTime: new Date(query.sinceMs).toISOString(),
            }),
          },
        });
        for await (const line of lines) {
          const blank = line.indexOf(" ");
          const at = Date.parse(blank < 0 ? line : line.slice(0, blank));
          if (at >= (query.sinceMs ?? 0)) {
            yield { at, text: blank < 0 ? "" : line.slice(blank + 1) };
          }
        }
        return;
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
    for (const entry of this.#running.values()) entry.cancelDeadline();
    this.#running.clear();
    this.#options.client.close();
    return Promise.resolve();
  }
}

const EMPTY_TAR = new Uint8Array(1024);

function podsPath(namespace: string): string {
  return `/api/v1/namespaces/${namespace}/pods`;
}
