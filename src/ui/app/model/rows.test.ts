/** Rows of the list, what can be done with them, and the texts around them. */
import { describe, expect, test } from "vitest";
import type { Workflow } from "../../../spec/manifest.ts";
import { EventLines } from "../data/event_lines.ts";
import { placeOf, workflowPath } from "../paths.ts";
import { allows, VERBS } from "./actions.ts";
import { curlFor } from "./curl.ts";
import {
  barsOf,
  compareRows,
  createdAfter,
  filtersFrom,
  labelSelector,
  passes,
  type Row,
  rowOf,
} from "./rows.ts";
import { durationText, manifestDuration, relativeText } from "./times.ts";

const PREFIX = "workflows.argoproj.io/";

function row(name: string, created: string, more: Partial<Workflow> = {}): Row {
  const metadata = { name, namespace: "n", creationTimestamp: created };
  return rowOf({ metadata, spec: {}, ...more } as Workflow);
}

describe("filters", () => {
  const filters = (query: string) => filtersFrom(new URLSearchParams(query));

  test("become a label selector; a workflow without a phase counts as pending", () => {
    const selector = (query: string) => labelSelector(filters(query), PREFIX);
    expect(selector("")).toBe("");
    expect(selector("phase=Failed,Error,Nonsense")).toBe(`${PREFIX}phase in (Failed,Error)`);
    expect(selector("phase=Pending")).toBe(
      `${PREFIX}phase notin (Running,Succeeded,Failed,Error)`,
    );
    expect(selector("template=t&label=a%3Db")).toBe(`${PREFIX}workflow-template=t,a=b`);
  });

  test("by name, time and parameter", () => {
    const now = Date.parse("2026-01-02T00:00:00Z");
    const one = row("order-1", "2026-01-01T23:30:00Z", {
      spec: { arguments: { parameters: [{ name: "region", value: "eu" }] } } as Workflow["spec"],
    });
    const isShown = (query: string) =>
      passes(one, filters(query), createdAfter(filters(query), now));
    expect(isShown("name=der")).toBe(true);
    expect(isShown("name=x")).toBe(false);
    expect(isShown("since=1h&parameter=region%3Deu")).toBe(true);
    expect(isShown("parameter=region%3Dus")).toBe(false);
    expect(passes(one, filters("since=1h"), createdAfter(filters("since=1h"), now + 3600e3)))
      .toBe(false);
  });
});

test("rows are newest first, and bars count them", () => {
  const rows = [
    row("a", "2026-01-01T00:00:00Z"),
    row("c", "2026-01-01T00:00:09Z"),
    row("b", "2026-01-01T00:00:09Z"),
  ].sort(compareRows);
  expect(rows.map(({ key }) => key)).toEqual(["n/c", "n/b", "n/a"]);
  const bars = barsOf(rows, 5);
  expect(bars.map(({ total }) => total)).toEqual([1, 0, 0, 0, 2]);
  expect(barsOf([], 5)).toEqual([]);
});

test("only what the state allows can be done", () => {
  const allowed = (phase: string, suspend?: boolean) =>
    VERBS.filter((verb) =>
      allows({ spec: { suspend }, status: { phase } } as unknown as Workflow, verb)
    ).join();
  expect(allowed("Running")).toBe("suspend,stop,terminate,resubmit,delete");
  expect(allowed("Running", true)).toBe("resume,stop,terminate,resubmit,delete");
  expect(allowed("Failed")).toBe("retry,resubmit,delete");
  expect(allowed("Succeeded")).toBe("resubmit,delete");
});

test("the call is safe in a shell whatever the names hold", () => {
  const step = { namespace: "n", workflow: "w", nodeId: "w-1' $(rm -rf)" };
  const text = curlFor("resume", step, { server: "http://h:1/p", hasLogin: true });
  expect(text).toContain("http://h:1/p/api/v1/workflows/n/w/resume");
  expect(text).toContain('-H "Authorization: Bearer $TOKEN"');
  expect(text).toContain(`-d '{"nodeFieldSelector":"id=w-1'\\'' $(rm -rf)"}'`);
});

test("addresses of pages can be read again", () => {
  expect(placeOf("/")).toEqual({ key: "workflows", params: {} });
  const path = workflowPath("n", "a b/c");
  expect(placeOf(path)).toEqual({ key: "workflow", params: { namespace: "n", name: "a b/c" } });
  expect(placeOf("/workflows/%E0%A4%A/x")).toBeUndefined();
  expect(placeOf("/nothing")).toBeUndefined();
});

test("durations and distances in words", () => {
  expect([0, 420, 9_999, 61_000, 3600_000, 90_000_000].map(durationText)).toEqual([
    "0 s",
    "420 ms",
    "9 s",
    "1 min 1 s",
    "1 h",
    "1 d 1 h",
  ]);
  expect(relativeText(0, 90_000)).toBe("1 min ago");
  expect(relativeText(90_000, 0)).toBe("in 1 min");
  expect(["90", "1h30m", "1.5s", "soon", ""].map(manifestDuration)).toEqual([
    90_000,
    5400_000,
    1500,
    undefined,
    undefined,
  ]);
});

test("events are read whatever way their text is cut", () => {
  const text = ':\ndata: {"a":1} \n\n\ndata: {"b":"x"} \n\n\n';
  for (let at = 0; at <= text.length; at++) {
    const lines = new EventLines();
    expect([...lines.add(text.slice(0, at)), ...lines.add(text.slice(at))]).toEqual([
      { a: 1 },
      { b: "x" },
    ]);
  }
});
