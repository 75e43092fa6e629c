import { describe, expect, test } from "vitest";
import { parseLogLine, ToldLog } from "./container_log.ts";
import type { LogLine } from "../port.ts";

const line = (at: number, text: string): LogLine => ({ at, text });
const LOG = [line(1, "a"), line(2, "b"), line(2, "b"), line(2, "c"), line(3, "d")];

test("parseLogLine() reads a time and the text behind it, which may be empty", () => {
  expect(parseLogLine("2026-01-02T03:04:05.678901Z up and on")).toEqual({
    at: Date.UTC(2026, 0, 2, 3, 4, 5, 678),
    text: "up and on",
  });
  expect(parseLogLine("2026-01-02T03:04:05+00:00")?.text).toBe("");
  expect(parseLogLine("Error: no such container")).toBeUndefined();
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
  ])("after %s the rest comes, each line once", (_name, told, rest) => {
    const log = new ToldLog();
    for (const one of told) log.add(one);
    expect(log.restOf(LOG)).toEqual(rest);
  });

  test("before the first line only the last lines wanted", () => {
    expect(new ToldLog().restOf(LOG, 2)).toEqual(LOG.slice(-2));
    expect(new ToldLog().restOf(LOG, 0)).toEqual([]);
  });
});
