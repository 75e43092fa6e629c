/** Lines of logs. */
import type { LogLine } from "../../../client/answer.ts";
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { linesToTheEnd, NewLines } from "../../../client/followed_log.ts";
import { followAgain, readAgain } from "./again.ts";
import { api, type Trouble } from "./api.ts";

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

/**
 * Lines of steps, those of a workflow that goes on as they are written, until the steps have ended or the signal aborts. A log
 * that breaks off is read again.
 * @param tell what is wrong now, whenever that changes
 */
export async function* allLines(
  workflow: Workflow,
  { podName, follow }: Pick<LogRequest, "podName" | "follow">,
  { signal, tell }: { signal: AbortSignal; tell: (trouble: Trouble | undefined) => void },
): AsyncIterable<LogLine> {
  const lines = new NewLines();
  const open = () => {
    lines.begin();
    return logLines(workflow, { podName, follow: follow === true }, signal);
  };
  for await (const line of followAgain(open, { signal, tell })) {
    if (lines.add(line)) yield line;
  }
}

/** The tail that is read. One after the other: each may have the server read a large workflow. */
let turn: Promise<unknown> = Promise.resolve();

/** The last lines of a step. @param tell what is wrong now, whenever that changes */
export function tailOfLog(
  workflow: Workflow,
  node: NodeStatus,
  tailLines: number,
  { signal, tell }: { signal: AbortSignal; tell: (trouble: Trouble | undefined) => void },
): Promise<string[]> {
  const read = () => {
    const once = () => signal.aborted ? [] : readTail(workflow, node, tailLines, signal);
    const lines = turn.then(once, once);
    turn = lines;
    return lines;
  };
  return readAgain(read, { signal, tell });
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
