/** The archive port: what every adapter promises. */
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { ArchivedWorkflow, ArchiveQuery, DayCount } from "../../../src/archive/port.ts";
import { Problem, ProblemCode } from "../../../src/base/problem.ts";
import { parseLabelSelector } from "../../../src/expr/selectors/label_selector.ts";
import { anyQuery, anyRow, anyRule, ArchiveModel } from "./archive_model.ts";
import {
  type ArchiveSetting,
  DAY_MS,
  NOON,
  objectOf,
  rowOf,
  uidsOf,
  walk,
} from "./archive_setting.ts";

export function describeArchive(open: () => Promise<ArchiveSetting>): void {
  let setting: ArchiveSetting;
  beforeEach(async () => {
    setting = await open();
  });
  afterEach(async () => {
    await setting.archive.close();
    await setting.close();
  });
  const archive = () => setting.archive;
  const put = (...rows: ArchivedWorkflow[]) => archive().put(rows);
  const list = (query: Partial<ArchiveQuery>) => archive().list({ limit: 100, ...query });
  const found = async (query: Partial<ArchiveQuery>) => uidsOf((await list(query)).items);

  /** A row as it should come back: the object may be written in another way. */
  const expectSame = (row: ArchivedWorkflow | undefined, expected: ArchivedWorkflow) => {
    const { object = "{}", ...entry } = row ?? {};
    const { object: text, ...rest } = expected;
    expect(entry).toEqual(rest);
    expect(JSON.parse(object)).toEqual(JSON.parse(text));
  };

  describe("rows", () => {
    test("come back as they were put, also from another opening", async () => {
      const row = rowOf("1", {
        parameters: { region: "eu", size: "" },
        labels: { a: "", "b.c/d": "x" },
      });
      await put(row);
      expectSame(await archive().get("1"), row);
      await archive().close();
      setting.archive = await setting.reopen();
      expectSame(await archive().get("1"), row);
      expect(await archive().get("2")).toBeUndefined();
    });

    test("replace an older or equal edition, never a newer one", async () => {
      await put(rowOf("1", { edition: 2, phase: "Failed" }));
      await put(rowOf("1", { edition: 1, phase: "Error" }));
      expect((await archive().get("1"))?.phase).toBe("Failed");
      await put(rowOf("1", { edition: 2, phase: "Error", labels: { b: "1" } }));
      expect((await archive().get("1"))?.phase).toBe("Error");
      await put(rowOf("1", { edition: 3, createdAt: NOON + DAY_MS }));
      expect(await found({})).toEqual(["1"]);
      expect(await found({ labels: parseLabelSelector("b=1") })).toEqual([]);
      expect(await archive().editions(["1", "2"])).toEqual(new Map([["1", 3]]));
    });

    test("of one name are found newest first", async () => {
      const name = "same";
      await put(
        rowOf("1", { name, createdAt: NOON }),
        rowOf("2", { name, createdAt: NOON + 2_000 }),
        rowOf("3", { name, createdAt: NOON + 1_000 }),
        rowOf("4", { name, createdAt: NOON + 9_000, namespace: "team-b" }),
      );
      expect((await archive().findByName("team-a", name))?.uid).toBe("2");
      expect(await archive().findByName("team-c", name)).toBeUndefined();
      expect(await found({ name: { value: name, match: "exact" } })).toEqual(["4", "2", "3", "1"]);
    });

    test("go away, and leave nothing", async () => {
      await put(rowOf("1"), rowOf("2"));
      await archive().remove(["1", "none"]);
      expect(await found({})).toEqual(["2"]);
      expect(await archive().get("1")).toBeUndefined();
      await archive().remove(["2"]);
      expect(await archive().labelKeys(undefined, 10)).toEqual([]);
      expect(await archive().dayCounts("2026-01-01", "2026-12-31")).toEqual([]);
    });

    test("are written all or none", async () => {
      const broken = { ...rowOf("2"), createdAt: NaN };
      await expect(put(rowOf("1"), broken)).rejects.toThrow();
      expect(await found({})).toEqual([]);
      await put(rowOf("1"));
      expect(await found({})).toEqual(["1"]);
    });

    test("may hold any text, and large objects", async () => {
      const texts = ["\u0000", "a\\u0000b\u0000", "\\\u0000", "𝄞\u2028</script>"];
      const nodes = Object.fromEntries(
        Array.from({ length: 20_000 }, (_, index) => [`n-${index}`, { id: `n-${index}`, texts }]),
      );
      const [small, large] = [rowOf("1"), rowOf("2")];
      const write = (row: ArchivedWorkflow, more: Record<string, unknown>) =>
        JSON.stringify({ ...objectOf(row, more), "\u0000": texts });
      small.object = write(small, { a: { texts } });
      large.object = write(large, nodes);
      await put(small, large);
      expectSame(await archive().get("1"), small);
      expectSame(await archive().get("2"), large);
      const { items: [brief] } = await list({ withoutNodes: true, limit: 1 });
      const { status, ...rest } = JSON.parse(large.object);
      const { nodes: _nodes, storedTemplates: _stored, ...kept } = status;
      expect(JSON.parse(brief?.object ?? "")).toEqual({ ...rest, status: kept });
      expect((await list({ withoutObjects: true })).items.map(({ object }) => object))
        .toEqual(["", ""]);
    });

    test("may have any text as a parameter, by which they are found", async () => {
      const letters = Array.from(
        { length: 1_500 },
        (_, at) => (at * at * 7_919 % 997).toString(36),
      );
      const texts = [
        "\u0000",
        "a\u0000b",
        "\u0000\u0000",
        letters.join(""),
        "long ".repeat(2_000),
        "",
      ];
      const named = (region: string, at: number) => rowOf(`${at}`, { parameters: { region } });
      // Halves of a pair are no text that could be asked for.
      await put(...texts.map(named), named("\ud800", 7), named("\udc00", 8));
      for (const [at, value] of texts.entries()) {
        expect(await found({ parameter: { name: "region", value } })).toEqual([`${at}`]);
      }
      await put(
        ...texts.map((_, at) => rowOf(`${at}`, { parameters: { region: "eu" }, edition: 2 })),
      );
      for (const value of texts) {
        expect(await found({ parameter: { name: "region", value } })).toEqual([]);
      }
      await archive().remove(["0", "7", "8"]);
      expect(await found({ parameter: { name: "region", value: "eu" } }))
        .toEqual(["5", "4", "3", "2", "1"]);
    });

    test("are not found by a text that none of them can have", async () => {
      await put(rowOf("1"));
      const [odd, key] = ["a\u0000b", "app"];
      expect(await archive().get(odd)).toBe(undefined);
      expect(await archive().get("\ud800")).toBe(undefined);
      expect(await archive().findByName("team-a", odd)).toBe(undefined);
      for (const match of ["exact", "prefix", "contains"] as const) {
        expect(await found({ name: { value: odd, match } })).toEqual([]);
      }
      expect(await found({ namespace: odd })).toEqual([]);
      expect(await found({ labels: [{ key, operator: "=", values: [odd] }] })).toEqual([]);
      expect(await archive().labelKeys(odd, 10)).toEqual([]);
      expect(await archive().labelValues(odd, key, 10)).toEqual([]);
      expect(await archive().dayCounts("2026-03-01", "2026-03-01", odd)).toEqual([]);
      expect((await archive().createdCounts([0, NOON * 2], odd)).phases).toEqual({});
    });

    test("that are too many at once are refused", async () => {
      const rows = Array.from({ length: 201 }, (_, index) => rowOf(String(index)));
      await expect(archive().put(rows)).rejects.toThrow(Problem);
      await expect(archive().editions(Array(1_001).fill("1"))).rejects.toThrow(Problem);
      await expect(archive().remove(Array(1_001).fill("1"))).rejects.toThrow(Problem);
      for (const limit of [0, 1_001, 1.5]) await expect(list({ limit })).rejects.toThrow(Problem);
    });

    test("of many writers at once are all there, and counted", async () => {
      await Promise.all(
        Array.from(
          { length: 20 },
          (_, writer) =>
            put(...Array.from({ length: 10 }, (_, index) => rowOf(`${index * (writer % 2 + 1)}`))),
        ),
      );
      const all = await found({});
      expect(all.length).toBe(15);
      const days = await archive().dayCounts("2026-03-01", "2026-03-01");
      expect(days.map(({ count }) => count)).toEqual([15]);
    });
  });

  describe("lists", () => {
    test("are newest first, then by namespace, name and uid", async () => {
      await put(
        rowOf("1", { name: "b" }),
        rowOf("2", { name: "b" }),
        rowOf("3", { name: "a" }),
        rowOf("4", { name: "z", namespace: "team" }),
        rowOf("5", { name: "a", createdAt: NOON + 1_000 }),
        rowOf("6", { name: "c", createdAt: NOON - 1_000 }),
      );
      expect(await found({})).toEqual(["5", "4", "2", "1", "3", "6"]);
      for (const limit of [1, 2, 3]) {
        expect(uidsOf(await walk(archive(), {}, limit))).toEqual(["5", "4", "2", "1", "3", "6"]);
      }
    });

    test("go on after a position that is gone", async () => {
      await put(...["1", "2", "3"].map((uid) => rowOf(uid)));
      const { next } = await list({ limit: 1 });
      await archive().remove(["3"]);
      await put(rowOf("4"));
      expect(await found({ ...(next && { after: next }) })).toEqual(["2", "1"]);
    });

    test("end at maxScan with a position to go on from", async () => {
      const rows = Array.from(
        { length: 200 },
        (_, index) =>
          rowOf(String(index).padStart(3, "0"), { name: index === 0 ? "found" : "other" }),
      );
      await put(...rows);
      const name = { value: "oun", match: "contains" } as const;
      const page = await list({ name, maxScan: 50, limit: 5 });
      expect(page.items).toEqual([]);
      expect(page.next).toBeDefined();
      expect(uidsOf(await walk(archive(), { name, maxScan: 50 }, 5))).toEqual(["000"]);
    });

    test("end at maxSize", async () => {
      await put(...["1", "2", "3", "4"].map((uid) => rowOf(uid)));
      const size = rowOf("1").object.length;
      expect(await found({ maxSize: 1 })).toEqual(["4"]);
      expect((await found({ maxSize: 1.5 * size })).length).toBe(2);
      expect(uidsOf(await walk(archive(), { maxSize: 1 }, 10))).toEqual(["4", "3", "2", "1"]);
    });

    test("find by indexed parameters, and refuse others", async () => {
      await put(rowOf("1", { parameters: { region: "eu" } }), rowOf("2"));
      expect(await found({ parameter: { name: "region", value: "eu" } })).toEqual(["1"]);
      await expect(list({ parameter: { name: "other", value: "eu" } }))
        .rejects.toMatchObject({ code: ProblemCode.InvalidArgument });
    });

    test.each([
      ["n=1", ["1"]],
      ["n!=1", ["4", "3", "2"]],
      ["n in (1,12)", ["2", "1"]],
      ["n notin (1,12)", ["4", "3"]],
      ["n", ["3", "2", "1"]],
      ["!n", ["4"]],
      ["n>2", ["2"]],
      ["n<12", ["1"]],
      ["n,n!=x,n>0", ["2", "1"]],
    ])("select by labels: %s", async (selector, uids) => {
      const values = { 1: "1", 2: "12", 3: "x" };
      await put(
        rowOf("4"),
        ...Object.entries(values).map(([uid, n]) => rowOf(uid, { labels: { n } })),
      );
      expect(await found({ labels: parseLabelSelector(selector) })).toEqual(uids);
    });
  });

  test("expired rows come in pages, those that ended first first", async () => {
    await put(...Array.from({ length: 10 }, (_, index) =>
      rowOf(String(index), {
        createdAt: NOON - index * DAY_MS,
        phase: index % 2 === 0 ? "Failed" : "Succeeded",
      })));
    const rule = { phases: ["Failed"], finishedBefore: NOON - DAY_MS };
    const first = await archive().expired(rule, 2);
    expect(uidsOf(first.items)).toEqual(["8", "6"]);
    const second = await archive().expired(rule, 2, first.next);
    expect(uidsOf(second.items)).toEqual(["4", "2"]);
    expect((await archive().expired(rule, 2, second.next)).items).toEqual([]);
    expect(first.items[0]).toMatchObject({ phase: "Failed", labels: { app: "etl" } });
  });

  test("label keys and values are those of rows, by namespace", async () => {
    await put(
      rowOf("1", { labels: { a: "2", b: "x" } }),
      rowOf("2", { labels: { a: "1" } }),
      rowOf("3", { labels: { c: "1" }, namespace: "team-b" }),
    );
    expect(await archive().labelKeys(undefined, 2)).toEqual(["a", "b"]);
    expect(await archive().labelKeys("team-b", 10)).toEqual(["c"]);
    expect(await archive().labelValues("team-a", "a", 10)).toEqual(["1", "2"]);
    expect(await archive().labelValues(undefined, "a", 1)).toEqual(["1"]);
    expect(await archive().labelValues("team-b", "a", 10)).toEqual([]);
  });

  test("days are counted exactly, whatever is put again or removed", async () => {
    const counted = async (...days: [string, string]) =>
      (await archive().dayCounts(...days)).map((
        { day, phase, count, durationMs }: DayCount,
      ) => [day, phase, count, durationMs]);
    await put(rowOf("1"), rowOf("2", { createdAt: NOON - DAY_MS }));
    await put(rowOf("1"), rowOf("2", { createdAt: NOON - DAY_MS, edition: 0 }));
    const hour = 3_599_000;
    expect(await counted("2026-02-01", "2026-03-31"))
      .toEqual([["2026-03-01", "Succeeded", 1, hour], ["2026-02-28", "Succeeded", 1, hour]]);
    await put(rowOf("1", { edition: 2, phase: "Failed" }), rowOf("3"));
    await archive().remove(["2", "2"]);
    expect(await counted("2026-02-01", "2026-03-31"))
      .toEqual([["2026-03-01", "Failed", 1, hour], ["2026-03-01", "Succeeded", 1, hour]]);
    expect(await counted("2026-03-02", "2026-03-31")).toEqual([]);
    const [one] = await archive().dayCounts("2026-03-01", "2026-03-01", "team-a");
    expect(one).toMatchObject({ namespace: "team-a", template: "namespaced/etl" });
    await expect(archive().dayCounts("2026", "2026-03-01")).rejects.toThrow(Problem);
  });

  test("creations are counted exactly in any span, whatever is put again or removed", async () => {
    const times = [NOON - 400 * DAY_MS, NOON - 1_000, NOON, NOON + 61_000, NOON + 3_700_000];
    for (const [at, createdAt] of times.entries()) await put(rowOf(`${at}`, { createdAt }));
    await put(rowOf("2"), rowOf("2", { edition: 0 }), rowOf("b", { namespace: "team-b" }));
    const ever = [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER];
    expect(await archive().createdCounts(ever)).toEqual({
      oldest: times[0],
      phases: { Succeeded: [6] },
    });
    // A span that begins or ends within a second has what was created at whole seconds.
    const bounds = [NOON - 1_000, NOON - 500, NOON, NOON + 1, NOON + 61_001, NOON + DAY_MS];
    expect(await archive().createdCounts(bounds, "team-a")).toEqual({
      oldest: times[0],
      phases: { Succeeded: [1, 0, 1, 1, 1] },
    });
    await put(rowOf("2", { edition: 2, phase: "Failed" }));
    await archive().remove(["0", "1"]);
    expect(await archive().createdCounts([NOON - DAY_MS, NOON + 1_000], "team-a")).toEqual({
      oldest: NOON,
      phases: { Failed: [1] },
    });
    expect(await archive().createdCounts(ever, "none")).toEqual({ phases: {} });
  });

  test("rows are noted as being in the store until they have left it", async () => {
    const noted = async (limit = 10, after = "") => uidsOf(await archive().notedLive(limit, after));
    await put(rowOf("1"), rowOf("2"), rowOf("3"));
    expect(await noted()).toEqual(["1", "2", "3"]);
    expect(await noted(1, "1")).toEqual(["2"]);
    await archive().noteLeft(["1", "3", "none"]);
    expect(await noted()).toEqual(["2"]);
    await archive().noteBack(["3", "2", "none"]);
    expect(await noted()).toEqual(["2", "3"]);
    // Whoever says that they have left speaks of the time before.
    await archive().noteLeft(["2", "3"]);
    expect(await noted()).toEqual(["2", "3"]);
    await put(rowOf("3", { edition: 2 }), rowOf("2"));
    await archive().noteLeft(["2", "3"]);
    expect(await noted()).toEqual(["2"]);
    await archive().noteBack(["3"]);
    await archive().noteLeft(["2"], true);
    expect(await noted()).toEqual(["3"]);
    // An older edition changes nothing.
    await put(rowOf("2", { edition: 0 }));
    expect(await noted()).toEqual(["3"]);
    await archive().remove(["3"]);
    await archive().close();
    setting.archive = await setting.reopen();
    expect(await noted()).toEqual([]);
    await archive().noteBack(["1"]);
    const { object: _object, edition: _edition, ...entry } = rowOf("1");
    expect(await archive().notedLive(1)).toEqual([entry]);
  });

  test("property: answers as the model does", async () => {
    const step = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.record({ put: fc.array(anyRow, { minLength: 1, maxLength: 15 }) }),
      },
      { weight: 1, arbitrary: fc.record({ remove: fc.array(anyRow, { maxLength: 5 }) }) },
    );
    const script = fc.array(step, { minLength: 1, maxLength: 5 });
    const queries = fc.array(anyQuery, { minLength: 12, maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(script, queries, fc.array(anyRule, { minLength: 3 }), fc.nat(4), async (
        steps,
        asked,
        rules,
        more,
      ) => {
        const model = new ArchiveModel();
        await archive().remove(Array.from({ length: 31 }, (_, index) => `uid-${index}`));
        for (const step of steps) {
          if ("put" in step) {
            await put(...step.put);
            for (const row of step.put) model.put(row);
          } else {
            await archive().remove(uidsOf(step.remove));
            for (const { uid } of step.remove) model.rows.delete(uid);
          }
        }
        await compare(model, asked, rules, more + 1);
      }),
      { numRuns: setting.runs },
    );

    async function compare(
      model: ArchiveModel,
      queries: Omit<ArchiveQuery, "limit">[],
      rules: Parameters<ArchiveModel["expired"]>[0][],
      limit: number,
    ) {
      for (const query of queries) {
        const context = JSON.stringify(query);
        const expected = model.list({ ...query, limit });
        const rows = await walk(archive(), query, limit);
        expect(uidsOf(rows), context).toEqual(expected);
        expect(uidsOf(await walk(archive(), { ...query, maxScan: 3 }, limit)), context)
          .toEqual(expected);
        for (const row of rows.slice(0, 2)) {
          expectSame(row, model.rows.get(row.uid) ?? row);
        }
      }
      for (const rule of rules) {
        const expected = model.expired(rule);
        const { items } = await archive().expired(rule, 100);
        expect(uidsOf(items), JSON.stringify(rule)).toEqual(expected);
      }
      for (const namespace of [undefined, "team-a"]) {
        expect(await archive().labelKeys(namespace, 100)).toEqual(model.labelKeys(namespace));
        expect(await archive().labelValues(namespace, "app", 100))
          .toEqual(model.labelValues(namespace, "app"));
        expect(await archive().dayCounts("2026-03-01", "2026-03-02", namespace))
          .toEqual(model.dayCounts("2026-03-01", "2026-03-02", namespace));
        const bounds = [-2, 0, 1, 3, 90_000].map((seconds) => NOON + seconds * 1_000);
        expect(await archive().createdCounts(bounds, namespace))
          .toEqual(model.createdCounts(bounds, namespace));
      }
    }
  });

  test("after it is closed every call is Unavailable", async () => {
    await archive().close();
    for (
      const call of [
        () => archive().ping(),
        () => archive().get("1"),
        () => list({}),
        () => put(rowOf("1")),
        () => archive().remove(["1"]),
        () => archive().dayCounts("2026-03-01", "2026-03-01"),
      ]
    ) {
      await expect(call()).rejects.toMatchObject({ code: ProblemCode.Unavailable });
    }
  });
}
