/** Lines of logs. */
import type { LogLine } from "../../../client/answer.ts";
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { linesToTheEnd, NewLines } from "../../../client/followed_log.ts";
import { api, isPassing } from "./api.ts";
import { rest } from "./watch.ts";

/** The name of a node's pod, by which logs and events know it. */
export function podOf(workflow: Workflow, node: NodeStatus): string {
  const { name = "" } = workflow.metadata;
  if (node.name === name) return name;
  const template = node.templateRef?.template ?? node.templateName ?? "";
  const prefix = template === "" ? name : `${name}-${template}`;
  return `${prefix.slice(0, 242)}-${node.id.slice(name.length + 1)}`;
}

export interface LogRequest {
  /** Absent: all steps. */
  podName?: string | undefined;
  tailLines?: number;
  follow?: boolean;
}

/** Lines as they come, until they end or the signal aborts. Those that are followed end with the workflow. */
export async function* logLines(
  { metadata }: Workflow,
  { podName, tailLines, follow }: LogRequest,
  signal: AbortSignal,
): AsyncIterable<LogLine> {
  const input = {
    params: { namespace: metadata.namespace ?? "", name: metadata.name ?? "" },
    query: {
      podName,
      "logOptions.container": "main",
      "logOptions.tailLines": tailLines,
      "logOptions.follow": follow,
    },
    signal,
  };
  yield* follow === true
    ? linesToTheEnd(api, input)
    : api.stream("WorkflowService_WorkflowLogs", input);
}

/** The first pause before a log that broke off is read again, and the longest, ms. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;

/**
 * Lines as they are written, until the steps have ended or the signal aborts. A connection that is lost is opened again.
 * @param tell whether it is lost now, whenever that changes
 */
export async function* followedLines(
  workflow: Workflow,
  podName: string | undefined,
  { signal, tell }: { signal: AbortSignal; tell: (isLost: boolean) => void },
): AsyncIterable<LogLine> {
  const lines = new NewLines();
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    lines.begin();
    try {
      for await (const line of logLines(workflow, { podName, follow: true }, signal)) {
        pause = FIRST_PAUSE_MS;
        if (lines.add(line)) yield line;
      }
      return;
    } catch (error) {
      if (!isPassing(error) || signal.aborted) throw error;
      tell(true);
      await rest(pause, signal);
      tell(false);
    }
  }
}

/** The tail that is read. One after the other: each may have the server read a large workflow. */
let turn: Promise<unknown> = Promise.resolve();

/** The last lines of a step. */
export function tailOfLog(
  workflow: Workflow,
  node: NodeStatus,
  tailLines: number,
  signal: AbortSignal,
): Promise<string[]> {
  const read = () => signal.aborted ? [] : readTail(workflow, node, tailLines, signal);
  const lines = turn.then(read, read);
  turn = lines;
  return lines;
}

async function readTail(
  workflow: Workflow,
  node: NodeStatus,
  tailLines: number,
  signal: AbortSignal,
): Promise<string[]> {
  const lines: string[] = [];
  for await (
    const { content } of logLines(workflow, { podName: podOf(workflow, node), tailLines }, signal)
  ) {
    if (content !== undefined) lines.push(content);
  }
  return lines.slice(-tailLines);
}
