/** Log lines of a workflow's steps, merged in the order of time, live or from what is kept. */
import { createInterface } from "node:readline";
import { setImmediate } from "node:timers/promises";
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import { STEP_SIZE, type Steps } from "../base/steps.ts";
import { podName } from "../engine/names.ts";
import type { Executor, LogLine } from "../executors/port.ts";
import { matchesLabels, parseLabelSelector } from "../expr/label_selector.ts";
import { compileRegex } from "../expr/regex.ts";
import { RunContext } from "../expr/run_context.ts";
import { Turns } from "../platform/turns.ts";
import type { Artifact, NodeStatus, Workflow } from "../spec/manifest.ts";
import type { StoredActor } from "../store/port.ts";
import { requireAccess } from "./access.ts";
import { artifactScope } from "./artifacts.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";
import { objectNotFound } from "./object_names.ts";
import { readStoredWorkflow, startsOf } from "./stored_workflow.ts";
import { resolveName, type WorkflowRef } from "./workflow_reads.ts";

/** Where the lines of a task come from. */
export type LogSource = Pick<Executor, "logs">;

export interface LogRequest {
  /** Only this pod; "" or absent: all. */
  podName?: string;
  /** Only lines in which this RE2 expression is found. */
  grep?: string;
  /** Label selector over pods. */
  selector?: string;
  /** @default {"main"} */
  container?: string;
  follow?: boolean;
  /** Epoch ms of the oldest line. */
  sinceMs?: number;
  /** Put the time before each line. */
  timestamps?: boolean;
  /** Lines of each pod, counted from the end. */
  tailLines?: number;
  /** Bytes of each pod, then its lines end. */
  limitBytes?: number;
}

export interface LogEntry {
  content: string;
  podName: string;
}

/** A task whose lines are to be read. */
interface Pod {
  id: string;
  podName: string;
  namespace: string;
  /** Where its lines were archived, if they were. */
  archived: { artifact: Artifact; at: number } | undefined;
}

/** Lines that wait for a slow client. */
const MAX_WAITING = 1_000;

/** Opens the log of a workflow. Whatever can be refused is refused before the result is there. */
export async function workflowLogs(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: LogRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<LogEntry>> {
  const { namespace } = ref;
  const name = await resolveName(deps, caller, namespace, ref.name);
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  const stored = await deps.workflows.find(namespace, name);
  if (stored === undefined) throw objectNotFound(deps, WORKFLOW, name);
  const isShown = compileGrep(request.grep ?? "");
  const labels = parseLabelSelector(request.selector ?? "");
  await requireAccess(caller, { verb: "get", group: "", resource: "pods/log", namespace });
  const { logs } = deps;
  if (logs === undefined) return none();

  const workflow = await readStoredWorkflow(stored, deps, new Turns());
  const container = request.container ?? "main";
  const isOfPods = matchesLabels(labels, {
    [`${deps.settings.naming.labelPrefix}workflow`]: name,
  });
  const wanted = request.podName ?? "";
  const podsOf = (shown: Workflow, from: StoredActor): Promise<Pod[]> =>
    new Turns().run(function* (): Steps<Pod[]> {
      const pods: Pod[] = [];
      const nodes = isOfPods ? Object.values(shown.status?.nodes ?? {}) : [];
      for (const [at, node] of nodes.entries()) {
        if (at % STEP_SIZE === STEP_SIZE - 1) yield;
        if (!hasLog(node)) continue;
        const own = podName(name, node.name, node.templateRef?.template ?? node.templateName);
        if (wanted !== "" && wanted !== own) continue;
        pods.push({
          id: `${shown.metadata.uid}/${node.id}/${startsOf(from, node.id)}`,
          podName: own,
          namespace,
          archived: archivedLog(node, container),
        });
      }
      return pods;
    }());
  const follow = request.follow === true && (workflow.status?.finishedAt ?? null) === null;
  const read = (pod: Pod) => {
    const { id, podName, archived } = pod;
    const lines = logs.logs({ id, podName, namespace }, {
      container,
      follow,
      ...(request.tailLines === undefined ? {} : { tailLines: request.tailLines }),
      ...(request.sinceMs === undefined ? {} : { sinceMs: request.sinceMs }),
      signal,
    });
    const kept = archived === undefined ? none() : archivedLines(deps, workflow, archived, request);
    return limited(orElse(lines, kept), request.limitBytes);
  };
  const entry = (pod: Pod, line: LogLine): LogEntry => ({
    content: request.timestamps === true
      ? `${new Date(line.at).toISOString()} ${line.text}`
      : line.text,
    podName: pod.podName,
  });
  const lines = follow
    ? followPods(deps, {
      workflow: { namespace, name },
      first: await podsOf(workflow, stored),
      later: async (changed) => {
        const now = await deps.workflows.find(namespace, name);
        return now === undefined ? [] : await podsOf(changed, now);
      },
      after: stored.version,
      read,
      signal,
    })
    : mergeByTime(await podsOf(workflow, stored), read);
  return (async function* () {
    for await (const { pod, line } of lines) {
      if (await isShown(line.text)) yield entry(pod, line);
    }
  })();
}

/** Pods that have begun: others have no lines. */
function hasLog(node: NodeStatus): boolean {
  return node.type === "Pod" && node.phase !== "Pending" && node.phase !== "Omitted" &&
    node.phase !== "Skipped";
}

/** Steps of searching that lines may take before others get their turn. */
const STEPS_PER_TURN = 50_000;

/** @throws {Problem} InvalidArgument when it is no pattern; so does the test when a line takes too long to search */
function compileGrep(pattern: string): (text: string) => boolean | Promise<boolean> {
  if (pattern === "") return () => true;
  const compiled = explained(pattern, () => compileRegex(pattern, new RunContext()));
  let taken = 0;
  return (text) => {
    const context = new RunContext();
    const isFound = explained(pattern, () => compiled.matches(text, context));
    taken += context.stepsTaken;
    if (taken < STEPS_PER_TURN) return isFound;
    taken = 0;
    return setImmediate(isFound);
  };
}

function explained<T>(pattern: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw invalid(`failed to compile "${pattern}": ${reason}`);
  }
}

interface PodLine {
  pod: Pod;
  line: LogLine;
}

type ReadPod = (pod: Pod) => AsyncIterable<LogLine>;

interface Head extends PodLine {
  /** Of lines of one time, those of earlier pods come first. */
  order: number;
  lines: AsyncIterator<LogLine>;
}

/** Lines of several pods that have ended, oldest first. */
async function* mergeByTime(pods: readonly Pod[], read: ReadPod): AsyncIterable<PodLine> {
  const turns = new Turns();
  const heads: Head[] = [];
  for (const [order, pod] of pods.entries()) {
    const lines = read(pod)[Symbol.asyncIterator]();
    const next = await lines.next();
    if (next.done !== true) heads.push({ pod, order, lines, line: next.value });
    await turns.pause();
  }
  // A list that is sorted is a heap.
  heads.sort((a, b) => a.line.at - b.line.at || a.order - b.order);
  for (let oldest = heads[0]; oldest !== undefined; oldest = heads[0]) {
    yield { pod: oldest.pod, line: oldest.line };
    const next = await oldest.lines.next();
    if (next.done !== true) oldest.line = next.value;
    else {
      const last = heads.pop();
      if (last !== undefined && last !== oldest) heads[0] = last;
    }
    sink(heads);
    await turns.pause();
  }
}

function isBefore(a: Head, b: Head): boolean {
  return a.line.at < b.line.at || (a.line.at === b.line.at && a.order < b.order);
}

/** Brings the first of a heap to where it belongs. */
function sink(heads: Head[]): void {
  for (let at = 0;;) {
    const [own, left, right] = [heads[at], heads[2 * at + 1], heads[2 * at + 2]];
    if (own === undefined || left === undefined) return;
    const isRight = right !== undefined && isBefore(right, left);
    const least = isRight ? right : left;
    if (!isBefore(least, own)) return;
    const down = 2 * at + (isRight ? 2 : 1);
    heads[at] = least;
    heads[down] = own;
    at = down;
  }
}

interface FollowRequest {
  workflow: { namespace: string; name: string };
  first: Pod[];
  later: (workflow: Workflow) => Promise<Pod[]>;
  after: string;
  read: ReadPod;
  signal: AbortSignal;
}

/** Lines as they come, also of pods that begin later, until the workflow has ended or is gone. */
async function* followPods(deps: ServiceDeps, request: FollowRequest): AsyncIterable<PodLine> {
  const waiting: PodLine[] = [];
  const started = new Set<string>();
  let active = 0;
  let arrived = Promise.withResolvers<void>();
  let taken = Promise.withResolvers<void>();
  const stop = new AbortController();
  const signal = AbortSignal.any([request.signal, stop.signal]);

  async function pump(pod: Pod): Promise<void> {
    try {
      for await (const line of request.read(pod)) {
        while (waiting.length >= MAX_WAITING && !signal.aborted) await taken.promise;
        if (signal.aborted) return;
        waiting.push({ pod, line });
        arrived.resolve();
      }
    } catch (error) {
      deps.log.warn({ pod: pod.podName, err: error }, "log of a pod can't be read");
    } finally {
      active--;
      arrived.resolve();
    }
  }

  function start(pods: readonly Pod[]): void {
    for (const pod of pods) {
      if (started.has(pod.id)) continue;
      started.add(pod.id);
      active++;
      void pump(pod);
    }
  }

  async function watch(): Promise<void> {
    for await (const changes of deps.watches.follow(request.after, signal, request.workflow)) {
      for (const change of changes) {
        if (change.type === "DELETED") return;
        start(await request.later(change.workflow));
        if ((change.workflow.status?.finishedAt ?? null) !== null) return;
      }
    }
  }

  start(request.first);
  active++;
  void watch().catch((error: unknown) => {
    deps.log.warn({ ...request.workflow, err: error }, "log stream ended early");
  }).finally(() => {
    active--;
    arrived.resolve();
  });
  const wake = () => {
    arrived.resolve();
    taken.resolve();
  };
  request.signal.addEventListener("abort", wake);
  try {
    while (!request.signal.aborted) {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) yield next;
      taken.resolve();
      taken = Promise.withResolvers();
      if (active === 0 && waiting.length === 0) return;
      await arrived.promise;
      arrived = Promise.withResolvers();
    }
  } finally {
    request.signal.removeEventListener("abort", wake);
    stop.abort();
    wake();
  }
}

async function* limited(
  lines: AsyncIterable<LogLine>,
  limitBytes: number | undefined,
): AsyncIterable<LogLine> {
  let left = limitBytes === undefined || limitBytes <= 0 ? Infinity : limitBytes;
  for await (const line of lines) {
    left -= line.text.length + 1;
    if (left < 0) return;
    yield line;
  }
}

/** The artifact that holds a container's lines. */
function archivedLog(node: NodeStatus, container: string): Pod["archived"] {
  const artifact = node.outputs?.artifacts?.find(({ name }) => name === `${container}-logs`);
  return artifact && { artifact, at: Date.parse(node.finishedAt ?? "") || 0 };
}

/** Lines from the archive, all with the time at which the step ended. */
async function* archivedLines(
  deps: ServiceDeps,
  workflow: Workflow,
  { artifact, at }: NonNullable<Pod["archived"]>,
  { tailLines, sinceMs }: LogRequest,
): AsyncIterable<LogLine> {
  if (deps.artifacts === undefined || at < (sinceMs ?? 0)) return;
  const content = await deps.artifacts.open(artifact, artifactScope(workflow, artifact));
  if (content === undefined) return;
  const last: string[] = [];
  for await (const text of createInterface({ input: content.body, crlfDelay: Infinity })) {
    if (tailLines === undefined) yield { at, text };
    else {
      last.push(text);
      if (last.length > tailLines) last.shift();
    }
  }
  for (const text of last) yield { at, text };
}

/** The first source, or the second when that has nothing. */
async function* orElse(
  first: AsyncIterable<LogLine>,
  second: AsyncIterable<LogLine>,
): AsyncIterable<LogLine> {
  let isEmpty = true;
  for await (const line of first) {
    isEmpty = false;
    yield line;
  }
  if (isEmpty) yield* second;
}

async function* none(): AsyncIterable<never> {
  yield* [];
}
