import { Buffer } from "node:buffer";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  hasKeptLog,
  parseLogLine,
  readKeptLog,
  TimedLines,
  ToldLog,
  writeKeptLog,
} from "./container_log.ts";
import type { LogLine } from "../port.ts";

const line = (at: number, text: string): LogLine => ({ at, text });
const LOG = [line(1, "a"), line(2, "b"), line(2, "b"), line(2, "c"), line(3, "d")];

/** All that comes. */
async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

async function* from(lines: LogLine[]): AsyncGenerator<LogLine> {
  yield* lines;
}

test("a kept log has the lines of both streams by their times", async () => {
  const dir = await mkdtemp(join(tmpdir(), "log-"));
  try {
    const err = [line(0, "é"), line(2, "x"), line(9, "")];
    await writeKeptLog(dir, from(LOG), from(err));
    expect(await hasKeptLog(dir)).toBe(true);
    expect(await all(readKeptLog(dir))).toEqual(
      [...LOG, ...err].sort((a, b) => a.at - b.at),
    );
  } finally {
    await rm(dir, { recursive: true });
  }
});

test("parseLogLine() reads a time and the text behind it, which may be empty", () => {
  expect(parseLogLine("2026-01-02T03:04:05.678901Z up and on")).toEqual({
    at: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    text: "up and on",
  });
  expect(parseLogLine("2026-01-02T03:04:05+00:00")?.text).toBe("");
  expect(parseLogLine("Error: no such container")).toBeUndefined();
});

describe("TimedLines", () => {
  const read = (text: string) => {
    const lines = new TimedLines();
    return [...lines.linesOf(Buffer.from(text)), ...lines.rest()].map((line) => line.text);
  };
  const time = (seconds: string) => `2026-01-02T03:04:${seconds}Z `;

  test("a line that was written in pieces has no times inside", () => {
    const first = time("05.678901234");
    expect(read(`${first}load${first}ing${time("06.000000000")}... done\n${first}next`))
      .toEqual(["loading... done", "next"]);
  });

  test("times that the container wrote itself stay", () => {
    const own = `ts=${time("05.678901233")}up, until 9999-01-02T03:04:05.000000000Z .`;
    expect(read(`${time("05.678901234")}${own}${time("06.000000000")}${own}\n`))
      .toEqual([`${own}${own}`]);
  });
});

describe("ToldLog", () => {
  test.each<[string, LogLine[], LogLine[]]>([
    ["nothing", [], LOG],
    ["the first line", LOG.slice(0, 1), LOG.slice(1)],
    ["one of two equal lines", LOG.slice(0, 2), LOG.slice(2)],
    ["lines of one millisecond in part", LOG.slice(0, 3), LOG.slice(3)],
    ["lines of both streams in another order", [line(1, "a"), line(2, "c"), line(2, "b")], [
      line(2, "b"),
      line(3, "d"),
    ]],
    ["a late line of the other stream", [line(2, "b"), line(1, "a"), line(2, "b")], LOG.slice(3)],
    ["everything", LOG, []],
  ])("after %s the rest comes, each line once", async (_name, told, rest) => {
    const log = new ToldLog();
    for (const one of told) log.add(one);
    expect(await all(log.restOf(() => from(LOG)))).toEqual(rest);
  });

  test("before the first line only the last lines wanted", async () => {
    const last = (count: number) => all(new ToldLog().restOf(() => from(LOG), count));
    expect(await last(2)).toEqual(LOG.slice(-2));
    expect(await last(0)).toEqual([]);
    expect(await last(9)).toEqual(LOG);
  });
});
