/** How commands print: data on stdout (tables, JSON, YAML, names), everything else on stderr. */
import process from "node:process";
import { Option } from "commander";
import { stringify } from "yaml";
import type { Json, JsonObject } from "../base/json.ts";

export type Format = "json" | "yaml" | "wide" | "short" | "name";

export interface OutputOptions {
  output?: Format;
}

/** Adds `-o` with the given formats. */
export function outputOption(...formats: Format[]): Option {
  return new Option("-o, --output <format>", "output format").choices(formats);
}

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

/** YAML as Kubernetes' tools write it: sorted, lists not indented, text that YAML 1.1 would take for something else quoted. */
export function yamlText(value: Json): string {
  return stringify(value, {
    version: "1.1",
    sortMapEntries: true,
    indentSeq: false,
    lineWidth: 0,
    aliasDuplicateObjects: false,
  });
}

/** Prints an object as JSON or YAML. */
export function printObject(value: Json | JsonObject, format: "json" | "yaml"): void {
  print(format === "json" ? JSON.stringify(value, null, 4) : yamlText(value));
}

/** Columns, aligned. Without `head` there is no first row. */
export function tableLines(head: string[] | undefined, rows: string[][], gap: number): string[] {
  const all = head === undefined ? rows : [head, ...rows];
  const widths: number[] = [];
  for (const row of all) {
    row.forEach((cell, i) => (widths[i] = Math.max(widths[i] ?? 0, width(cell))));
  }
  return all.map((row) =>
    row.map((cell, i) => cell + " ".repeat((widths[i] ?? 0) - width(cell))).join(" ".repeat(gap))
      .trimEnd()
  );
}

/** Prints aligned columns under upper-case heads. */
export function printTable(head: string[] | undefined, rows: string[][]): void {
  for (const line of tableLines(head, rows, 3)) print(line);
}

/** Places that a text takes on a terminal, without colours. */
function width(text: string): number {
  // deno-lint-ignore no-control-regex -- what is left out is made of control characters
  return [...text.replace(/\u001b\[[0-9;]*m/g, "")].length;
}
