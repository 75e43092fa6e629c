/** Log lines of a workflow's steps in the order of time, live or from what is kept. */
import type { Caller } from "../../auth/port.ts";
import { errorText } from "../../base/error_text.ts";
import { invalid } from "../../base/problem.ts";
import type { LogLine } from "../../executors/port.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { compileRegex } from "../../expr/values/regex.ts";
import { RunContext } from "../../expr/values/run_context.ts";
import { nextTurn } from "../../platform/clock.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import type { StoredActor } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { allowedName, findStored, type WorkflowRef } from "../workflows/reads.ts";
import { readStoredWorkflow } from "../workflows/stored_workflow.ts";
import { LogFollower } from "./follower.ts";
import { mergeByTime } from "./merge.ts";
import { type Pod, type PodLine, podReader, type PodSelection, podsOf } from "./pods.ts";

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

/** Opens the log of a workflow. Whatever can be refused is refused before this resolves. */
export async function workflowLogs(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: LogRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<LogEntry>> {
  const { namespace } = ref;
  const name = await allowedName(deps, caller, ref, "get");
  // Not the version of the workflow: changes after that may be gone from the feed for long.
  const after = request.follow === true ? await deps.store.query.version() : "";
  const stored = await findStored(deps, namespace, name);
  const isFound = compileGrep(request.grep ?? "");
  const labels = parseLabelSelector(request.selector ?? "");
  await requireAccess(caller, { verb: "get", group: "", resource: "pods/log", namespace });
  const selection: PodSelection = {
    labels,
    labelPrefix: deps.settings.naming.labelPrefix,
    podName: request.podName ?? "",
    container: request.container ?? "main",
  };
  const workflow = await readStoredWorkflow(stored, deps, new Turns());
  const found = { stored, workflow, after };
  const lines = await podLines(deps, found, selection, request, signal);
  return entriesOf(lines, isFound, request.timestamps === true);
}

interface Found {
  stored: StoredActor;
  workflow: Workflow;
  /** Version of the store before they were read, if the log is followed. */
  after: Version;
}

async function podLines(
  deps: ServiceDeps,
  { stored, workflow, after }: Found,
  selection: PodSelection,
  request: LogRequest,
  signal: AbortSignal,
): Promise<AsyncIterable<PodLine>> {
  const pods = await podsOf(workflow, stored, selection);
  const isOver = (workflow.status?.finishedAt ?? null) !== null;
  const follow = request.follow === true && !isOver;
  const readPast = podReader(deps, workflow, { ...request, follow: false, signal });
  if (!follow) return mergeByTime(pods, readPast);
  const { namespace = "", name = "" } = workflow.metadata;
  return new LogFollower(deps, {
    workflow: { namespace, name },
    after,
    read: podReader(deps, workflow, { ...request, follow, signal }),
    readPast,
    signal,
    look: async () => {
      const after = await deps.store.query.version();
      const now = await deps.workflows.find(namespace, name);
      return now && { workflow: await readStoredWorkflow(now, deps, new Turns()), after };
    },
    laterPods: async (changed): Promise<Pod[]> => {
      const now = await deps.workflows.find(namespace, name);
      return now === undefined ? [] : await podsOf(changed, now, selection);
    },
  }).lines(pods);
}

async function* entriesOf(
  lines: AsyncIterable<PodLine>,
  isFound: TestLine,
  hasTimes: boolean,
): AsyncIterable<LogEntry> {
  for await (const { pod: { podName }, line } of lines) {
    if (await isFound(line.text)) yield { content: contentOf(line, hasTimes), podName };
  }
}

function contentOf({ at, text }: LogLine, hasTime: boolean): string {
  return hasTime ? `${new Date(at).toISOString()} ${text}` : text;
}

/** Steps of searching that lines may take before others get their turn. */
const STEPS_PER_TURN = 50_000;

type TestLine = (text: string) => boolean | Promise<boolean>;

/**
 * Tests lines by an RE2 expression. The test throws, too, when a line takes too long to search.
 * @throws {Problem} InvalidArgument when it is no expression
 */
function compileGrep(pattern: string): TestLine {
  if (pattern === "") return () => true;
  const compiled = orRefuse(pattern, () => compileRegex(pattern, new RunContext()));
  let taken = 0;
  return (text) => {
    const context = new RunContext();
    const isFound = orRefuse(pattern, () => compiled.matches(text, context));
    taken += context.stepsTaken;
    if (taken < STEPS_PER_TURN) return isFound;
    taken = 0;
    return nextTurn().then(() => isFound);
  };
}

function orRefuse<T>(pattern: string, run: () => T): T {
  try {
    return run();
  } catch (cause) {
    throw invalid(`failed to compile "${pattern}": ${errorText(cause)}`);
  }
}
