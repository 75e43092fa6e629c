/** One page of metrics from those of several processes: each series says of which process it is. */
import { labelText, lineNames, PROCESS_LABEL } from "../base/prometheus_text.ts";

/** The metrics of one process, in the Prometheus text format as this service writes it: head lines before each metric. */
export interface ProcessPage {
  process: number;
  text: string;
}

interface Family {
  type: string;
  head: string[];
  lines: string[];
}

/**
 * Joins pages. A metric has its head lines once, from the first page that has it. One that another page knows by the same
 * name as another type, or whose lines have names of another metric there, is left out of the later page: Prometheus would
 * refuse all of it.
 */
export function joinPages(pages: readonly ProcessPage[]): string {
  const joined = new Map<string, Family>();
  /** Names of lines → the metric that writes them. */
  const owners = new Map<string, string>();
  for (const { process, text } of pages) {
    const label = labelText([[PROCESS_LABEL, String(process)]]);
    for (const [name, { type, head, lines }] of familiesOf(text)) {
      const known = joined.get(name);
      const names = lineNames(name, type);
      const isForeign = names.some((line) => (owners.get(line) ?? name) !== name);
      if (isForeign || (known !== undefined && known.type !== type)) continue;
      const labelled = lines.map((line) => withLabel(line, label));
      if (known !== undefined) known.lines.push(...labelled);
      else joined.set(name, { type, head, lines: labelled });
      for (const line of names) owners.set(line, name);
    }
  }
  const lines = [...joined.values()].flatMap((family) => [...family.head, ...family.lines]);
  return lines.map((line) => `${line}\n`).join("");
}

/** The metrics of a page, by name. */
function familiesOf(text: string): Map<string, Family> {
  const families = new Map<string, Family>();
  let current: Family | undefined;
  for (const line of text.split("\n")) {
    const [, keyword, name = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (keyword === "HELP") {
      families.set(name, current = { type: "", head: [line], lines: [] });
    } else if (keyword === "TYPE" && current !== undefined) {
      current.type = rest;
      current.head.push(line);
    } else if (line !== "") current?.lines.push(line);
  }
  return families;
}

/** The line of a series with one more label. */
function withLabel(line: string, label: string): string {
  const end = line.search(/[{ ]/);
  const name = line.slice(0, end);
  return line[end] === "{"
    ? `${name}{${label},${line.slice(end + 1)}`
    : `${name}{${label}}${line.slice(end)}`;
}
