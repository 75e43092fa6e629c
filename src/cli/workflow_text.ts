/** A workflow as text: the facts and the tree of `get`, the rows of `list`. */
import process from "node:process";
import type { Parameter, Workflow } from "../spec/manifest.ts";
import { type Context, manifestVersion } from "./context.ts";
import {
  asManifest,
  cellText,
  type Format,
  hasColour,
  print,
  printObject,
  printTable,
  tableLines,
  terminalText,
} from "./output.ts";
import { durationMs, moment, span, spanWords } from "./times.ts";
import { resourcesText, treeLines, type TreeOptions } from "./tree.ts";

/** Phase as people read it: it says when a running workflow is suspended or a step waits. */
function statusText(workflow: Workflow): string {
  const phase = workflow.status?.phase || "Pending";
  if (phase !== "Running") return phase;
  const { nodes = {}, waitsSince } = workflow.status ?? {};
  // A list comes without nodes, and with this instead.
  const waits = waitsSince !== undefined ||
    Object.values(nodes).some((node) => node.type === "Suspend" && node.phase === "Running");
  return workflow.spec.suspend === true || waits ? "Running (Suspended)" : phase;
}

/** The text of `get`: facts, parameters, outputs, tree. */
export function workflowText(workflow: Workflow, options: TreeOptions): string {
  const { metadata, status, spec } = workflow;
  const { now } = options;
  const facts: string[][] = [];
  const fact = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") facts.push([`${name}:`, terminalText(value)]);
  };
  const when = (stamp: string | null | undefined) => stamp ? moment(stamp, now) : undefined;
  fact("Name", metadata.name ?? metadata.generateName);
  fact("Namespace", metadata.namespace);
  fact(
    "ServiceAccount",
    spec.serviceAccountName || "unset (will run with the default ServiceAccount)",
  );
  fact("Status", statusText(workflow));
  fact("Message", status?.message);
  const conditions = status?.conditions ?? [];
  if (conditions.length > 0) facts.push(["Conditions:"]);
  for (const { type = "", status: state = "", message } of conditions) {
    facts.push([` ${type}`, terminalText(message || state)]);
  }
  fact("Created", when(metadata.creationTimestamp));
  fact("Started", when(status?.startedAt));
  fact("Finished", when(status?.finishedAt));
  const ms = durationMs(status, now);
  fact("Duration", ms === undefined ? undefined : spanWords(ms));
  if (status?.estimatedDuration) {
    fact("EstimatedDuration", spanWords(status.estimatedDuration * 1000));
  }
  if (status?.startedAt) facts.push(["Progress:", status.progress ?? ""]);
  fact("ResourcesDuration", resourcesText(status?.resourcesDuration));
  const list = (title: string, parameters: readonly Parameter[] | undefined) => {
    const known = (parameters ?? []).filter(({ value }) => value !== undefined);
    if (known.length > 0) facts.push([`${title}:`]);
    for (const { name, value = "" } of known) facts.push([`  ${name}:`, terminalText(value)]);
  };
  list("Parameters", spec.arguments?.parameters);
  list("Output Parameters", status?.outputs?.parameters);
  const artifacts = status?.outputs?.artifacts ?? [];
  if (artifacts.length > 0) facts.push(["Output Artifacts:", artifacts.map((a) => a.name).join()]);
  const lines = facts.map(([name = "", value]) =>
    value === undefined ? name : `${name.padEnd(20)} ${value}`.trimEnd()
  );
  if (Object.keys(status?.nodes ?? {}).length > 0) lines.push("", ...treeLines(workflow, options));
  return lines.join("\n");
}

/** Prints one workflow in the format of `-o`. */
export async function printWorkflow(
  context: Context,
  workflow: Workflow,
  format: Format | undefined,
  look: Omit<TreeOptions, "now"> = { colour: hasColour() },
): Promise<void> {
  const options = { ...look, now: context.now() };
  if (format === "json" || format === "yaml") {
    printObject(asManifest(workflow, "Workflow", await manifestVersion(context)), format);
  } else if (format === "name") {
    print(workflow.metadata.name ?? workflow.metadata.generateName ?? "");
  } else {
    const columns = format === "wide" || format === "short" ? format : "normal";
    const isTree = format === "short" && Object.keys(workflow.status?.nodes ?? {}).length > 0;
    const look = { ...options, columns } as const;
    print(isTree ? treeLines(workflow, look).join("\n") : workflowText(workflow, look));
  }
}

export interface ListLook {
  format: Format | undefined;
  /** Namespaces have a column. */
  namespaces: boolean;
  /** Uids have a column. @default false */
  uids?: boolean;
  heads: boolean;
}

/** The table, documents or names of `list`. */
export async function printWorkflows(
  context: Context,
  workflows: Workflow[],
  look: ListLook,
): Promise<void> {
  const { format } = look;
  const now = context.now();
  if (format === "json" || format === "yaml") {
    const version = await manifestVersion(context);
    return printObject(workflows.map((one) => asManifest(one, "Workflow", version)), format);
  }
  if (format === "name") {
    return workflows.forEach((workflow) => print(workflow.metadata.name ?? ""));
  }
  if (workflows.length === 0) return print("No workflows found");
  const isWide = format === "wide";
  // A message may quote a whole log. Programs that read the table get all of it.
  const isCut = process.stdout.isTTY === true && !isWide;
  const head = ["NAME", "STATUS", "AGE", "DURATION", "PRIORITY", "MESSAGE"];
  if (look.namespaces) head.unshift("NAMESPACE");
  if (isWide) head.push("P/R/C", "PARAMETERS");
  if (look.uids) head.push("UID");
  const rows = workflows.map((workflow) => {
    const { metadata, spec, status } = workflow;
    const message = (status?.message ?? "").replaceAll("\n", " ");
    return [
      ...(look.namespaces ? [metadata.namespace ?? ""] : []),
      metadata.name ?? "",
      statusText(workflow),
      metadata.creationTimestamp ? span(now - Date.parse(metadata.creationTimestamp)) : "-",
      span(durationMs(status, now) ?? 0),
      String(spec.priority ?? 0),
      isCut ? cellText(message) : terminalText(message),
      ...(isWide ? [podCounts(workflow), parameterTexts(workflow)] : []),
      ...(look.uids ? [metadata.uid ?? ""] : []),
    ];
  });
  printTable(look.heads ? head : undefined, rows);
}

/** Pods that are pending, running and completed. */
function podCounts({ status }: Workflow): string {
  const pods = Object.values(status?.nodes ?? {}).filter(({ type }) => type === "Pod");
  const pending = pods.filter(({ phase }) => phase === undefined || phase === "Pending").length;
  const running = pods.filter(({ phase }) => phase === "Running").length;
  return `${pending}/${running}/${pods.length - pending - running}`;
}

/** Each value is one cell: it may be a whole file. */
function parameterTexts({ spec }: Workflow): string {
  return (spec.arguments?.parameters ?? [])
    .filter(({ value }) => value !== undefined)
    .map(({ name, value }) => `${terminalText(name)}=${cellText(String(value))}`).join(",");
}

/** Facts of a stored object, aligned like those of a workflow. */
export function factLines(facts: [name: string, value: string | undefined][]): string[] {
  return tableLines(
    undefined,
    facts.filter(([, value]) => value !== undefined && value !== "").map((
      [name, value = ""],
    ) => [`${name}:`.padEnd(20), value]),
    1,
  );
}
