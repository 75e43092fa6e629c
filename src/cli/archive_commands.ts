/** Finished workflows that are kept in the archive. */
import { type Command, Option } from "commander";
import type { Input } from "../client/client.ts";
import type { Workflow } from "../spec/manifest.ts";
import {
  collect,
  type Context,
  contextOf,
  example,
  isNotFound,
  UsageError,
  wholeNumber,
} from "./context.ts";
import { addFollowing, checkWatched, followAll, type FollowOptions } from "./follow.ts";
import { outputOption, type OutputOptions, print, printTable } from "./output.ts";
import { addSelectors, inShownOrder } from "./select_workflows.ts";
import { span } from "./times.ts";
import { printWorkflow, printWorkflows } from "./workflow_text.ts";

interface ListOptions extends OutputOptions {
  selector?: string;
  chunkSize?: number;
}

/** What a word on the command line is taken for; otherwise its form tells. */
interface Address {
  uid?: boolean;
  name?: boolean;
}

interface AgainOptions extends OutputOptions, FollowOptions, Address {
  selector?: string;
  fieldSelector?: string;
  parameter?: string[];
  memoized?: boolean;
  restartSuccessful?: boolean;
  nodeFieldSelector?: string;
}

/** Registers `archive`. `exit` receives the exit status of a command that ran. */
export function addArchiveCommands(program: Command, exit: (status: number) => void): void {
  const archive = program.command("archive").description(
    "finished workflows that are kept in the archive, by name or uid",
  );
  addList(archive);
  addGet(archive);
  addDelete(archive);
  addAgain(archive, "retry", "run archived workflows again from where they failed", exit)
    .option("--restart-successful", "run the selected nodes again even if they succeeded")
    .option("--node-field-selector <terms>", "with --restart-successful: the nodes to run again");
  addAgain(archive, "resubmit", "submit copies of archived workflows", exit)
    .option("--memoized", "keep the steps that succeeded");
  addPrune(archive);
  addCounts(archive);
  addLabels(archive);
}

/** Adds `--uid` and `--name`. */
function addAddress(command: Command): Command {
  return command
    .addOption(new Option("--uid", "take what is given as uids").conflicts("name"))
    .option("--name", "take what is given as names");
}

/** A workflow in the archive, by name or uid. */
function addressOf(
  { namespace }: Context,
  target: string,
  { uid: isUid = false, name: isName = false }: Address,
): { uid: string; query: { namespace: string; name?: string } } {
  return isUid || !isName && /^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(target)
    ? { uid: target, query: { namespace } }
    : { uid: "", query: { namespace, name: target } };
}

/** The address of a change needs the uid: without it there would be nothing between two of its slashes. */
async function uidOf(context: Context, target: string, address: Address): Promise<string> {
  const { uid, query } = addressOf(context, target, address);
  if (uid !== "") return uid;
  const found = await about(
    target,
    context.client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
      params: { uid },
      query,
    }),
  );
  return found.metadata.uid ?? "";
}

/** The server says only "not found", as the reference does. */
async function about<Answer>(target: string, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (error) {
    if (!isNotFound(error)) throw error;
    throw new Error(`archived workflow "${target}" not found`, { cause: error });
  }
}

function addList(archive: Command): void {
  archive.command("list").alias("ls").description("list archived workflows")
    .option("-l, --selector <labels>", "only workflows with these labels")
    .option("--chunk-size <number>", "workflows to ask for at a time", wholeNumber("--chunk-size"))
    .addOption(outputOption("name", "json", "yaml", "wide"))
    .addHelpText(...example("sluice archive list -l app=shop"))
    .action(async (options: ListOptions, command: Command) => {
      const context = contextOf(command);
      await printWorkflows(context, await archived(context, options), {
        format: options.output,
        namespaces: true,
        uids: true,
        heads: true,
      });
    });
}

interface Choice {
  selector?: string;
  fieldSelector?: string;
  chunkSize?: number;
}

/** The archived workflows of the namespace that the selectors choose. */
async function archived(
  context: Context,
  { selector, fieldSelector, chunkSize }: Choice,
): Promise<Workflow[]> {
  const query: NonNullable<Input<"ArchivedWorkflowService_ListArchivedWorkflows">["query"]> = {
    namespace: context.namespace,
    "listOptions.labelSelector": selector,
    "listOptions.fieldSelector": fieldSelector,
    "listOptions.limit": chunkSize || undefined,
  };
  const items: Workflow[] = [];
  let next: string | undefined;
  do {
    const page = await context.client.call("ArchivedWorkflowService_ListArchivedWorkflows", {
      query: { ...query, "listOptions.continue": next },
    });
    items.push(...page.items ?? []);
    next = page.metadata.continue;
  } while (next !== undefined && next !== "");
  return inShownOrder(items);
}

function addGet(archive: Command): void {
  addAddress(archive.command("get <names...>").description("show archived workflows"))
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .addHelpText(...example("sluice archive get my-wf -o yaml"))
    .action(async (names: string[], options: OutputOptions & Address, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        const { uid, query } = addressOf(context, name, options);
        const workflow = await about(
          name,
          context.client.call("ArchivedWorkflowService_GetArchivedWorkflow", {
            params: { uid },
            query,
          }),
        );
        await printWorkflow(context, workflow, options.output);
      }
    });
}

function addDelete(archive: Command): void {
  addAddress(archive.command("delete <names...>").description("delete archived workflows"))
    .addHelpText(...example("sluice archive delete 7c0bfa3a-6c3b-4f5c-9f2e-0e8d6b6f7a11"))
    .action(async (names: string[], options: Address, command: Command) => {
      const context = contextOf(command);
      for (const name of names) {
        const { uid, query } = addressOf(context, name, options);
        await about(
          name,
          context.client.call("ArchivedWorkflowService_DeleteArchivedWorkflow", {
            params: { uid },
            query,
          }),
        );
        print(`Archived workflow '${name}' deleted`);
      }
    });
}

const AGAIN = {
  retry: "ArchivedWorkflowService_RetryArchivedWorkflow",
  resubmit: "ArchivedWorkflowService_ResubmitArchivedWorkflow",
} as const;

function addAgain(
  archive: Command,
  verb: keyof typeof AGAIN,
  description: string,
  exit: (status: number) => void,
): Command {
  const command = addAddress(archive.command(`${verb} [names...]`).description(description));
  return addFollowing(addSelectors(command))
    .option("-p, --parameter <name=value>", "replace an argument; may be repeated", collect)
    .addOption(outputOption("name", "json", "yaml", "wide", "short"))
    .addHelpText(...example(`sluice archive ${verb} my-wf`))
    .action(async (names: string[], options: AgainOptions, command: Command) =>
      exit(await runAgain(contextOf(command), verb, names, options))
    );
}

/**
 * Those that are named and those that the selectors choose, as uid → what to call it. All are found before one is run again.
 * @throws {UsageError} when there are neither
 */
async function chosenOnes(
  context: Context,
  names: string[],
  options: Choice & Address,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  for (const name of names) {
    const uid = await uidOf(context, name, options);
    if (!found.has(uid)) found.set(uid, name);
  }
  if (options.selector || options.fieldSelector) {
    for (const { metadata: { name = "", uid = "" } } of await archived(context, options)) {
      if (!found.has(uid)) found.set(uid, name);
    }
  } else if (names.length === 0) {
    throw new UsageError("Name a workflow, or choose some with --selector or --field-selector");
  }
  return found;
}

async function runAgain(
  context: Context,
  verb: keyof typeof AGAIN,
  names: string[],
  options: AgainOptions,
): Promise<number> {
  const chosen = await chosenOnes(context, names, options);
  checkWatched(chosen.size, options);
  const made: { namespace: string; name: string }[] = [];
  for (const [uid, target] of chosen) {
    const body = {
      uid,
      namespace: context.namespace,
      memoized: options.memoized,
      restartSuccessful: options.restartSuccessful,
      nodeFieldSelector: options.nodeFieldSelector,
      parameters: options.parameter,
    };
    const workflow = await about(
      target,
      context.client.call(AGAIN[verb], { params: { uid }, body }),
    );
    await printWorkflow(context, workflow, options.output);
    made.push({ namespace: context.namespace, name: workflow.metadata.name ?? "" });
  }
  return await followAll(context, made, options, options.output === "name");
}

interface PruneOptions {
  rules?: string;
  dryRun?: boolean;
}

function addPrune(archive: Command): void {
  archive.command("prune")
    .description("remove archived workflows whose retention time is over, in all namespaces")
    .option(
      "--rules <rules>",
      "which may be removed, in the form of the server's --archive-retention (default: that setting)",
    )
    .option("--dry-run", "only show which would be removed")
    .addHelpText(...example(
      "sluice archive prune --dry-run",
      "sluice archive prune --rules 'phase=Failed 90d; 30d'",
    ))
    .action(async (options: PruneOptions, command: Command) => {
      const { client } = contextOf(command);
      let count = 0;
      let next: string | undefined;
      do {
        const answer = await client.call("ArchivedWorkflowService_PruneArchivedWorkflows", {
          body: { ...options, continue: next },
        });
        const items = (answer["items"] ?? []) as unknown as Pruned[];
        for (const { namespace, name, uid, phase, finishedAt } of items) {
          print(`${namespace}/${name} ${uid} ${phase} ${finishedAt}`);
        }
        count += items.length;
        next = answer["continue"] as string | undefined;
      } while (next !== undefined);
      const what = count === 1 ? "workflow" : "workflows";
      print(
        `${count} archived ${what} ${options.dryRun === true ? "would be removed" : "removed"}`,
      );
    });
}

interface Pruned {
  namespace: string;
  name: string;
  uid: string;
  phase: string;
  finishedAt: string;
}

interface CountOptions {
  from?: string;
  to?: string;
}

function addCounts(archive: Command): void {
  archive.command("counts")
    .description("how many archived workflows ended on each day, by phase and template")
    .option("--from <day>", "first day in UTC, such as 2026-11-01 (default: 30 days in all)")
    .option("--to <day>", "last day (default: today)")
    .addHelpText(...example("sluice archive counts", "sluice archive counts --from 2026-11-01"))
    .action(async (options: CountOptions, command: Command) => {
      const { client, namespace } = contextOf(command);
      const answer = await client.call("ArchivedWorkflowService_CountArchivedWorkflows", {
        query: { namespace, ...options },
      });
      const rows = (answer["items"] ?? []) as unknown as DayRow[];
      printTable(
        ["DAY", "NAMESPACE", "PHASE", "TEMPLATE", "COUNT", "AVERAGE"],
        rows.map(({ day, namespace, phase, template, count, durationMs }) => [
          day,
          namespace,
          phase,
          template || "-",
          String(count),
          span(durationMs / count),
        ]),
      );
    });
}

interface DayRow {
  day: string;
  namespace: string;
  phase: string;
  template: string;
  count: number;
  durationMs: number;
}

function addLabels(archive: Command): void {
  archive.command("list-label-keys").description("label keys of archived workflows")
    .addHelpText(...example("sluice archive list-label-keys"))
    .action(async (_options: unknown, command: Command) => {
      const { client, namespace } = contextOf(command);
      const answer = await client.call("ArchivedWorkflowService_ListArchivedWorkflowLabelKeys", {
        query: { namespace },
      });
      for (const key of (answer["items"] ?? []) as string[]) print(key);
    });
  archive.command("list-label-values").description("values of a label of archived workflows")
    .requiredOption("-l, --selector <key>", "the label's key")
    .addHelpText(...example("sluice archive list-label-values -l app"))
    .action(async (options: { selector: string }, command: Command) => {
      const { client, namespace } = contextOf(command);
      const answer = await client.call("ArchivedWorkflowService_ListArchivedWorkflowLabelValues", {
        query: { namespace, "listOptions.labelSelector": options.selector },
      });
      for (const value of (answer["items"] ?? []) as string[]) print(value);
    });
}
