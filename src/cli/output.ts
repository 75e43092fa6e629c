/** What commands print: data on stdout (tables, JSON, YAML, names), everything else on stderr. */
import process from "node:process";
import { stringify } from "yaml";
import type { Json, JsonObject } from "../base/json.ts";
import type { Workflow } from "../spec/manifest.ts";
import { durationMs, icon, paint, span, treeLines } from "./tree.ts";

export type Format = "json" | "yaml" | "wide" | "name" | undefined;

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** Says something to the person, not to the pipe. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function hasColour(): boolean {
  return process.stdout.isTTY === true && process.env["NO_COLOR"] === undefined;
}

/** Prints an object as JSON or YAML. */
export function printObject(value: Json | JsonObject, format: "json" | "yaml"): void {
  print(format === "json" ? JSON.stringify(value, null, 2) : stringify(value));
}

/** Prints aligned columns under upper-case heads. */
export function printTable(head: string[], rows: string[][]): void {
  const widths = head.map((title, i) =>
    Math.max(title.length, ...rows.map((row) => (row[i] ?? "").length))
  );
  for (const row of [head, ...rows]) {
    print(
      row.map((cell, i) => (i === row.length - 1 ? cell : cell.padEnd(widths[i] ?? 0))).join("   ")
        .trimEnd(),
    );
  }
}

/** Age of a time stamp, `-` when there is none. */
export function age(stamp: string | null | undefined, now: number): string {
  return stamp ? span(now - Date.parse(stamp)) : "-";
}

/** Phase as people read it: a running workflow with `spec.suspend` or a waiting step says so. */
export function statusText(workflow: Workflow): string {
  const phase = workflow.status?.phase || "Pending";
  if (phase !== "Running") return phase;
  const waits = Object.values(workflow.status?.nodes ?? {}).some((node) =>
    node.type === "Suspend" && node.phase === "Running"
  );
  return workflow.spec.suspend === true || waits ? "Running (Suspended)" : phase;
}

/** The `list` table. */
export function printWorkflows(workflows: Workflow[], format: Format, now: number): void {
  if (format === "json" || format === "yaml") {
    return printObject(workflows as unknown as Json, format);
  }
  if (format === "name") {
    return workflows.forEach((workflow) => print(workflow.metadata.name ?? ""));
  }
  const wide = format === "wide";
  printTable(
    ["NAME", "STATUS", "AGE", "DURATION", "PROGRESS", ...(wide ? ["PARAMETERS"] : []), "MESSAGE"],
    workflows.map((workflow) => [
      workflow.metadata.name ?? "",
      statusText(workflow),
      age(workflow.metadata.creationTimestamp, now),
      span(durationMs(workflow.status, now) ?? 0),
      workflow.status?.progress ?? "",
      ...(wide
        ? [
          (workflow.spec.arguments?.parameters ?? []).map((p) => `${p.name}=${p.value ?? ""}`).join(
            ",",
          ),
        ]
        : []),
      workflow.status?.message ?? "",
    ]),
  );
}

/** The text of `get`: facts, parameters, outputs, tree. */
export function workflowText(workflow: Workflow, now: number, colour: boolean): string {
  const { metadata, status, spec } = workflow;
  const lines: string[] = [];
  const fact = (name: string, value: string | undefined) => {
    if (value !== undefined && value !== "") lines.push(`${`${name}:`.padEnd(16)}${value}`);
  };
  const when = (
    stamp: string | null | undefined,
  ) => (stamp ? `${stamp} (${age(stamp, now)} ago)` : undefined);
  fact("Name", metadata.name);
  fact("Namespace", metadata.namespace);
  fact("Status", `${paint(icon(status?.phase), status?.phase, colour)} ${statusText(workflow)}`);
  fact("Message", status?.message);
  fact("Created", when(metadata.creationTimestamp));
  fact("Started", when(status?.startedAt));
  fact("Finished", when(status?.finishedAt));
  const ms = durationMs(status, now);
  fact("Duration", ms === undefined ? undefined : span(ms));
  fact("Progress", status?.progress);
  const list = (title: string, parameters: { name: string; value?: string }[] | undefined) => {
    if (parameters === undefined || parameters.length === 0) return;
    lines.push(`${title}:`);
    for (const parameter of parameters) {
      lines.push(`  ${`${parameter.name}:`.padEnd(14)}${parameter.value ?? ""}`);
    }
  };
  list("Parameters", spec.arguments?.parameters);
  list("Outputs", status?.outputs?.parameters);
  if (Object.keys(status?.nodes ?? {}).length > 0) {
    lines.push("", ...treeLines(workflow, { now, colour }));
  }
  return lines.join("\n");
}
