/** How commands print: data on stdout (tables, JSON, YAML, names), everything else on stderr. */
import { createRequire } from "node:module";
import process from "node:process";
import { Option } from "commander";
import type { Pair } from "yaml";
import type { Json, JsonObject } from "../base/json.ts";
import { shownText } from "../base/shown_text.ts";

export type Format = "json" | "yaml" | "wide" | "short" | "name";

export interface OutputOptions {
  output?: Format;
}

/** The option `-o` with the given formats. */
export function outputOption(...formats: Format[]): Option {
  return new Option("-o, --output <format>", "output format").choices(formats);
}

export function print(text: string): void {
  process.stdout.write(text.endsWith("\n") ? text : `${text}\n`);
}

/** Ends the program quietly when its output is no longer read, as in `sluice list | head -1`, and with an error when its disk is full. */
export function endWithReader(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EPIPE") process.exit(0);
      if (stream !== process.stderr) say(`Error: Cannot write: ${error.message}`);
      process.exit(1);
    });
  }
}

/** Prints a message for the user on stderr, so that it stays out of pipes. */
export function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

export function hasColour(): boolean {
  // An empty variable asks for nothing: https://no-color.org
  return process.stdout.isTTY === true && !process.env["NO_COLOR"];
}

type YamlModule = typeof import("yaml");

/**
 * YAML as Kubernetes' tools write it: keys in natural order, lists not indented, double quotes around text that YAML 1.1 would
 * read as another type, and single quotes where only the characters need them.
 */
export function yamlText(value: Json): string {
  // Loaded when it is needed: most commands print none, and it would take a third of their start.
  const { Document, Scalar, visit } = createRequire(import.meta.url)("yaml") as YamlModule;
  const document = new Document(value, {
    version: "1.1",
    aliasDuplicateObjects: false,
    sortMapEntries: byNaturalKey,
  });
  const typed = document.schema.tags.flatMap((tag) =>
    tag.default === true && tag.tag !== "tag:yaml.org,2002:str" && "test" in tag ? [tag.test] : []
  );
  visit(document, {
    Scalar(_, node) {
      const { value: text } = node;
      if (typeof text === "string" && typed.some((test) => test?.test(text) === true)) {
        node.type = Scalar.QUOTE_DOUBLE;
      }
    },
  });
  return document.toString({ indentSeq: false, lineWidth: 0, singleQuote: true });
}

/** Orders keys as a person would: `step-9` before `step-10`, signs before letters. */
function byNaturalKey(a: Pair, b: Pair): number {
  const left = keyParts(a);
  const right = keyParts(b);
  for (const [i, one] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    if (one === other) continue;
    const isLetter = /\p{L}/u.test(one);
    if (isLetter !== /\p{L}/u.test(other)) return isLetter ? 1 : -1;
    const distance = Number(one) - Number(other);
    return distance || one.length - other.length || (one < other ? -1 : 1);
  }
  return left.length - right.length;
}

/** A key split into numbers and other characters. A key is a node that has its value, or the value itself. */
function keyParts({ key }: Pair): string[] {
  const text = typeof key === "object" && key !== null && "value" in key ? key.value : key;
  return String(text).match(/\d+|\D/gu) ?? [];
}

let yamlDocuments = 0;

/** Prints an object as JSON or YAML. Each further one of a command is a YAML document of its own. */
export function printObject(value: Json | JsonObject, format: "json" | "yaml"): void {
  if (format === "json") return print(JSON.stringify(value, null, 4));
  if (yamlDocuments++ > 0) print("---");
  print(yamlText(value));
}

/** An object with what makes it a manifest, which answers of the API leave out. */
export function asManifest(object: object, kind: string, apiVersion: string): JsonObject {
  return { apiVersion, kind, ...object };
}

/** Longest foreign text in a cell of a table, UTF-16 units. */
const MAX_CELL = 80;

/** A foreign text without what a terminal would obey, or nobody would see. Its lines and tabs stay. */
export function terminalText(text: string): string {
  return shownText(text).replaceAll("\r", escaped);
}

/** The same on one line, of limited length: a cell. */
export function cellText(text: string): string {
  const shown = terminalText(text).replace(/[\n\t]/g, escaped);
  return shown.length > MAX_CELL ? `${shown.slice(0, MAX_CELL - 1)}…` : shown;
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** Aligned columns. Without `head` there is no row of headings. */
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

/** Prints aligned columns under headings. */
export function printTable(head: string[] | undefined, rows: string[][]): void {
  for (const line of tableLines(head, rows, 3)) print(line);
}

/** Characters that take two places on a terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff01-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

/** Width of a text on a terminal, without colours. */
function width(text: string): number {
  // deno-lint-ignore no-control-regex -- the text that is left out begins with a control character
  const plain = text.replace(/\u001b\[[0-9;]*m/g, "");
  if (/^[ -~]*$/.test(plain)) return plain.length;
  return [...plain.replace(/[\p{M}\u200c\u200d\ufe0e\ufe0f]/gu, "")]
    .reduce((sum, char) => sum + (WIDE.test(char) ? 2 : 1), 0);
}
