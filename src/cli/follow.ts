/** Following a workflow: waiting for its end, drawing its tree, printing its logs. */
import process from "node:process";
import { Command, Option } from "commander";
import { ClientError } from "../client/transport.ts";
import type { Workflow, WorkflowPhase } from "../spec/manifest.ts";
import { type Context, lengthOfTime, UsageError, wholeNumber } from "./context.ts";
import { hasColour, print, say } from "./output.ts";
import { workflowText } from "./workflow_text.ts";

/** Stands here, since the modules that know it would be loaded at each start of the program. */
const FINISHED: ReadonlySet<string> = new Set<WorkflowPhase>(["Succeeded", "Failed", "Error"]);

/** Pauses before a stream is opened again. */
const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 5000;

/** Follows one workflow until it is finished; calls `show` with every state. @returns nothing if it was deleted */
async function follow(
  context: Context,
  namespace: string,
  name: string,
  show: (workflow: Workflow) => void,
): Promise<Workflow | undefined> {
  const query = {
    "listOptions.fieldSelector": `metadata.name=${name}`,
    "listOptions.resourceVersion": "0",
  };
  const { client } = context;
  let isKnown = false;
  async function* open() {
    // A watch of what was deleted meanwhile would wait until somebody creates it again.
    if (isKnown && !await exists(client, namespace, name)) yield undefined;
    yield* client.stream("WorkflowService_WatchWorkflows", { params: { namespace }, query });
  }
  for await (const event of reopened(open, true)) {
    if (event === undefined || event.type === "DELETED") break;
    const workflow = event.object;
    isKnown = true;
    show(workflow);
    if (FINISHED.has(workflow.status?.phase ?? "") && workflow.status?.finishedAt) return workflow;
  }
  say(`Error: workflow ${name} was deleted`);
  return undefined;
}

export async function exists(
  client: Context["client"],
  namespace: string,
  name: string,
): Promise<boolean> {
  const request = { params: { namespace, name }, query: { fields: "metadata.name" } };
  try {
    await client.call("WorkflowService_GetWorkflow", request);
    return true;
  } catch (error) {
    if (error instanceof ClientError && error.status === 404) return false;
    throw error;
  }
}

/**
 * What a stream brings. One that breaks is opened again.
 * @param isEndless one that ends is opened again too
 * @throws the error of a stream if another try would bring the same
 */
export async function* reopened<T>(
  open: () => AsyncIterable<T>,
  isEndless = false,
): AsyncGenerator<T> {
  for (let pause = FIRST_PAUSE_MS;; pause = Math.min(pause * 2, MAX_PAUSE_MS)) {
    try {
      for await (const item of open()) {
        pause = FIRST_PAUSE_MS;
        yield item;
      }
      if (!isEndless) return;
    } catch (error) {
      const isTrouble = error instanceof ClientError &&
        (error.status === 0 || error.status === 429 || error.status >= 500);
      if (!isTrouble) throw error;
      say(`${error.message}; trying again`);
    }
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** Waits for the end of a workflow. @returns the exit status: 0 when it Succeeded, 1 otherwise */
export async function waitFor(
  context: Context,
  namespace: string,
  name: string,
  quiet: boolean,
): Promise<number> {
  const done = await follow(context, namespace, name, () => {});
  if (done && !quiet) print(`${name} ${done.status?.phase} at ${done.status?.finishedAt}`);
  return done?.status?.phase === "Succeeded" ? 0 : 1;
}

/** Which nodes `watch` shows. */
export interface WatchLook {
  /** Only nodes of this phase. */
  status?: string;
  nodeFieldSelector?: string;
}

/** Refuses what would show no node. Its check is loaded only where something was asked for. @throws {UsageError} */
export async function requireLook(look: WatchLook): Promise<void> {
  if (!look.status && !look.nodeFieldSelector) return;
  (await import("./seldom_needed.ts")).requireNodeLook(look);
}

/** On a terminal, redraws the tree. Otherwise prints a line for every change of a node, and the tree at the end. */
export async function watchLive(
  context: Context,
  namespace: string,
  name: string,
  look: WatchLook,
): Promise<number> {
  await requireLook(look);
  const live = process.stdout.isTTY === true;
  const seen = new Map<string, string>();
  const text = (workflow: Workflow) =>
    workflowText(workflow, {
      now: context.now(),
      colour: hasColour(),
      phase: look.status,
      selector: look.nodeFieldSelector,
    });
  const done = await follow(context, namespace, name, (workflow) => {
    if (live) return print(`\u001b[2J\u001b[H${text(workflow)}`);
    for (const node of Object.values(workflow.status?.nodes ?? {})) {
      const state = `${node.phase}${node.message ? `: ${node.message}` : ""}`;
      if (node.type === "StepGroup" || seen.get(node.id) === state) continue;
      seen.set(node.id, state);
      print(`${node.name}  ${state}`);
    }
  });
  if (done && !live) print(text(done));
  return done?.status?.phase === "Succeeded" ? 0 : 1;
}

export interface FollowOptions {
  wait?: boolean;
  watch?: boolean;
  log?: boolean;
}

/** Adds `--wait`, `--watch` and `--log`. */
export function addFollowing(command: Command): Command {
  return command
    .option("-w, --wait", "wait until it is finished; exit status 1 if it failed")
    .addOption(
      new Option("--watch", "follow it live; exit status 1 if it failed").conflicts("wait"),
    )
    .option("--log", "print its logs until it is finished");
}

/** Refuses to watch several workflows, before anything is done. @throws {UsageError} */
export function checkWatched(count: number, { watch }: FollowOptions): void {
  if (watch && count > 1) {
    throw new UsageError("--watch follows one workflow; use --wait for several");
  }
}

/** Does what `--wait`, `--watch` and `--log` ask for. @returns the exit status */
export async function followAll(
  context: Context,
  workflows: readonly { namespace: string; name: string }[],
  options: FollowOptions & WatchLook,
  quiet: boolean,
): Promise<number> {
  let status = 0;
  for (const { namespace, name } of workflows) {
    if (!options.log) continue;
    const { printLogs } = await import("./print_logs.ts");
    await printLogs(context, namespace, name, { follow: true });
  }
  for (const { namespace, name } of workflows) {
    if (options.watch) status = await watchLive(context, namespace, name, options);
  }
  if (options.wait || options.log && !options.watch) {
    const all = workflows.map(({ namespace, name }) => waitFor(context, namespace, name, quiet));
    status = Math.max(status, ...await Promise.all(all));
  }
  return status;
}

/** Options of `logs`. */
export interface LogOptions {
  follow?: boolean;
  previous?: boolean;
  container?: string;
  tail?: number;
  /** Milliseconds. */
  since?: number;
  sinceTime?: string;
  grep?: string;
  selector?: string;
  timestamps?: boolean;
  color?: boolean;
}

/** Adds the options of `logs`. */
export function addLogOptions(command: Command): Command {
  return command
    .option("-f, --follow", "follow until the workflow is finished")
    .option("-c, --container <name>", "container of the pods", "main")
    .option("-p, --previous", "logs of the previous attempt, if the executor keeps them")
    .option(
      "--tail <lines>",
      "only this many lines from the end of each step",
      wholeNumber("--tail"),
    )
    .addOption(
      new Option("--since <time>", "only lines of the last 30s, 5m, 2h")
        .argParser(lengthOfTime("--since")).conflicts("sinceTime"),
    )
    .option("--since-time <time>", "only lines after this time (RFC 3339)")
    .option("--grep <regexp>", "only lines that match")
    .option("-l, --selector <labels>", "only steps whose pods have these labels")
    .option("--timestamps", "put the time in front of each line")
    .option("--no-color", "no colours");
}
