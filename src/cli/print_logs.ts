/** The lines of logs: loaded only by commands that print some. */
import { timeOf } from "../base/time_of.ts";
import type { LogLine } from "../client/answer.ts";
import { linesToTheEnd, NewLines } from "../client/followed_log.ts";
import { type Context, UsageError } from "./context.ts";
import { type LogOptions, reopened } from "./follow.ts";
import { hasColour, print } from "./output.ts";
import { podNameOf } from "./tree.ts";

/** Prints the lines of a workflow's logs, each with its pod in front. */
export async function printLogs(
  context: Context,
  namespace: string,
  name: string,
  options: LogOptions & { pod?: string },
): Promise<void> {
  const { sinceTime } = options;
  if (sinceTime !== undefined && timeOf(sinceTime) === undefined) {
    throw new UsageError(`--since-time takes a time such as 2026-01-31T12:00:00Z`);
  }
  const query = {
    "logOptions.container": options.container ?? "main",
    "logOptions.follow": options.follow,
    "logOptions.previous": options.previous,
    // As with kubectl, -1 means all of them.
    "logOptions.tailLines": (options.tail ?? -1) < 0 ? undefined : options.tail,
    "logOptions.sinceSeconds": options.since === undefined
      ? undefined
      : Math.ceil(options.since / 1000),
    "logOptions.sinceTime": sinceTime,
    "logOptions.timestamps": options.timestamps,
    grep: options.grep,
    selector: options.selector,
    podName: options.pod,
  };
  const input = { params: { namespace, name }, query };
  const open = () =>
    options.follow === true
      ? linesToTheEnd(context.client, input)
      : context.client.stream("WorkflowService_WorkflowLogs", input);
  // Where a stream begins depends on when it is opened if only the last lines are wanted.
  const isWhole = query["logOptions.tailLines"] === undefined && options.since === undefined;
  const lines = options.follow === true && isWhole ? followedLines(open) : open();
  const isColoured = hasColour() && options.color !== false;
  let isEmpty = true;
  for await (const { podName = "", content = "" } of lines) {
    isEmpty = false;
    print(`${isColoured ? coloured(podName) : podName}: ${content}`);
  }
  if (isEmpty && options.pod !== undefined) {
    await requirePod(context, namespace, name, options.pod);
  }
}

/** The lines of a stream of logs that is opened again when it breaks: lines that were shown before are passed over. */
export async function* followedLines(open: () => AsyncIterable<LogLine>): AsyncGenerator<LogLine> {
  const lines = new NewLines();
  const openAgain = () => {
    lines.begin();
    return open();
  };
  for await (const line of reopened(openAgain)) if (lines.add(line)) yield line;
}

/** @throws {Error} when a workflow has no such pod: no lines would look like a step that says nothing */
async function requirePod(
  context: Context,
  namespace: string,
  name: string,
  pod: string,
): Promise<void> {
  const params = { namespace, name };
  const workflow = await context.client.call("WorkflowService_GetWorkflow", { params });
  const isThere = Object.values(workflow.status?.nodes ?? {}).some((node) =>
    node.id === pod || podNameOf(name, node) === pod
  );
  if (isThere) return;
  throw new Error(`workflow ${name} has no pod ${pod}; "sluice get ${name}" shows their names`);
}

/** A pod always gets the same colour. */
function coloured(pod: string): string {
  const sum = [...pod].reduce((all, char) => (all * 31 + (char.codePointAt(0) ?? 0)) % 65_521, 7);
  return `\u001b[${31 + sum % 6}m${pod}\u001b[0m`;
}
