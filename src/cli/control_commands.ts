/** Verbs that change workflows: suspend, resume, stop, terminate, retry, resubmit, node set, delete. */
import type { Command } from "commander";
import { ClientError } from "../client/transport.ts";
import { matchesNode, parseNodeFieldSelector } from "../expr/selectors/node_field_selector.ts";
import type { NodeStatus, Workflow } from "../spec/manifest.ts";
import { CALLS_AT_ONCE, inOrder } from "./at_once.ts";
import {
  collect,
  type Context,
  contextOf,
  example,
  isNotFound,
  pairs,
  UsageError,
} from "./context.ts";
import {
  addFollowing,
  checkWatched,
  followAll,
  type FollowOptions,
  type WatchLook,
} from "./follow.ts";
import { outputOption, type OutputOptions, print, say } from "./output.ts";
import {
  addChunkSize,
  addFilters,
  addSelectors,
  type Target,
  targets,
  type WorkflowFilters,
} from "./select_workflows.ts";
import { printWorkflow } from "./workflow_text.ts";

const NODE_SELECTOR =
  "nodes by id, name, displayName, templateName, phase, templateRef.name, templateRef.template or inputs.parameters.NAME.value";

interface ControlOptions extends OutputOptions, FollowOptions, WatchLook, WorkflowFilters {
  message?: string;
  restartSuccessful?: boolean;
  parameter?: string[];
  memoized?: boolean;
  priority?: number;
  dryRun?: boolean;
  phase?: string;
  outputParameter?: string[];
  idempotencyKey?: string;
}

/** @throws {UsageError} for an empty one, a variable of a script that has no value: the whole workflow would end, or go on */
function nodeSelector(given: string): string {
  if (given !== "") return given;
  throw new UsageError(
    "--node-field-selector is empty: leave it out if you mean the whole workflow",
  );
}

/** Operation of each verb, and the word for its result. */
const VERBS = {
  suspend: { operation: "WorkflowService_SuspendWorkflow", done: "suspended" },
  resume: { operation: "WorkflowService_ResumeWorkflow", done: "resumed" },
  stop: { operation: "WorkflowService_StopWorkflow", done: "stopped" },
  terminate: { operation: "WorkflowService_TerminateWorkflow", done: "terminated" },
} as const;
type Verb = keyof typeof VERBS;

/** Applies a verb to each selected workflow and prints the result. */
async function change(
  context: Context,
  verb: Verb,
  names: string[],
  options: ControlOptions,
): Promise<void> {
  for (const target of await targets(context, names, options)) {
    const { name } = target;
    if (options.dryRun) {
      print(`workflow ${name} ${VERBS[verb].done} (dry-run)`);
      continue;
    }
    try {
      await changeOne(context, verb, target, options);
    } catch (error) {
      const isRefusal = error instanceof ClientError && error.status !== 0;
      if (!isRefusal || verb === "stop" || verb === "terminate") throw error;
      throw new ClientError(`failed to ${verb} ${name}: ${error.message}`, error.status);
    }
  }
}

async function changeOne(
  context: Context,
  verb: Verb,
  { namespace, name }: Target,
  options: ControlOptions,
): Promise<void> {
  const { client } = context;
  const { operation, done } = VERBS[verb];
  const { output, nodeFieldSelector, message, idempotencyKey } = options;
  const input = {
    params: { namespace, name },
    body: { namespace, name, nodeFieldSelector, message },
    idempotencyKey,
  };
  if (output !== undefined) {
    return printWorkflow(context, await client.call(operation, input), output);
  }
  // Only nodes tell what a selector has changed.
  const whole = (nodeFieldSelector ?? "") === "" ? undefined : await client.call(operation, input);
  const { metadata } = whole ?? await client.callMinimal(operation, input);
  print(`workflow ${metadata.name ?? name} ${done}`);
  const more = whatWasDone(verb, whole, options);
  if (more !== undefined) say(more);
}

/** What a verb did, if the line about the workflow does not say everything. */
function whatWasDone(
  verb: Verb,
  workflow: Workflow | undefined,
  { nodeFieldSelector = "" }: ControlOptions,
): string | undefined {
  if (verb !== "stop" && verb !== "resume") return undefined;
  if (nodeFieldSelector === "") {
    return verb === "stop"
      ? "no further step begins, running steps end, exit handlers run"
      : undefined;
  }
  const phase = verb === "stop" ? "Failed" : "Succeeded";
  const ended = selectedNodes(workflow, nodeFieldSelector)
    .filter((node) => node.type === "Suspend" && node.phase === phase);
  const latest = ended.reduce(
    (last, { finishedAt }) => (finishedAt ?? "") > last ? finishedAt ?? "" : last,
    "",
  );
  const names = ended.filter(({ finishedAt }) => finishedAt === latest)
    .map(({ displayName }) => displayName);
  // For a very large workflow, the answer has no nodes.
  if (names.length === 0) return undefined;
  return `only this waiting step ${verb === "stop" ? "failed" : "succeeded"}: ${names.join(", ")}`;
}

/** Nodes that a selector matches. */
function selectedNodes(workflow: Workflow | undefined, selector: string): NodeStatus[] {
  const terms = parseNodeFieldSelector(selector);
  return Object.values(workflow?.status?.nodes ?? {}).filter((node) => matchesNode(terms, node));
}

/** What `retry` does with its two options about nodes, if that may be surprising. */
async function retryNotes(
  context: Context,
  { namespace, name }: Target,
  { restartSuccessful, nodeFieldSelector = "" }: ControlOptions,
): Promise<string | undefined> {
  const onlyFailed = "only what did not succeed runs again";
  if (restartSuccessful !== true) {
    if (nodeFieldSelector === "") return undefined;
    return `--node-field-selector has no effect without --restart-successful: ${onlyFailed}`;
  }
  if (nodeFieldSelector === "") {
    return `--restart-successful has no effect without --node-field-selector: ${onlyFailed}`;
  }
  const workflow = await context.client.call("WorkflowService_GetWorkflow", {
    params: { namespace, name },
  });
  const nodes = selectedNodes(workflow, nodeFieldSelector);
  return nodes.length === 0
    ? `no node of ${name} matches ${nodeFieldSelector}: ${onlyFailed}`
    : `selected to run again: ${nodes.map(({ displayName }) => displayName).join(", ")}`;
}

const AGAIN = {
  retry: "WorkflowService_RetryWorkflow",
  resubmit: "WorkflowService_ResubmitWorkflow",
} as const;

/** Retries or resubmits each selected workflow, prints it, and follows it if asked to. */
async function runAgain(
  context: Context,
  verb: keyof typeof AGAIN,
  names: string[],
  options: ControlOptions,
): Promise<number> {
  const chosen = await targets(context, names, options);
  checkWatched(chosen.length, options);
  const running: Target[] = [];
  for (const { namespace, name } of chosen) {
    const note = verb === "retry"
      ? await retryNotes(context, { namespace, name }, options)
      : undefined;
    const answer = await context.client.call(AGAIN[verb], {
      params: { namespace, name },
      body: {
        namespace,
        name,
        nodeFieldSelector: options.nodeFieldSelector,
        restartSuccessful: options.restartSuccessful,
        memoized: options.memoized,
        parameters: options.parameter,
      },
      idempotencyKey: options.idempotencyKey,
    });
    if (note !== undefined) say(note);
    if (!options.watch || options.output !== undefined) {
      await printWorkflow(context, answer, options.output);
    }
    running.push({ namespace, name: answer.metadata.name ?? name });
  }
  // The selector says what to run again, not what to show.
  const look = { ...options, nodeFieldSelector: undefined };
  return await followAll(context, running, look as FollowOptions, options.output === "name");
}

/** The text between double quotation marks, as `argo` takes it; any other text as it is. */
function unquoted(text: string): string {
  try {
    return /^".*"$/.test(text) ? String(JSON.parse(text)) : text;
  } catch {
    return text;
  }
}

async function setNode(context: Context, name: string, options: ControlOptions): Promise<void> {
  const outputs = options.outputParameter && pairs(options.outputParameter, "an output parameter");
  // The server would say that no step matches the selector.
  if (outputs === undefined && !options.phase && !options.message) {
    throw new UsageError("nothing to set: give --output-parameter, --phase or --message");
  }
  const input = {
    params: { namespace: context.namespace, name },
    body: {
      namespace: context.namespace,
      name,
      nodeFieldSelector: options.nodeFieldSelector,
      message: options.message,
      phase: options.phase,
      outputParameters: outputs === undefined
        ? undefined
        : JSON.stringify(Object.fromEntries([...outputs].map(([k, v]) => [k, unquoted(v)]))),
    },
  };
  const operation = "WorkflowService_SetWorkflow";
  if (options.output === undefined) {
    await context.client.callMinimal(operation, input);
    return print("workflow values set");
  }
  const answer = await context.client.call(operation, input);
  await printWorkflow(context, answer, options.output);
}

interface DeleteOptions extends WorkflowFilters {
  all?: boolean;
  allNamespaces?: boolean;
  force?: boolean;
  dryRun?: boolean;
}

async function remove(context: Context, names: string[], options: DeleteOptions): Promise<void> {
  const { force, dryRun, ...filters } = options;
  const chosen = await targets(
    context,
    names,
    filters,
    "--selector, --completed, --older or another filter; --all means every one of the namespace",
  );
  if (chosen.length === 0) print("No resources found");
  const told = inOrder(chosen, CALLS_AT_ONCE, async ({ namespace, name }) => {
    if (dryRun) return `Workflow '${name}' deleted (dry-run)`;
    try {
      await context.client.call("WorkflowService_DeleteWorkflow", {
        params: { namespace, name },
        query: { force },
      });
      return `Workflow '${name}' deleted`;
    } catch (error) {
      if (!isNotFound(error)) throw error;
      return `Workflow '${name}' not found`;
    }
  });
  for await (const line of told) print(line);
}

/** Registers the verbs. `exit` receives the exit status of a command that ran. */
export function addControlCommands(program: Command, exit: (status: number) => void): void {
  addSuspendAndResume(program);
  addStopAndTerminate(program);
  addRetry(program, exit);
  addResubmit(program, exit);
  addNodeSet(program);
  addDelete(program);
}

function addVerb(program: Command, name: Verb, description: string): Command {
  return addSelectors(program.command(`${name} [names...]`).description(description))
    .option("--idempotency-key <key>", "requests with the same key and content have one effect")
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .action(async (names: string[], options: ControlOptions, command: Command) =>
      await change(contextOf(command), name, names, options)
    );
}

function addSuspendAndResume(program: Command): void {
  addVerb(program, "suspend", "start no new steps until resumed")
    .addHelpText(...example("sluice suspend my-wf"));
  addVerb(program, "resume", "let waiting suspend steps succeed, or go on after a suspend")
    .option(
      "--node-field-selector <terms>",
      `only waiting steps that match: ${NODE_SELECTOR}`,
      nodeSelector,
    )
    .addHelpText(...example(
      "sluice resume my-wf --node-field-selector inputs.parameters.uuid.value=4a1f",
    ));
}

function addStopAndTerminate(program: Command): void {
  addVerb(
    program,
    "stop",
    "end workflows (exit handlers run), or with a selector let waiting steps fail",
  )
    .option(
      "--node-field-selector <terms>",
      `only waiting steps that match: ${NODE_SELECTOR}`,
      nodeSelector,
    )
    .option("--message <text>", "failure message of the steps")
    .option("--dry-run", "only say what would be stopped")
    .addHelpText(...example(
      "sluice stop my-wf",
      "sluice stop my-wf --node-field-selector displayName=approve --message declined",
    ));
  addVerb(program, "terminate", "end workflows at once; exit handlers do not run")
    .option("--dry-run", "only say what would be terminated")
    .addHelpText(...example("sluice terminate my-wf", "sluice terminate -l app=shop"));
}

function addAgain(
  program: Command,
  name: keyof typeof AGAIN,
  description: string,
  exit: (status: number) => void,
): Command {
  return addFollowing(
    addSelectors(program.command(`${name} [names...]`).description(description)),
  )
    .option("-p, --parameter <name=value>", "replace an argument; may be repeated", collect)
    .option("--idempotency-key <key>", "requests with the same key and content have one effect")
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .action(async (names: string[], options: ControlOptions, command: Command) =>
      exit(await runAgain(contextOf(command), name, names, options))
    );
}

function addRetry(program: Command, exit: (status: number) => void): void {
  addAgain(program, "retry", "run failed workflows again from where they failed", exit)
    .option("--restart-successful", "run the selected nodes again even if they succeeded")
    .option("--node-field-selector <terms>", `with --restart-successful: ${NODE_SELECTOR}`)
    .addHelpText(...example(
      "sluice retry my-wf --watch",
      "sluice retry my-wf --restart-successful --node-field-selector templateRef.template=trigger,phase=Failed",
      "sluice retry my-wf --restart-successful --node-field-selector templateName=trigger",
    ));
}

function addResubmit(program: Command, exit: (status: number) => void): void {
  addAgain(program, "resubmit", "submit copies of workflows", exit)
    .option("--memoized", "keep the steps that succeeded")
    .addHelpText(...example("sluice resubmit my-wf -p branch=main --wait"));
}

function addNodeSet(program: Command): void {
  const node = program.command("node").description("operations on nodes");
  node.command("set <name>").description("set outputs, phase or message of waiting suspend steps")
    .requiredOption("--node-field-selector <terms>", NODE_SELECTOR)
    .option("--phase <phase>", "Succeeded, Failed or Error; the step ends")
    .option("-m, --message <text>", "message of the step")
    .option(
      "-p, --output-parameter <name=value>",
      "set a supplied output; may be repeated",
      collect,
    )
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .addHelpText(...example(
      "sluice node set my-wf --node-field-selector displayName=approve -p verdict=yes",
    ))
    .action(async (name: string, options: ControlOptions, command: Command) =>
      await setNode(contextOf(command), name, options)
    );
}

function addDelete(program: Command): void {
  const deletion = addFilters(program.command("delete [names...]").description("delete workflows"));
  addChunkSize(deletion, "query-chunk-size")
    .option("--all", "every workflow of the namespace")
    .option("-A, --all-namespaces", "in every namespace")
    .option("--force", "also when finalizers are set")
    .option("--dry-run", "only say what would be deleted")
    .addHelpText(...example("sluice delete my-wf", "sluice delete --completed --older 7d"))
    .action(async (names: string[], options: DeleteOptions, command: Command) =>
      await remove(contextOf(command), names, options)
    );
}
