/** Rows of the list, what can be done with them, and the texts around them. */
import { describe, expect, test } from "vitest";
import type { Workflow } from "../../../spec/manifest.ts";
import { EventLines } from "../data/event_lines.ts";
import { placeOf, workflowPath } from "../paths.ts";
import { allows, VERBS } from "./actions.ts";
import { resumeCall } from "./curl.ts";
import {
  areWaits,
  changedRows,
  chartOf,
  chartOfRows,
  compareRows,
  compareWaits,
  createdAfter,
  type ExtraField,
  filtersFrom,
  labelSelector,
  passes,
  type Row,
  rowFields,
  rowOf,
} from "./rows.ts";
import { choicesAfter, PHASE_CHOICES, type PhaseChoice } from "./phases.ts";
import {
  clockOffset,
  durationText,
  lengthText,
  manifestDuration,
  relativeText,
  spanText,
} from "./times.ts";

const PREFIX = "workflows.argoproj.io/";

function row(name: string, created: string, more: Partial<Workflow> = {}): Row {
  const metadata = { name, namespace: "n", creationTimestamp: created };
  return rowOf({ metadata, spec: {}, ...more } as Workflow);
}

describe("what waits", () => {
  const waits = (name: string, since: string) =>
    row(name, "2026-01-01T00:00:00Z", {
      status: { phase: "Running", waitsSince: since } as Workflow["status"],
    } as Partial<Workflow>);

  test("is a filter of its own, which no label knows", () => {
    const chosen = filtersFrom(new URLSearchParams("phase=Waiting,Failed&label=a%3Db"));
    expect(chosen.phases).toEqual(["Waiting"]);
    expect([areWaits(chosen), labelSelector(chosen, PREFIX)]).toEqual([true, "a=b"]);
    expect(areWaits(filtersFrom(new URLSearchParams("phase=Running")))).toBe(false);
  });

  test("is chosen instead of phases, and they instead of it", () => {
    const click = (chosen: readonly PhaseChoice[], one: PhaseChoice) =>
      choicesAfter(PHASE_CHOICES, chosen, one);
    expect(click(["Failed"], "Pending")).toEqual(["Pending", "Failed"]);
    expect(click(["Pending", "Failed"], "Waiting")).toEqual(["Waiting"]);
    expect(click(["Waiting"], "Waiting")).toEqual([]);
    expect(click(["Waiting"], "Failed")).toEqual(["Failed"]);
    expect(click(["Pending", "Failed"], "Pending")).toEqual(["Failed"]);
  });

  test("stands in the order of its waits; what begins to wait comes last", () => {
    const [late, early] = [
      waits("a", "2026-01-01T00:00:02.500Z"),
      waits("b", "2026-01-01T00:00:02.100Z"),
    ];
    const put = new Map([[late.key, late]]);
    const changed = (hasMore: boolean) =>
      changedRows([early], { put, gone: new Set() }, hasMore, compareWaits).rows;
    expect(changed(false).map(({ key }) => key)).toEqual(["n/b", "n/a"]);
    expect(changed(true).map(({ key }) => key)).toEqual(["n/b"]);
  });

  test("is not counted as running; where nobody knows how much waits, it is", () => {
    const running = row(
      "c",
      "2026-01-01T00:00:00Z",
      { status: { phase: "Running" } } as Partial<Workflow>,
    );
    const rows = [waits("a", "2026-01-01T00:00:02Z"), running, running];
    expect(chartOfRows(rows, 5, false).counts).toMatchObject({ Running: 2, Waiting: 1 });
    const answer = { from: "2026-01-01T00:00:00Z", spanSeconds: 60, phases: { Running: [1, 3] } };
    const counted = (more: object) => {
      const { bars, counts, total, isVague } = chartOf({ ...answer, ...more });
      expect(total).toBe(4);
      const both = [...bars.map((bar) => bar.counts), counts];
      return { isVague, both: both.map((one) => [one.Running, one.Waiting]) };
    };
    expect(counted({ waiting: 2, waitingSpans: [0, 2] }).both)
      .toEqual([[1, undefined], [1, 2], [2, 2]]);
    // When those were made that wait is not known.
    expect(counted({ waiting: 2 }).both).toEqual([[1, undefined], [3, undefined], [2, 2]]);
    expect(counted({})).toEqual({ isVague: true, both: [[1, undefined], [3, undefined], [4, 0]] });
    expect(counted({ waiting: 9 }).both.at(-1)).toEqual([0, 4]);
  });
});

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
  const { bars, total, counts, examined } = chartOfRows(rows, 5, true);
  expect(bars.map((bar) => bar.total)).toEqual([1, 0, 0, 0, 2]);
  expect({ total, counts, examined }).toMatchObject({
    total: 3,
    counts: { Pending: 3 },
    examined: 3,
  });
  expect(chartOfRows([], 5, false)).toMatchObject({ bars: [], total: 0 });
});

test("what the server counts becomes the same chart", () => {
  const { bars, ...whole } = chartOf({
    from: "2026-01-01T00:00:00Z",
    spanSeconds: 60,
    phases: { Running: [0, 1], Failed: [2, 3] },
    examined: 9_000,
  });
  expect(bars.map(({ from, counts, total }) => [from, counts, total])).toEqual([
    [Date.UTC(2026, 0, 1), { Running: 0, Failed: 2 }, 2],
    [Date.UTC(2026, 0, 1, 0, 1), { Running: 1, Failed: 3 }, 4],
  ]);
  expect(whole).toMatchObject({ counts: { Running: 1, Failed: 5 }, total: 6, examined: 9_000 });
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
  const text = resumeCall(step, [], { server: "http://h:1/p", hasLogin: true });
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
  expect([342, 1_000, 3_421, 9_999, 10_421].map((ms) => lengthText(ms, true))).toEqual([
    "342 ms",
    "1 s",
    "3.42 s",
    "10 s",
    "10 s",
  ]);
  expect([342, 3_421, 61_500].map((ms) => lengthText(ms, false))).toEqual([
    "0 s",
    "3 s",
    "1 min 1 s",
  ]);
  const startedAt = "2026-01-01T00:00:00.100Z";
  const at = Date.parse(startedAt);
  expect(spanText({ startedAt, finishedAt: "2026-01-01T00:00:00.442Z" }, at)).toBe("342 ms");
  expect(spanText({ startedAt, finishedAt: null }, at + 1_500)).toBe("1 s");
  expect(spanText({ startedAt: null }, at)).toBeUndefined();
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

test("a list asks for labels and parameters only where it shows them or filters by them", () => {
  const fields = (shown: ExtraField[], parameter = "") =>
    rowFields(shown, { parameter }, PREFIX).filter((one) => /labels|arguments/.test(one));
  expect(fields([])).toEqual([]);
  expect(fields(["metadata.labels", "metadata.labels"])).toEqual(["metadata.labels"]);
  expect(fields([], "region=eu")).toEqual(["spec.arguments"]);
  expect(fields(["spec.arguments", "metadata.labels"], "region")).toEqual([
    "metadata.labels",
    "spec.arguments",
  ]);
});

test("a list asks for the titles that the server knows by its prefix, and for no other annotation", () => {
  const fields = rowFields([], { parameter: "" }, "flows.example.org/");
  expect(fields.filter((one) => one.includes("annotations"))).toEqual([
    "metadata.annotations.flows.example.org/title",
  ]);
});

test("while workflows come, a list keeps its newest rows, or as many as somebody has asked for", () => {
  const some = (count: number, from: number) =>
    Array.from({ length: count }, (_, at) => {
      const created = new Date(Date.UTC(2026, 0, 1) + (from + at) * 1000).toISOString();
      return row(`w${from + at}`, created);
    });
  const after = (rows: Row[], come: Row[], hasMore = false) => {
    const put = new Map(come.map((one) => [one.key, one]));
    const changed = changedRows(rows, { put, gone: new Set() }, hasMore);
    const [first, last] = [changed.rows[0], changed.rows.at(-1)];
    return [changed.rows.length, changed.isCut, first?.key, last?.key];
  };
  const newest = (rows: Row[]) => [...rows].sort(compareRows);
  expect(after(newest(some(10, 0)), some(5, 10))).toEqual([15, false, "n/w14", "n/w0"]);
  expect(after(newest(some(1_990, 0)), some(30, 1_990))).toEqual([2_000, true, "n/w2019", "n/w20"]);
  expect(after(newest(some(3_000, 0)), some(1, 3_000))).toEqual([3_000, true, "n/w3000", "n/w1"]);
  // What is older than the last row is left to the next page.
  expect(after(newest(some(10, 5)), some(2, 0), true)).toEqual([10, false, "n/w14", "n/w5"]);
});

test("the server's clock is learnt from what it answers, if the browser's is clearly another", () => {
  const now = Date.parse("2026-01-01T12:00:00.400Z");
  const date = (text: string) => `Thu, 01 Jan 2026 ${text} GMT`;
  // Answers take time, and a date has whole seconds.
  expect(clockOffset(0, date("11:59:55"), now)).toBe(0);
  const ahead = clockOffset(0, date("13:00:00"), now);
  expect(ahead).toBe(3_599_600);
  expect(clockOffset(ahead, date("13:00:03"), now + 3_900)).toBe(ahead);
  expect(clockOffset(ahead, date("12:00:00"), now)).toBe(-400);
  expect(clockOffset(ahead, null, now)).toBe(ahead);
  expect(clockOffset(ahead, "yesterday", now)).toBe(ahead);
});
