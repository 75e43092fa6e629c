/** Which workflows a command applies to: names, or the filters of `list`. */
import { Command, Option } from "commander";
import type { Input } from "../client/client.ts";
import type { Workflow, WorkflowPhase } from "../spec/manifest.ts";
import { type Context, labelPrefix, lengthOfTime, UsageError, wholeNumber } from "./context.ts";

/** The filters; `since` and `older` are lengths of time in milliseconds. */
export interface WorkflowFilters {
  selector?: string;
  fieldSelector?: string;
  status?: string;
  running?: boolean;
  completed?: boolean;
  resubmitted?: boolean;
  prefix?: string;
  since?: number;
  older?: number;
  chunkSize?: number;
  queryChunkSize?: number;
}

/** Adds `-l` and `--field-selector`. */
export function addSelectors(command: Command): Command {
  return command
    .option(
      "-l, --selector <labels>",
      "only workflows with these labels, for example app=shop,!old",
    )
    .option("--field-selector <terms>", "only workflows with these fields: metadata.name=NAME");
}

/** Adds every filter. */
export function addFilters(command: Command): Command {
  return addSelectors(command)
    .option("--status <phases>", "only these phases, separated by commas", phases)
    .addOption(
      new Option("--running", "only workflows that are not finished").conflicts("completed"),
    )
    .option("--completed", "only workflows that are finished")
    .option("--resubmitted", "only copies made by resubmit")
    .option("--prefix <text>", "only names that start with it")
    .option(
      "--since <time>",
      "only workflows created in the last 30m, 3h, 2d",
      lengthOfTime("--since"),
    )
    .option(
      "--older <time>",
      "only workflows finished more than 10m, 3h, 2d ago",
      lengthOfTime("--older"),
    );
}

/** Phases to ask for. Written here, since a command loads no more than it needs. */
const PHASES: Readonly<Record<Exclude<WorkflowPhase, "">, true>> = {
  Pending: true,
  Running: true,
  Succeeded: true,
  Failed: true,
  Error: true,
};

/** Reads phases of workflows. @param before those of the same option given earlier. @throws {UsageError} */
function phases(text: string, before = ""): string {
  const stranger = text.split(",").find((one) => text !== "" && !Object.hasOwn(PHASES, one.trim()));
  if (stranger === undefined) return [before, text].filter((one) => one !== "").join(",");
  const known = Object.keys(PHASES).join(", ");
  throw new UsageError(`--status takes ${known}, received ${JSON.stringify(stranger)}`);
}

/** Adds the option with the size of pages. */
export function addChunkSize(command: Command, name: "chunk-size" | "query-chunk-size"): Command {
  return command.option(
    `--${name} <number>`,
    "workflows to ask for at a time; 0 asks for all at once",
    wholeNumber(`--${name}`),
  );
}

/** Tells whether any filter is set. An empty one chooses nothing: it is a variable of a script that has no value. */
function hasFilter(filters: WorkflowFilters): boolean {
  return [
    filters.selector,
    filters.fieldSelector,
    filters.status,
    filters.prefix,
    filters.since,
    filters.older,
    filters.running || undefined,
    filters.completed || undefined,
    filters.resubmitted || undefined,
  ].some((value) => value !== undefined && value !== "");
}

type ListQuery = NonNullable<Input<"WorkflowService_ListWorkflows">["query"]>;

/** All workflows that pass the filters, in the order in which lists show them. */
export async function filteredWorkflows(
  context: Context,
  namespace: string,
  filters: WorkflowFilters,
  fields?: string,
): Promise<Workflow[]> {
  const labels = [filters.selector, ...await labelTerms(context, filters)]
    .filter((term) => term !== undefined && term !== "").join(",");
  const query: ListQuery = {
    "listOptions.labelSelector": labels || undefined,
    "listOptions.fieldSelector": filters.fieldSelector,
    "listOptions.limit": filters.chunkSize || filters.queryChunkSize || undefined,
    fields,
    waits: fields?.includes("status.waitsSince") || undefined,
  };
  const items: Workflow[] = [];
  let next: string | undefined;
  do {
    const page = await context.client.call("WorkflowService_ListWorkflows", {
      params: { namespace },
      query: { ...query, "listOptions.continue": next },
    });
    items.push(...page.items ?? []);
    next = page.metadata.continue;
  } while (next !== undefined && next !== "");
  const now = context.now();
  return inShownOrder(items).filter(({ metadata, status }) => {
    if (filters.prefix !== undefined && metadata.name?.startsWith(filters.prefix) !== true) {
      return false;
    }
    const created = Date.parse(metadata.creationTimestamp ?? "");
    if (filters.since !== undefined && !(created > now - filters.since)) return false;
    const finished = Date.parse(status?.finishedAt ?? "");
    return filters.older === undefined || finished < now - filters.older;
  });
}

/**
 * Sorts workflows of several pages, each of which has its own order, in place: unfinished ones by creation, then finished ones
 * by their end; newest first.
 */
export function inShownOrder(workflows: Workflow[]): Workflow[] {
  const newestFirst = (a = "", b = "") => a === b ? 0 : a < b ? 1 : -1;
  return workflows.sort((a, b) => {
    const [left, right] = [a.status?.finishedAt ?? "", b.status?.finishedAt ?? ""];
    if (left !== "" && right !== "") return newestFirst(left, right);
    if (left !== right) return left === "" ? -1 : 1;
    return newestFirst(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "");
  });
}

/** The filters by labels that the server sets, under its own prefix. */
async function labelTerms(context: Context, filters: WorkflowFilters): Promise<string[]> {
  const terms = [
    filters.running ? "completed!=true" : "",
    filters.completed ? "completed=true" : "",
    filters.status ? `phase in (${filters.status})` : "",
    filters.resubmitted ? "resubmitted-from-workflow" : "",
  ].filter((term) => term !== "");
  if (terms.length === 0) return [];
  const prefix = await labelPrefix(context);
  return terms.map((term) => prefix + term);
}

export interface Target {
  namespace: string;
  name: string;
}

/** The given names, and the workflows that pass the filters, each once. @throws {UsageError} when there are neither */
export async function targets(
  context: Context,
  names: string[],
  filters: WorkflowFilters & { all?: boolean; allNamespaces?: boolean },
  ways = "--selector or --field-selector",
): Promise<Target[]> {
  const found = new Map<string, Target>();
  const add = (target: Target) => found.set(`${target.namespace}/${target.name}`, target);
  for (const name of names) add({ namespace: context.namespace, name });
  const { all = false, allNamespaces = false } = filters;
  if (!all && !hasFilter(filters)) {
    if (names.length > 0) return [...found.values()];
    throw new UsageError(`Name a workflow, or choose some with ${ways}`);
  }
  const namespace = allNamespaces ? "" : context.namespace;
  const items = await filteredWorkflows(
    context,
    namespace,
    filters,
    "metadata,items.metadata,items.status.finishedAt",
  );
  for (const { metadata: { namespace = context.namespace, name = "" } } of items) {
    add({ namespace, name });
  }
  return [...found.values()];
}
