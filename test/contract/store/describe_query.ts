/** Lists, watches and manifests: what every adapter promises. */
import { defined } from "../../../src/base/defined.ts";
import { partTexts } from "../../../src/base/part_text.ts";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Views } from "../../../src/actors/views.ts";
import { Problem, ProblemCode } from "../../../src/base/problem.ts";
import { parseLabelSelector } from "../../../src/expr/selectors/label_selector.ts";
import type { ActorChange, IndexEntry, ListQuery } from "../../../src/store/port.ts";
import type { StoredManifest } from "../../../src/store/manifest_port.ts";
import { VersionTooOld } from "../../../src/store/port.ts";
import {
  acquired,
  changeOf,
  collect,
  commitOf,
  entryOf,
  failureOf,
  never,
  type OpenStore,
  shardOf,
  type StoreSetting,
} from "./store_setting.ts";

const SHARDS = 8;

/** By how much the waits of `w0` … `w29` differ. */
const placeOfWait = (name: string) => 1_000 - Math.floor(Number(name.slice(3)) / 6);

export function describeQuery(open: OpenStore): void {
  let setting: StoreSetting;
  let epochs: number[];
  const store = () => setting.store;

  async function start(options: { feedLength?: number } = {}) {
    setting = await open(options);
    await store().membership.shardCount(SHARDS);
    epochs = [];
    for (let shard = 0; shard < SHARDS; shard++) epochs.push(await acquired(store(), shard));
  }

  async function put(id: string, index: Partial<IndexEntry> = {}, parts = { h: id }) {
    const shard = shardOf(id, SHARDS);
    const actors = [changeOf(id, { put: partTexts(parts), index: entryOf(id, index) })];
    await store().shards.commit(commitOf(shard, epochs[shard] ?? 0, { actors }));
  }

  async function remove(id: string) {
    const shard = shardOf(id, SHARDS);
    const actors = [changeOf(id, { remove: true })];
    await store().shards.commit(commitOf(shard, epochs[shard] ?? 0, { actors }));
  }

  async function namesOf(query: Partial<ListQuery>): Promise<string[]> {
    const page = await store().query.list({ kind: "wf", limit: 0, ...query });
    return page.items.map(({ id }) => id.slice(3));
  }

  /** Walks all pages; `between` runs after each. */
  async function walk(
    query: Partial<ListQuery>,
    limit: number,
    between: (page: number) => Promise<void> = () => Promise.resolve(),
  ): Promise<string[]> {
    const seen: string[] = [];
    let token: string | undefined;
    let page = 0;
    do {
      const list = await store().query.list({
        kind: "wf",
        limit,
        ...query,
        ...(token !== undefined && { continue: token }),
      });
      seen.push(...list.items.map(({ id }) => id.slice(3)));
      expect(list.items.length).toBeLessThanOrEqual(limit);
      if (list.continue !== undefined) expect(list.items.length).toBe(limit);
      token = list.continue;
      await between(++page);
    } while (token !== undefined);
    return seen;
  }

  beforeEach(() => start());
  afterEach(() => setting.close());

  describe("counts", () => {
    beforeEach(() => start());
    const labelled = (phase: string, isDone: boolean) => ({
      "workflows.argoproj.io/phase": phase,
      "workflows.argoproj.io/completed": String(isDone),
    });

    test("of all, of a phase and of a namespace, by the time of creation", async () => {
      await put("wf/a/1", {
        phase: "Succeeded",
        createdAt: 100,
        labels: labelled("Succeeded", true),
      });
      await put("wf/a/2", {
        phase: "Succeeded",
        createdAt: 199,
        labels: labelled("Succeeded", true),
      });
      // Its labels do not follow from its phase.
      await put("wf/b/3", { phase: "Succeeded", createdAt: 200, labels: { team: "x" } });
      await put("wf/b/4", { phase: "Running", createdAt: 200, labels: labelled("Running", false) });
      await put("wf/b/5", { phase: "", createdAt: 300 });
      await put("wf/b/6", { phase: "Failed", createdAt: 250, labels: labelled("Failed", true) });
      await remove("wf/b/6");
      const bounds = [100, 200, 300, 400];
      const { query } = store();
      expect(await query.count({}, bounds)).toEqual({ oldest: 100, counts: [2, 2, 1] });
      expect(await query.count({}, [101, 200])).toEqual({ oldest: 100, counts: [1] });
      expect(await query.count({ phase: "Succeeded" }, bounds))
        .toEqual({ oldest: 100, counts: [2, 1, 0] });
      expect(await query.count({ phase: "Running" }, bounds))
        .toEqual({ oldest: 200, counts: [0, 1, 0] });
      expect(await query.count({ phase: "" }, bounds)).toEqual({ oldest: 300, counts: [0, 0, 1] });
      expect(await query.count({ namespace: "b" }, bounds))
        .toEqual({ oldest: 200, counts: [0, 2, 1] });
      for (const none of [{ phase: "Failed" }, { namespace: "c" }]) {
        expect(await query.count(none, bounds)).toEqual({ oldest: undefined, counts: [0, 0, 0] });
      }
      await put("wf/b/5", { phase: "Succeeded", createdAt: 300 });
      expect((await query.count({ phase: "" }, bounds)).counts).toEqual([0, 0, 0]);
      expect((await query.count({ phase: "Succeeded" }, bounds)).counts).toEqual([2, 1, 1]);
    });
  });

  describe("counts of waits", () => {
    beforeEach(() => start());

    test("by the beginning of the longest wait; a bound belongs to the later span", async () => {
      for (const [id, waitsSince] of Object.entries({ a: 100, b: 199, c: 200, d: 350, e: 400 })) {
        await put(`wf/a/${id}`, { phase: "Running", createdAt: 1, waitsSince });
      }
      await put("wf/a/none", { phase: "Running", createdAt: 150 });
      const { query } = store();
      const count = async (bounds: number[]) =>
        (await query.count({ waiting: true }, bounds)).counts;
      expect(await count([100, 200, 300, 400])).toEqual([2, 1, 1]);
      expect(await count([-8.64e15, 101, 400, 8.64e15])).toEqual([1, 3, 1]);
      await put("wf/a/b", { phase: "Running", createdAt: 1 });
      await remove("wf/a/e");
      expect(await count([-8.64e15, 101, 400, 8.64e15])).toEqual([1, 2, 0]);
    });
  });

  describe("lists", () => {
    test("newest first, then by id descending; entries only", async () => {
      await put("wf/a/old", { createdAt: 1 });
      await put("wf/a/new", { createdAt: 3 });
      await put("wf/b/same", { createdAt: 2 });
      await put("wf/a/same", { createdAt: 2 });
      await put("cron/a/other", { createdAt: 2 });
      await store().shards.commit(commitOf(0, epochs[0] ?? 0, {
        actors: [changeOf("locks", { put: partTexts({ h: "x" }) })],
      }));
      expect(await namesOf({})).toEqual(["a/new", "b/same", "a/same", "a/old"]);
    });

    test("each filter, and several together", async () => {
      await put("wf/a/one", {
        createdAt: 10,
        phase: "Succeeded",
        startedAt: 11,
        finishedAt: 20,
        labels: { team: "red", size: "9" },
      });
      await put("wf/a/two", {
        createdAt: 20,
        startedAt: 21,
        labels: { team: "blue", size: "10" },
      });
      await put("wf/b/one", {
        createdAt: 30,
        phase: "Failed",
        startedAt: 31,
        finishedAt: 40,
        labels: { team: "red" },
      });
      await put("wf/b/three", { createdAt: 40, phase: "", labels: {} });
      const cases: [Partial<ListQuery>, string[]][] = [
        [{ namespace: "a" }, ["a/two", "a/one"]],
        [{ namespace: "none" }, []],
        [{ notNamespace: "a" }, ["b/three", "b/one"]],
        [{ name: { value: "one", match: "exact" } }, ["b/one", "a/one"]],
        [{ name: { value: "one", match: "exact" }, namespace: "b" }, ["b/one"]],
        [{ name: { value: "one", match: "not" } }, ["b/three", "a/two"]],
        [{ name: { value: "t", match: "prefix" } }, ["b/three", "a/two"]],
        [{ name: { value: "e", match: "contains" } }, ["b/three", "b/one", "a/one"]],
        [{ name: { value: "e", match: "contains" }, namePrefix: "t" }, ["b/three"]],
        [{ name: { value: "one", match: "exact" }, namePrefix: "t", namespace: "b" }, []],
        [{ namePrefix: "t" }, ["b/three", "a/two"]],
        [{ phases: ["Succeeded", "Failed"] }, ["b/one", "a/one"]],
        [{ phases: [""] }, ["b/three"]],
        [{ phases: [] }, []],
        [{ createdAfter: 30 }, ["b/three", "b/one"]],
        [{ startedAfter: 21 }, ["b/one", "a/two"]],
        [{ startedBefore: 21 }, ["a/two", "a/one"]],
        [{ finishedBefore: 20 }, ["a/one"]],
        [{ labels: [] }, ["b/three", "b/one", "a/two", "a/one"]],
        [{ labels: parseLabelSelector("team=red") }, ["b/one", "a/one"]],
        [{ labels: parseLabelSelector("team!=red") }, ["b/three", "a/two"]],
        [{ labels: parseLabelSelector("team in (red,blue)") }, ["b/one", "a/two", "a/one"]],
        [{ labels: parseLabelSelector("team notin (red)") }, ["b/three", "a/two"]],
        [{ labels: parseLabelSelector("size") }, ["a/two", "a/one"]],
        [{ labels: parseLabelSelector("!size") }, ["b/three", "b/one"]],
        [{ labels: parseLabelSelector("size>9") }, ["a/two"]],
        [{ labels: parseLabelSelector("team=red,size<10") }, ["a/one"]],
        [{ labels: parseLabelSelector("team=red"), namespace: "b", phases: ["Failed"] }, ["b/one"]],
        [{ labels: parseLabelSelector("team=red"), namespace: "b", phases: ["Running"] }, []],
      ];
      for (const [query, expected] of cases) {
        expect([query, await namesOf(query)]).toEqual([query, expected]);
      }
    });

    test("one that was deleted by the name that it had; by its whole name only as it is kept", async () => {
      await put("wf/a/one", { createdAt: 1 });
      await put("wf/a/one@f00d", { createdAt: 2 });
      await put("wf/a/two@beef", { createdAt: 3 });
      const cases: [ListQuery["name"], string[]][] = [
        [{ value: "one", match: "not" }, ["a/two@beef"]],
        [{ value: "ee", match: "contains" }, []],
        [{ value: "@", match: "contains" }, []],
        [{ value: "on", match: "contains" }, ["a/one@f00d", "a/one"]],
        [{ value: "one@f", match: "prefix" }, []],
        [{ value: "on", match: "prefix" }, ["a/one@f00d", "a/one"]],
        [{ value: "one", match: "exact" }, ["a/one"]],
        [{ value: "one@f00d", match: "exact" }, ["a/one@f00d"]],
      ];
      for (const [name, expected] of cases) {
        const query = defined({ name });
        expect([name, await namesOf(query)]).toEqual([name, expected]);
        expect([name, await namesOf({ ...query, namespace: "a" })]).toEqual([name, expected]);
      }
    });

    test("what is not completed is found by what the label is not", async () => {
      const key = "workflows.argoproj.io/completed";
      await put("wf/a/new", { createdAt: 4 });
      await put("wf/a/open", { createdAt: 3, labels: { [key]: "false" } });
      await put("wf/a/over", { createdAt: 2, labels: { [key]: "false" } });
      await put("wf/a/over", { createdAt: 2, labels: { [key]: "true" } });
      await put("wf/a/again", { createdAt: 1, labels: { [key]: "true" } });
      await put("wf/a/again", { createdAt: 1, labels: { [key]: "false", team: "red" } });
      for (
        const [selector, names] of [
          [`${key}!=true`, ["new", "open", "again"]],
          [`${key} notin (true)`, ["new", "open", "again"]],
          [`${key} notin (true,false)`, ["new"]],
          [`!${key}`, ["new"]],
          [`${key}!=false`, ["new", "over"]],
          [`${key}=true`, ["over"]],
          [`${key}!=true,team=red`, ["again"]],
        ] as const
      ) {
        const found = await namesOf({ labels: parseLabelSelector(selector) });
        expect([selector, found]).toEqual([selector, names.map((name) => `a/${name}`)]);
      }
      await remove("wf/a/open");
      expect(await namesOf({ labels: parseLabelSelector(`${key}!=true`) })).toHaveLength(2);
    });

    test("a changed entry is found under its new values only", async () => {
      await put("wf/a/one", { labels: { phase: "Running", keep: "1" } });
      await put("wf/a/one", { phase: "Failed", labels: { phase: "Failed", keep: "1" } });
      expect(await namesOf({ phases: ["Running"] })).toEqual([]);
      expect(await namesOf({ labels: parseLabelSelector("phase=Running") })).toEqual([]);
      expect(await namesOf({ labels: parseLabelSelector("phase=Failed") })).toEqual(["a/one"]);
      expect(await namesOf({ labels: parseLabelSelector("keep=1") })).toEqual(["a/one"]);
      expect(await namesOf({ phases: ["Failed"] })).toEqual(["a/one"]);
    });

    test("an entry that ceases to be selected while it is listed is not shown as it is then", async () => {
      const newer = Array.from({ length: 1_000 }, (_, i) => `wf/a/w${i}`);
      await Promise.all(epochs.map((epoch, shard) => {
        const actors = newer.filter((id) => shardOf(id, SHARDS) === shard).map((id) =>
          changeOf(id, {
            put: partTexts({ h: id }),
            index: entryOf(id, { createdAt: 2_000, phase: "Running" }),
          })
        );
        return store().shards.commit(commitOf(shard, epoch, { actors }));
      }));
      for (const ms of [2, 4, 8]) {
        await put("wf/a/oldest", { createdAt: 1_000, phase: "Running" });
        const listing = store().query.list({ kind: "wf", limit: 0, phases: ["Running"] });
        await new Promise((resolve) => setTimeout(resolve, ms));
        await put("wf/a/oldest", { createdAt: 1_000, phase: "Failed" });
        const phases = new Set((await listing).items.map(({ index }) => index.phase));
        expect([...phases]).toEqual(["Running"]);
      }
    });

    test("pages of any size show every entry once, also with equal times and with filters", async () => {
      const names: string[] = [];
      for (let i = 0; i < 60; i++) {
        const id = `wf/${i % 3 === 0 ? "a" : "b"}/w${i}`;
        await put(id, { createdAt: 100 + Math.floor(i / 20), labels: { odd: String(i % 2) } });
        names.push(id.slice(3));
      }
      const whole = await namesOf({});
      expect([...whole].sort()).toEqual([...names].sort());
      for (const limit of [1, 7, 20, 59, 60, 61]) expect(await walk({}, limit)).toEqual(whole);
      const odd = { labels: parseLabelSelector("odd=1") };
      expect(await walk(odd, 7)).toEqual(await namesOf(odd));
      const even = { namespace: "a", labels: parseLabelSelector("odd=0") };
      expect(await walk(even, 3)).toEqual(await namesOf(even));
      const union = { labels: parseLabelSelector("odd in (0,1)") };
      expect(await walk(union, 7)).toEqual(whole);
    });

    test("a page that has looked at enough ends, with a token to go on from", async () => {
      for (let i = 0; i < 300; i++) {
        await put(`wf/a/${i % 60 === 7 ? "few" : "many"}-${i}`, { createdAt: 1_000 + i });
      }
      const name = { value: "few", match: "prefix" } as const;
      const query = { kind: "wf", limit: 10, maxScan: 20, name } as const;
      const seen: string[] = [];
      let pages = 0;
      for (let token: string | undefined = ""; token !== undefined; pages++) {
        const page = await store().query.list({ ...query, continue: token });
        seen.push(...page.items.map(({ id }) => id));
        token = page.continue;
      }
      expect(seen).toEqual([247, 187, 127, 67, 7].map((i) => `wf/a/few-${i}`));
      expect(pages).toBeGreaterThan(3);
      // A page that is already full is like any other.
      expect(await walk({ maxScan: 20 }, 2)).toHaveLength(300);
    });

    test("a page that holds enough text ends, with a token to go on from", async () => {
      const ids = Array.from({ length: 30 }, (_, i) => `wf/a/w${String(i).padStart(2, "0")}`);
      for (const [i, id] of ids.entries()) {
        const parts = { h: "h".repeat(100), "n:1": "n".repeat(i === 20 ? 5_000 : 400) };
        await put(id, { createdAt: 1_000 + i }, parts);
      }
      for (const more of [{}, { limit: 7 }, { namespace: "a", maxScan: 4, limit: 3 }]) {
        const seen: string[] = [];
        let pages = 0;
        for (let token: string | undefined = ""; token !== undefined; pages++) {
          const query: ListQuery = { kind: "wf", limit: 0, maxSize: 1_000, continue: token };
          const page = await store().query.list({ ...query, ...more });
          const size = page.items
            .flatMap(({ parts }) => Object.values(parts))
            .reduce((sum, { length }) => sum + length, 0);
          expect(page.items.length).toBeLessThanOrEqual(2);
          expect(size).toBeLessThanOrEqual(6_000);
          seen.push(...page.items.map(({ id }) => id));
          token = page.continue;
        }
        expect(seen).toEqual(ids.toReversed());
        expect(pages).toBeGreaterThan(14);
      }
      const page = await store().query.list({
        ...{ kind: "wf", limit: 0, maxSize: 1_000, withoutNodes: true },
      });
      expect(page.items).toHaveLength(10);
    });

    test("those that are waiting, oldest first, whatever their filters and pages", async () => {
      for (let i = 0; i < 30; i++) {
        const isWaiting = i % 3 === 0;
        await put(`wf/${i % 2 === 0 ? "a" : "b"}/w${i}`, {
          createdAt: 100 + i,
          startedAt: 100 + i,
          ...(isWaiting && { waitsSince: 1_000 - Math.floor(i / 6) }),
        });
      }
      const whole = ["24", "27", "18", "21", "12", "15", "6", "9", "0", "3"]
        .map((i) => `${Number(i) % 2 === 0 ? "a" : "b"}/w${i}`)
        .sort((x, y) => placeOfWait(x) - placeOfWait(y) || (x < y ? 1 : -1));
      expect(await namesOf({ waiting: true })).toEqual(whole);
      for (const limit of [1, 3, 9, 10, 11]) {
        expect(await walk({ waiting: true }, limit)).toEqual(whole);
      }
      const inA = whole.filter((name) => name.startsWith("a/"));
      expect(await walk({ waiting: true, namespace: "a" }, 2)).toEqual(inA);
      expect(
        await namesOf({ waiting: true, namespace: "a", name: { value: "w6", match: "exact" } }),
      )
        .toEqual(["a/w6"]);
      // Bounds of other times say nothing about the order.
      expect(await namesOf({ waiting: true, createdAfter: 115, startedBefore: 121 }))
        .toEqual(["b/w21", "a/w18", "b/w15"].sort((x, y) => placeOfWait(x) - placeOfWait(y)));
      const counted = await store().query.list({
        ...{ kind: "wf", limit: 3, count: true, waiting: true },
      });
      expect(counted.remaining).toBe(7);
      // One waits anew, one no longer, one is gone, one has begun.
      await put("wf/a/w24", { createdAt: 124, waitsSince: 2_000 });
      await put("wf/b/w27", { createdAt: 127 });
      await remove("wf/a/w18");
      await put("wf/b/w1", { createdAt: 101, waitsSince: 1 });
      const rest = whole.filter((name) => !["a/w24", "b/w27", "a/w18"].includes(name));
      expect(await walk({ waiting: true }, 4)).toEqual(["b/w1", ...rest, "a/w24"]);
    });

    test("changes between pages make it neither skip nor repeat what stays", async () => {
      const stay: string[] = [];
      for (let i = 0; i < 40; i++) {
        const id = `wf/a/w${String(i).padStart(2, "0")}`;
        await put(id, { createdAt: 100 + Math.floor(i / 7) });
        if (i % 4 !== 0) stay.push(id.slice(3));
      }
      const seen = await walk({}, 6, async (page) => {
        // Finishes one workflow, removes one (which the token may point to), and adds a newer and an older one.
        await put(`wf/a/w${String(page).padStart(2, "0")}`, {
          createdAt: 100 + Math.floor(page / 7),
          phase: "Succeeded",
          finishedAt: 9_000 + page,
        });
        for (const i of [4 * page, 40 - 4 * page]) {
          if (i > 0 && i < 40) await remove(`wf/a/w${String(i).padStart(2, "0")}`);
        }
        await put(`wf/a/new${page}`, { createdAt: 5_000 + page });
      });
      expect(seen.length).toBe(new Set(seen).size);
      expect(seen.filter((name) => stay.includes(name)).sort()).toEqual(stay);
    });

    test("the count of what comes after the page", async () => {
      for (let i = 0; i < 10; i++) {
        await put(`wf/a/w${i}`, { createdAt: i, labels: { odd: String(i % 2) } });
      }
      const query = { kind: "wf", limit: 3, count: true } as const;
      const first = await store().query.list(query);
      expect(first.remaining).toBe(7);
      const next = await store().query.list({ ...query, continue: first.continue ?? "" });
      expect(next.remaining).toBe(4);
      const odd = { ...query, labels: parseLabelSelector("odd=1") };
      expect((await store().query.list(odd)).remaining).toBe(2);
      const name = { ...query, name: { value: "w", match: "prefix" } } as const;
      expect((await store().query.list(name)).remaining).toBe(7);
      expect((await store().query.list({ kind: "wf", limit: 3 })).remaining).toBeUndefined();
      expect((await store().query.list({ ...query, limit: 0 })).remaining).toBe(0);
    });

    test("only the parts that are wanted", async () => {
      await put("wf/a/one", {}, { h: "1", s: "2", x: "3", "n:1": "4" } as { h: string });
      const partsOf = async (query: Partial<ListQuery>) =>
        (await store().query.list({ kind: "wf", limit: 1, ...query })).items[0]?.parts;
      expect(await partsOf({})).toEqual({ h: "1", s: "2", x: "3", "n:1": "4" });
      expect(await partsOf({ withoutNodes: true })).toEqual({ h: "1", s: "2", x: "3" });
      expect(await partsOf({ parts: ["h", "n:1", "none"] })).toEqual({ h: "1", "n:1": "4" });
      expect(await partsOf({ parts: [] })).toEqual({});
    });

    test("a token of nobody's is refused", async () => {
      for (const token of ["abc", "5", "W10", "bnVsbA"]) {
        const failure = await failureOf(
          store().query.list({ kind: "wf", limit: 1, continue: token }),
        );
        expect((failure as Problem).code).toBe(ProblemCode.InvalidArgument);
      }
    });

    test("an object is found by its uid", async () => {
      await put("wf/a/one", { uid: "u-1" });
      await put("wf/b/two", { uid: "u-2" });
      expect(await store().query.findByUid("u-2")).toBe("wf/b/two");
      await put("wf/b/two", { uid: "u-3" });
      expect(await store().query.findByUid("u-2")).toBeUndefined();
      expect(await store().query.findByUid("u-3")).toBe("wf/b/two");
    });

    test("an object is found by its uid when another one that had the same uid is gone", async () => {
      const place = (id: string) => shardOf(id, SHARDS);
      const records = Array.from({ length: 100 }, (_, at) => `wf/a/one@${at}`);
      const beside = records.find((id) => place(id) === place("wf/a/one")) ?? "";
      const elsewhere = records.find((id) => place(id) !== place("wf/a/one")) ?? "";
      for (const record of [beside, elsewhere]) {
        await put(record, { uid: "u-9" });
        await put("wf/a/one", { uid: "u-9" });
        await remove(record);
        expect(await store().query.findByUid("u-9")).toBe("wf/a/one");
        await put(record, { uid: "u-9" });
        await remove("wf/a/one");
        expect(await store().query.findByUid("u-9")).toBe(record);
        await remove(record);
        expect(await store().query.findByUid("u-9")).toBeUndefined();
      }
    });
  });

  describe("watches", () => {
    test("each change once and in order, over shards and manifests", async () => {
      const stop = new AbortController();
      const feed = store().query.watch(await store().query.version(), stop.signal);
      await put("wf/a/one", {}, { h: "1" });
      await put("wf/b/two", { labels: { l: "v" } }, { h: "2" });
      await put("wf/a/one", { phase: "Failed" }, { h: "3" });
      const shard = shardOf("wf/a/one", SHARDS);
      await store().shards.commit(commitOf(shard, epochs[shard] ?? 0, {
        actors: [
          changeOf("wf/a/one", { put: partTexts({ "n:1": "x" }), drop: ["h"] }),
          changeOf("locks", { put: partTexts({ h: "1" }), silent: true }),
          changeOf("cron/a/c", { put: partTexts({ h: "c" }) }),
        ],
      }));
      await store().manifests.put(manifest("WorkflowTemplate", "a", "t"), undefined);
      await remove("wf/b/two");
      const changes = await collect(feed, 7, stop);
      expect(changes.map(({ version: _, ...change }) => change)).toEqual([
        { type: "ADDED", id: "wf/a/one", put: { h: "1" }, drop: [], index: entryOf("wf/a/one") },
        {
          type: "ADDED",
          id: "wf/b/two",
          put: { h: "2" },
          drop: [],
          index: entryOf("wf/b/two", { labels: { l: "v" } }),
        },
        {
          type: "MODIFIED",
          id: "wf/a/one",
          put: { h: "3" },
          drop: [],
          before: { h: "1" },
          index: entryOf("wf/a/one", { phase: "Failed" }),
        },
        {
          type: "MODIFIED",
          id: "wf/a/one",
          put: { "n:1": "x" },
          drop: ["h"],
          before: { h: "3" },
          index: entryOf("wf/a/one", { phase: "Failed" }),
        },
        { type: "ADDED", id: "cron/a/c", put: { h: "c" }, drop: [] },
        { type: "ADDED", id: "WorkflowTemplate/a/t", put: { m: "text of t" }, drop: [] },
        {
          type: "DELETED",
          id: "wf/b/two",
          put: {},
          drop: [],
          before: { h: "2" },
          index: entryOf("wf/b/two", { labels: { l: "v" } }),
        },
      ]);
      const versions = changes.map(({ version }) => Number(version));
      expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
      const actor = await store().shards.loadActor(shard, "wf/a/one");
      expect(changes[3]?.version).toBe(actor?.version);
      const [first] = changes;
      expect(await store().query.changes(first?.version ?? "")).toEqual(changes.slice(1));
      expect(await store().query.changes(changes.at(-1)?.version ?? "")).toEqual([]);
      expect(await store().query.history(shard, "wf/a/one", first?.version ?? ""))
        .toEqual(changes.slice(1).filter(({ id }) => id === "wf/a/one"));
    });

    test("the change of thousands of parts tells all of them as they were", async () => {
      const parts = (text: string) =>
        Object.fromEntries(
          Array.from(
            { length: 3_000 },
            (_, i) => [`n:${i}`, `"${text}" ${i}${i % 7 === 0 ? " – ü€🙂" : ""}`],
          ),
        );
      const from = await store().query.version();
      const [before, after] = [parts("before"), parts("after")] as unknown as { h: string }[];
      await put("wf/a/one", {}, before);
      await put("wf/a/one", {}, after);
      await remove("wf/a/one");
      const stop = new AbortController();
      const changes = await collect(store().query.watch(from, stop.signal), 3, stop);
      expect(changes.map((change) => change.before)).toEqual([undefined, before, after]);
    });

    test("a history tells what each change of a workflow replaced, also of one that is new", async () => {
      const id = "wf/a/new";
      const shard = shardOf(id, SHARDS);
      const from = await store().query.version();
      const entry = (team: string) => ({ index: entryOf(id, { labels: { team } }) });
      const steps: Partial<ActorChange>[] = [
        { create: true, put: partTexts({ h: "h1", s: "s", "n:1": "ä" }), ...entry("red") },
        { put: partTexts({ h: "h2", "n:2": "b" }) },
        { put: partTexts({ h: "h3", "n:1": "c" }), drop: ["n:2"], ...entry("blue") },
        { put: partTexts({ "n:2": "d" }) },
        { remove: true },
        { create: true, put: partTexts({ h: "again" }), ...entry("red") },
        { put: partTexts({ h: "over", "n:1": "e" }), drop: ["s"] },
        { put: partTexts({ s: "@a text, no reference" }) },
        { remove: true },
      ];
      const versions: string[] = [];
      for (const step of steps) {
        const actors = [changeOf(id, step)];
        const commit = commitOf(shard, epochs[shard] ?? 0, { actors });
        versions.push((await store().shards.commit(commit)).versions[id] ?? "");
      }
      const replaced = [
        undefined,
        { h: "h1" },
        { h: "h2", "n:1": "ä", "n:2": "b" },
        undefined,
        { h: "h3", s: "s", "n:1": "c", "n:2": "d" },
        undefined,
        { h: "again" },
        undefined,
        { h: "over", "n:1": "e", s: "@a text, no reference" },
      ];
      for (const [index, version] of [from, ...versions].entries()) {
        const found = await store().query.history(shard, id, version);
        expect(found.map(({ before }) => before)).toEqual(replaced.slice(index));
      }
      const stop = new AbortController();
      const changes = await collect(store().query.watch(from, stop.signal), steps.length, stop);
      expect(changes[4]?.before).toEqual(replaced[4]);
      const edited = changes[2];
      if (edited?.before === undefined) expect(edited?.indexBefore).toEqual(entry("red").index);
      else expect(edited.before).toEqual(replaced[2]);
    });

    test("a new actor that is too large for the feed is loaded by those who follow it, as it was after each change", async () => {
      const id = "wf/a/large";
      const shard = shardOf(id, SHARDS);
      const from = await store().query.version();
      const nodes = Object.fromEntries(
        Array.from({ length: 20_000 }, (_, at) => [`n:${at}`, `"${`ä${at}`.padEnd(250)}"`]),
      );
      const parts = { h: "h1", s: "s", ...nodes };
      const steps: Partial<ActorChange>[] = [
        { create: true, put: partTexts(parts), index: entryOf(id) },
        { put: partTexts({ h: "h2", "n:6": "x", "n:new": "y" }), drop: ["n:5"] },
        { put: partTexts({ "n:new": "z" }), index: entryOf(id, { phase: "Failed" }) },
      ];
      for (const step of steps) {
        const actors = [changeOf(id, step)];
        await store().shards.commit(commitOf(shard, epochs[shard] ?? 0, { actors }));
      }
      const stop = new AbortController();
      const changes = await collect(store().query.watch(from, stop.signal), steps.length, stop);
      const fed = changes[0];
      expect(fed).toMatchObject({ type: "ADDED", put: { h: "h1", s: "s" }, index: entryOf(id) });
      if (fed?.mustLoad === true) expect(Object.keys(fed.put)).toEqual(["h", "s"]);
      else expect(fed?.put).toEqual(parts);
      const second: Record<string, string> = { ...parts, h: "h2", "n:6": "x", "n:new": "y" };
      delete second["n:5"];
      const after = [parts, second, { ...second, "n:new": "z" }];
      // Whoever follows from the beginning, and whoever comes to each of them first.
      const open = () =>
        new Views({
          load: (actor) => store().shards.loadActor(shard, actor),
          history: (actor, version) => store().query.history(shard, actor, version),
        });
      const follower = open();
      for (const [at, change] of changes.entries()) {
        expect((await follower.after(change)).parts).toEqual(after[at]);
        expect((await open().after(change)).parts).toEqual(after[at]);
      }
    });

    test("without a version it begins at the call", async () => {
      await put("wf/a/before");
      const stop = new AbortController();
      const feed = store().query.watch(undefined, stop.signal);
      await store().query.version();
      await put("wf/a/after");
      expect((await collect(feed, 1, stop)).map(({ id }) => id)).toEqual(["wf/a/after"]);
    });

    test("resumes after any of its changes without a gap", async () => {
      const from = await store().query.version();
      for (let i = 0; i < 12; i++) await put(`wf/a/w${i % 5}`, {}, { h: `${i}` });
      const stop = new AbortController();
      const all = await collect(store().query.watch(from, stop.signal), 12, stop);
      expect(all.map(({ put }) => put["h"])).toEqual(
        Array.from({ length: 12 }, (_, i) => `${i}`),
      );
      for (const at of [0, 5, 10]) {
        const again = new AbortController();
        const feed = store().query.watch(all[at]?.version, again.signal);
        expect(await collect(feed, 11 - at, again)).toEqual(all.slice(at + 1));
      }
    });

    test("a list's version loses nothing of what comes later", async () => {
      await put("wf/a/one");
      const { version, items } = await store().query.list({ kind: "wf", limit: 0 });
      expect(items.length).toBe(1);
      await put("wf/a/two");
      const stop = new AbortController();
      const feed = store().query.watch(version, stop.signal);
      expect((await collect(feed, 1, stop)).map(({ id }) => id)).toEqual(["wf/a/two"]);
    });

    test("several watchers under concurrent commits each get everything once", async () => {
      const from = await store().query.version();
      const watchers = [1, 2, 3].map(() => {
        const stop = new AbortController();
        return collect(store().query.watch(from, stop.signal), 80, stop);
      });
      await Promise.all(Array.from({ length: 80 }, (_, i) => put(`wf/a/w${i}`)));
      for (const changes of await Promise.all(watchers)) {
        expect(changes.length).toBe(80);
        expect(new Set(changes.map(({ id }) => id)).size).toBe(80);
        const versions = changes.map(({ version }) => Number(version));
        expect(versions).toEqual([...versions].sort((a, b) => a - b));
      }
    });

    test("ends without an error when it is aborted, also before it began", async () => {
      const stop = new AbortController();
      const feed = store().query.watch(undefined, stop.signal);
      const reading = collect(feed, 1, new AbortController());
      await setting.pass(10);
      stop.abort();
      expect(await reading).toEqual([]);
      expect(await collect(store().query.watch("1", stop.signal), 1, stop)).toEqual([]);
    });

    test("a start that was trimmed is too old, the last one is not", async () => {
      await setting.close();
      await start({ feedLength: 40 });
      const from = await store().query.version();
      for (let i = 0; i < 700; i++) await put(`wf/a/w${i % 3}`);
      const stop = new AbortController();
      const failure = await failureOf(collect(store().query.watch(from, stop.signal), 1, stop));
      expect(failure).toBeInstanceOf(VersionTooOld);
      expect(await failureOf(store().query.changes(from))).toBeInstanceOf(VersionTooOld);
      const shard = shardOf("wf/a/w0", SHARDS);
      expect(await failureOf(store().query.history(shard, "wf/a/w0", from)))
        .toBeInstanceOf(VersionTooOld);
      const last = await store().query.version();
      await put("wf/a/after");
      const changes = await collect(store().query.watch(last, stop.signal), 1, stop);
      expect(changes.map(({ id }) => id)).toEqual(["wf/a/after"]);
    });

    test("a version that is none is refused", async () => {
      const feed = store().query.watch("abc", never);
      const failure = await failureOf(collect(feed, 1, new AbortController()));
      expect((failure as Problem).code).toBe(ProblemCode.InvalidArgument);
    });
  });

  describe("manifests", () => {
    const manifests = () => store().manifests;

    test("are created, read, changed and removed, each under its expectation", async () => {
      const first = manifest("WorkflowTemplate", "a", "t");
      expect(await manifests().put(first, "1")).toEqual({ conflict: "missing" });
      const created = await manifests().put(first, undefined);
      const version = "version" in created ? created.version : "";
      expect(await manifests().get("WorkflowTemplate", "a", "t")).toEqual({ ...first, version });
      expect(await manifests().put(first, undefined)).toEqual({ conflict: "exists" });
      const second = { ...first, text: "second", labels: {} };
      const changed = await manifests().put(second, version);
      const newVersion = "version" in changed ? changed.version : "";
      expect(Number(newVersion)).toBeGreaterThan(Number(version));
      expect(await manifests().put(first, version)).toEqual({ conflict: "changed" });
      expect(await manifests().put(second, "*")).toHaveProperty("version");
      expect(await manifests().remove("WorkflowTemplate", "a", "t", version)).toBeUndefined();
      const stored = await manifests().get("WorkflowTemplate", "a", "t");
      expect(await manifests().remove("WorkflowTemplate", "a", "t", stored?.version ?? ""))
        .toEqual(stored);
      expect(await manifests().get("WorkflowTemplate", "a", "t")).toBeUndefined();
      expect(await manifests().remove("WorkflowTemplate", "a", "t")).toBeUndefined();
      expect(await manifests().put(first, "*")).toHaveProperty("version");
    });

    test("of concurrent creations and changes one wins", async () => {
      const create = await Promise.all(
        Array.from({ length: 6 }, () => manifests().put(manifest("Secret", "a", "s"), undefined)),
      );
      const won = create.filter((outcome) => "version" in outcome);
      expect(won.length).toBe(1);
      const version = won[0] && "version" in won[0] ? won[0].version : "";
      const change = await Promise.all(
        Array.from({ length: 6 }, () => manifests().put(manifest("Secret", "a", "s"), version)),
      );
      expect(change.filter((outcome) => "version" in outcome).length).toBe(1);
    });

    test("lists are sorted by namespace and name, filtered and paged", async () => {
      const places = [["b", "x"], ["a", "y"], ["a-b", "x"], ["a", "x-1"], ["a", "x"]] as const;
      for (const [namespace, name] of places) {
        await manifests().put(manifest("CronWorkflow", namespace, name), undefined);
      }
      await manifests().put(manifest("Secret", "a", "x"), undefined);
      await manifests().put(manifest("ClusterWorkflowTemplate", "", "c"), undefined);
      const namesOf = ({ items }: { items: StoredManifest[] }) =>
        items.map(({ namespace, name }) => `${namespace}/${name}`);
      const list = (query: object) => manifests().list("CronWorkflow", { limit: 0, ...query });
      expect(namesOf(await list({}))).toEqual(["a/x", "a/x-1", "a/y", "a-b/x", "b/x"]);
      expect(namesOf(await list({ namespace: "a" }))).toEqual(["a/x", "a/x-1", "a/y"]);
      expect(namesOf(await list({ nameContains: "x" }))).toEqual(["a/x", "a/x-1", "a-b/x", "b/x"]);
      expect(namesOf(await list({ labels: parseLabelSelector("name=y") }))).toEqual(["a/y"]);
      expect(namesOf(await manifests().list("ClusterWorkflowTemplate", { limit: 0 }))).toEqual([
        "/c",
      ]);
      const seen: string[] = [];
      let token: string | undefined;
      do {
        const page: Awaited<ReturnType<typeof list>> = await list({
          limit: 2,
          ...(token !== undefined && { continue: token }),
        });
        seen.push(...namesOf(page));
        token = page.continue;
        await manifests().remove("CronWorkflow", "a", "x-1");
      } while (token !== undefined);
      expect(seen).toEqual(["a/x", "a/x-1", "a/y", "a-b/x", "b/x"]);
      const failure = await failureOf(list({ continue: "nonsense" }));
      expect((failure as Problem).code).toBe(ProblemCode.InvalidArgument);
    });
  });
}

function manifest(
  kind: StoredManifest["kind"],
  namespace: string,
  name: string,
): Omit<StoredManifest, "version"> {
  return { kind, namespace, name, text: `text of ${name}`, labels: { name } };
}
