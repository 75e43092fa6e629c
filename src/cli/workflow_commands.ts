/** Commands that show workflows: list, get, wait, watch, logs, cp. */
import type { Command } from "commander";
import { defined } from "../base/defined.ts";
import type { CopyOptions } from "./seldom_needed.ts";
import { type Context, contextOf, example, isNotFound, UsageError } from "./context.ts";
import {
  addLogOptions,
  type LogOptions,
  requireLook,
  waitFor,
  watchLive,
  type WatchLook,
} from "./follow.ts";
import { hasColour, outputOption, type OutputOptions, print } from "./output.ts";
import {
  addChunkSize,
  addFilters,
  filteredWorkflows,
  type WorkflowFilters,
} from "./select_workflows.ts";
import { printWorkflow, printWorkflows } from "./workflow_text.ts";

/** The fields of a workflow that the table needs. */
const TABLE_FIELDS = [
  "metadata",
  "items.metadata",
  "items.spec",
  ...[
    "phase",
    "message",
    "finishedAt",
    "startedAt",
    "estimatedDuration",
    "progress",
    "waitsSince",
  ].map((one) => `items.status.${one}`),
].join(",");
const NAME_FIELDS =
  "metadata,items.metadata.name,items.metadata.creationTimestamp,items.status.finishedAt";

interface ListOptions extends OutputOptions, WorkflowFilters {
  allNamespaces?: boolean;
  headers: boolean;
}

async function list(context: Context, options: ListOptions): Promise<void> {
  const { output, allNamespaces = false } = options;
  const fields = output === undefined ? TABLE_FIELDS : output === "name" ? NAME_FIELDS : undefined;
  const namespace = allNamespaces ? "" : context.namespace;
  const items = await filteredWorkflows(context, namespace, options, fields);
  await printWorkflows(context, items, {
    format: output,
    namespaces: allNamespaces,
    heads: options.headers,
  });
}

interface GetOptions extends OutputOptions, WatchLook {
  color: boolean;
  utf8: boolean;
}

async function get(context: Context, names: string[], options: GetOptions): Promise<void> {
  await requireLook(options);
  for (const name of names) {
    const workflow = await context.client.call("WorkflowService_GetWorkflow", {
      params: { namespace: context.namespace, name },
    });
    await printWorkflow(context, workflow, options.output, {
      colour: hasColour() && options.color,
      plain: !options.utf8,
      phase: options.status,
      selector: options.nodeFieldSelector,
    });
  }
}

async function wait(
  context: Context,
  names: string[],
  ignoreNotFound: boolean,
): Promise<number> {
  // A watch of a name that does not exist would wait for it to be created.
  const found = await Promise.all(names.map(async (name) => {
    try {
      const { metadata } = await context.client.call("WorkflowService_GetWorkflow", {
        params: { namespace: context.namespace, name },
        query: { fields: "metadata" },
      });
      return metadata.name ?? name;
    } catch (error) {
      if (!ignoreNotFound || !isNotFound(error)) throw error;
      print(`${name} not found. Ignoring...`);
      return undefined;
    }
  }));
  const waits = found.filter((name) => name !== undefined)
    .map((name) => waitFor(context, context.namespace, name, false));
  return Math.max(0, ...await Promise.all(waits));
}

/** Registers the commands. `exit` receives the exit status of a command that ran. */
export function addWorkflowCommands(program: Command, exit: (status: number) => void): void {
  addList(program);
  addGet(program);
  addWait(program, exit);
  addWatch(program, exit);
  addLogs(program);
  addCopy(program);
}

function addList(program: Command): void {
  const listing = addFilters(program.command("list").alias("ls").description("list workflows"));
  addChunkSize(listing, "chunk-size")
    .option("-A, --all-namespaces", "workflows of every namespace")
    .option("--no-headers", "no headings above the table")
    .addOption(outputOption("name", "json", "yaml", "wide"))
    .addHelpText(...example(
      "sluice list --status Failed,Error --since 1d",
      "sluice list -A -l app=shop -o name",
    ))
    .action(async (options: ListOptions, command: Command) =>
      await list(contextOf(command), options)
    );
}

function addGet(program: Command): void {
  program.command("get <names...>")
    .description("show workflows: facts, parameters and the tree of nodes; @latest is the newest")
    .option("--node-field-selector <terms>", "only nodes that match, for example phase=Failed")
    .option("--status <phase>", "only nodes of this phase")
    .option("--no-color", "no colours")
    .option("--no-utf8", "words and ASCII instead of symbols")
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .addHelpText(...example("sluice get @latest", "sluice get my-wf -o yaml"))
    .action(async (names: string[], options: GetOptions, command: Command) =>
      await get(contextOf(command), names, options)
    );
}

function addWait(program: Command, exit: (status: number) => void): void {
  program.command("wait <names...>")
    .description("wait until workflows are finished; exit status 1 if one failed or is deleted")
    .option("--ignore-not-found", "succeed even if a workflow does not exist")
    .addHelpText(...example("sluice wait my-wf other-wf"))
    .action(
      async (names: string[], options: { ignoreNotFound?: boolean }, command: Command) =>
        exit(await wait(contextOf(command), names, options.ignoreNotFound === true)),
    );
}

function addWatch(program: Command, exit: (status: number) => void): void {
  program.command("watch <name>")
    .description("follow a workflow live; exit status 1 if it failed")
    .option("--node-field-selector <terms>", "only nodes that match")
    .option("--status <phase>", "only nodes of this phase")
    .addHelpText(...example("sluice watch @latest"))
    .action(async (name: string, options: WatchLook, command: Command) => {
      const context = contextOf(command);
      const { metadata } = await context.client.call("WorkflowService_GetWorkflow", {
        params: { namespace: context.namespace, name },
        query: { fields: "metadata" },
      });
      exit(await watchLive(context, context.namespace, metadata.name ?? name, options));
    });
}

function addLogs(program: Command): void {
  addLogOptions(
    program.command("logs <name> [pod]").description("print logs, each line with its pod in front"),
  )
    .addHelpText(...example(
      "sluice logs my-wf --follow",
      "sluice logs my-wf my-wf-build-123 --tail 20 --grep error",
    ))
    .action(
      async (name: string, pod: string | undefined, options: LogOptions, command: Command) => {
        const context = contextOf(command);
        const { printLogs } = await import("./print_logs.ts");
        await printLogs(context, context.namespace, name, { ...options, ...defined({ pod }) });
      },
    );
}

function addCopy(program: Command): void {
  program.command("cp <name> <folder>").description(
    "copy output artifacts of a workflow to files",
  )
    .option("--node-name <name>", "only of this node")
    .option("--node-id <id>", "only of the node with this id")
    .option("--template-name <name>", "only of this template")
    .option("--artifact-name <name>", "only this artifact")
    .option(
      "--path <pattern>",
      "subfolder of <folder> for each artifact",
      "{namespace}/{workflowName}/{nodeId}/outputs/{artifactName}",
    )
    .addHelpText(...example("sluice cp my-wf ./out --artifact-name report"))
    .action(async (name: string, folder: string, options: CopyOptions, command: Command) => {
      if (options.path.split("/").includes("..")) {
        throw new UsageError("--path stays below the folder, so it can't hold ..");
      }
      const { copyArtifacts } = await import("./seldom_needed.ts");
      await copyArtifacts(contextOf(command), name, folder, options);
    });
}
