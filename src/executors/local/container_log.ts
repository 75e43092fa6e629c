/** Logs of containers: lines with their times as the program prints them, and the copy that is kept of an ended run. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LogLine } from "../port.ts";
import { writeWhole } from "./scratch.ts";

/** Reads `<RFC 3339 time> <text>`; other lines are messages of the program and give undefined. */
export function parseLogLine(line: string): LogLine | undefined {
  const match = /^(\d{4}-\d\d-\d\dT\S+) ?(.*)$/s.exec(line);
  const at = Date.parse(match?.[1] ?? "");
  return Number.isNaN(at) ? undefined : { at, text: match?.[2] ?? "" };
}

/** Keeps the log of a run that ended. Its streams came one after the other; within a millisecond their order stays. */
export async function writeKeptLog(dir: string, lines: readonly LogLine[]): Promise<void> {
  const sorted = [...lines].sort((a, b) => a.at - b.at);
  const text = sorted.map((line) => `${line.at} ${line.text}\n`).join("");
  await writeWhole(join(dir, "log"), text);
}

/** Lines of the kept log, by their times; undefined when there is none. */
export async function readKeptLog(dir: string): Promise<LogLine[] | undefined> {
  const kept = await readFile(join(dir, "log"), "utf8").catch(() => undefined);
  return kept?.split("\n").slice(0, -1).map((line): LogLine => {
    const blank = line.indexOf(" ");
    return { at: Number(line.slice(0, blank)), text: line.slice(blank + 1) };
  });
}

/** How much of a run's log a reader was told. */
export class ToldLog {
  /** The program was asked for it. */
  isStreamed = false;
  /** There is nothing more to tell. */
  isComplete = false;
  #lastAt: number | undefined;
  /** Lines of the last millisecond, and how often each. */
  #last = new Map<string, number>();

  /** Notes a line that the reader got. */
  add({ at, text }: LogLine): void {
    if (at < (this.#lastAt ?? at)) return;
    if (at !== this.#lastAt) this.#last.clear();
    this.#lastAt = at;
    this.#last.set(text, (this.#last.get(text) ?? 0) + 1);
  }

  /** Lines of the whole log that come after those told; before the first one its last `tailLines`, or all. */
  restOf(lines: readonly LogLine[], tailLines?: number): LogLine[] {
    const from = this.#lastAt;
    if (from === undefined) {
      return tailLines === undefined ? [...lines] : tailLines === 0 ? [] : lines.slice(-tailLines);
    }
    const told = new Map(this.#last);
    return lines.filter(({ at, text }) => {
      if (at !== from) return at > from;
      const count = told.get(text) ?? 0;
      told.set(text, count - 1);
      return count <= 0;
    });
  }
}
