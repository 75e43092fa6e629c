/** The layout of a store on Redis: who may open it, and what is kept once. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { createClient } from "redis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Problem, ProblemCode } from "../../../../src/base/problem.ts";
import { parseLabelSelector } from "../../../../src/expr/selectors/label_selector.ts";
import type { ActorChange, IndexEntry, Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf, failureOf } from "../store_setting.ts";

const LABELS = "workflows.argoproj.io/";
const SPEC = JSON.stringify({ schema: 2, spec: "x".repeat(200) });
const OTHER_SPEC = JSON.stringify({ schema: 2, spec: "y".repeat(200) });

const HEADER = JSON.stringify({
  schema: 2,
  metadata: { generateName: "job-", name: "job-1", labels: {}, namespace: "a", uid: "u" },
  phase: "Running",
});
const NODE = JSON.stringify({
  schema: 2,
  id: "job-1",
  name: "job-1",
  displayName: "job-1",
  phase: "Running",
});

let redis: RedisServer;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  redis = await startRedisServer();
  client = createClient({ url: redis.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await redis.stop();
});
beforeEach(async () => {
  await client.flushAll();
});

async function opened(layout = 2): Promise<{ store: Store; epoch: number }> {
  const store = await openRedisStore({ url: `${redis.url}?layout=${layout}` });
  await store.membership.shardCount(1);
  return { store, epoch: await acquired(store, 0) };
}

test("a program that knows only the first layout gets an error, one with a newer layout says what to do", async () => {
  const { store } = await opened();
  await store.close();
  await expect(client.get("sluice:{cluster}:shards")).rejects.toThrow("WRONGTYPE");
  await client.hSet("sluice:{cluster}:shards", "layout", "4");
  const later = await openRedisStore({ url: redis.url });
  const failure = await failureOf(later.membership.shardCount(1));
  await later.close();
  expect((failure as Problem).code).toBe(ProblemCode.FailedPrecondition);
  expect((failure as Problem).message).toContain("layout 4");
});

test("a store of the first layout stays one: programs of earlier versions go on reading it", async () => {
  await client.set("sluice:{cluster}:shards", "1");
  const { store, epoch } = await opened();
  const actors = [changeOf("wf/a/one", {
    create: true,
    put: partTexts({ h: "{}", s: SPEC }),
    index: entryOf("wf/a/one", { labels: { [`${LABELS}phase`]: "Running" } }),
  })];
  const outboxPut = { "!": "mark" };
  await store.shards.commit(commitOf(0, epoch, { actors, outboxPut }));
  expect(await client.hGet("sluice:{s0}:a:wf/a/one", "s")).toBe(SPEC);
  expect(await client.zCard("sluice:{s0}:x:l:~phase=Running")).toBe(1);
  expect(await client.hGetAll("sluice:{s0}:outbox")).toEqual(outboxPut);
  const [entry] = await client.xRange("sluice:{s0}:feed", "-", "+") ?? [];
  expect(Object.keys(entry?.message ?? {})).toEqual(["t", "a", "c", "i"]);
  expect(await client.type("sluice:{cluster}:shards")).toBe("string");
  await client.del("sluice:{cluster}:shards");
  await store.membership.heartbeat("r", 1_000);
  expect(await client.get("sluice:{cluster}:shards")).toBe("1");
  await store.membership.heartbeat("r", 1_000);
  await store.close();
});

test("a store of the second layout has whole texts", async () => {
  const { store, epoch } = await opened();
  const id = "wf/a/job-1";
  const put = { h: HEADER, s: SPEC, "n:job-1": NODE };
  await store.shards.commit(
    commitOf(0, epoch, {
      actors: [changeOf(id, { create: true, put: partTexts(put), index: entryOf(id) })],
    }),
  );
  const stored = await client.hGetAll("sluice:{s0}:a:wf/a/job-1");
  expect(stored).toMatchObject({ h: HEADER, "n:job-1": NODE });
  expect(JSON.parse(stored["@i"] ?? "")).toHaveLength(6);
  expect((await store.shards.loadActor(0, id))?.parts).toEqual(put);
  await store.close();
});

describe("texts of the third layout", () => {
  const id = "wf/a/job-1";
  const labels = { [`${LABELS}phase`]: "Running", [`${LABELS}completed`]: "false", team: "red" };
  const index = entryOf(id, { phase: "Running", labels });
  const key = "sluice:{s0}:a:wf/a/job-1";
  const parts = { h: HEADER, s: SPEC, a: '{"schema":2,"job-1":1}', "n:job-1": NODE, r: "\x02\x1f" };

  test("are short in Redis and its feed, and whole wherever they are read", async () => {
    const { store, epoch } = await opened(3);
    const from = await store.query.version();
    const commit = (more: Partial<ActorChange>) =>
      store.shards.commit(commitOf(0, epoch, { actors: [changeOf(id, more)] }));
    await commit({ create: true, put: partTexts(parts), index });
    const stored = await client.hGetAll(key);
    expect(Object.keys(stored)).not.toContain("n:job-1");
    const all = JSON.stringify([stored, await client.xRange("sluice:{s0}:feed", "-", "+")]);
    expect(all).not.toContain("displayName");

    expect((await store.shards.loadActor(0, id))?.parts).toEqual(parts);
    const bounds = { maxNodes: 0, maxSize: 1 };
    const { "n:job-1": _, ...others } = parts;
    const { r, ...kept } = others;
    expect((await store.shards.loadActor(0, id, bounds))?.parts).toEqual(others);
    const { items } = await store.query.list({ kind: "wf", limit: 0 });
    expect(items).toMatchObject([{ parts, index }]);

    // Another program does not remember who was created.
    const other = await openRedisStore({ url: redis.url });
    const again = { "n:job-1": NODE.replace("Running", "Failed"), "n:job-1-2": NODE };
    await other.shards.commit(
      commitOf(0, epoch, { actors: [changeOf(id, { put: partTexts(again), drop: ["r"] })] }),
    );
    await commit({ remove: true, remains: "left#1" });
    const changes = await other.query.changes(from);
    const left = { ...kept, ...again };
    expect(changes).toMatchObject([
      { put: parts, index },
      { put: again, drop: ["r"], before: { "n:job-1": NODE, r } },
      { put: {}, before: kept, index },
    ]);
    const history = await other.query.history(0, id, changes[0]?.version ?? "");
    expect(history[0]?.before).toEqual({ "n:job-1": NODE, r });
    expect((await store.shards.readRemains(0, "left#1", "", 100)).parts).toEqual(left);
    await other.close();
    await store.close();
  });

  test("are read by the script that files entries, whoever wrote them", async () => {
    const { store, epoch } = await opened(3);
    const terms = async () =>
      (await client.keys("sluice:{s0}:x:*")).map((key) => key.replace(/.*:x:/, "")).sort();
    await store.shards.commit(
      commitOf(0, epoch, {
        actors: [changeOf(id, { create: true, put: partTexts(parts), index })],
      }),
    );
    expect(await terms()).toEqual(["*", "l:team=red", "n:a", "p:Running"]);
    const other = await openRedisStore({ url: redis.url });
    const moved = entryOf(id, { phase: "Failed", labels: { team: "blue" } });
    await other.shards.commit(
      commitOf(0, epoch, { actors: [changeOf(id, { put: [], index: moved })] }),
    );
    expect(await terms()).toEqual(["*", "l:team=blue", "n:a", "o", "q:Failed"]);
    // With its entry damaged, the labels of the header are all that tells.
    const header = HEADER.replace(`"labels":{}`, `"labels":{"team":"blue"}`);
    await other.shards.commit(
      commitOf(0, epoch, { actors: [changeOf(id, { put: partTexts({ h: header }) })] }),
    );
    await client.hSet(key, "@i", "garbage");
    const third = await openRedisStore({ url: redis.url });
    await third.shards.commit(commitOf(0, epoch, { actors: [changeOf(id, { remove: true })] }));
    expect(await terms()).not.toContain("l:team=blue");
    for (const one of [store, other, third]) await one.close();
  });
});

test("changes that are old are kept only while there is room for them, also where nothing changes any more", async () => {
  const url = `${redis.url}?layout=3`;
  const store = await openRedisStore({ url });
  // To this one, everything is old.
  const hasty = await openRedisStore({ url, feedAgeMs: 1 });
  await store.membership.shardCount(64);
  const shard = 3;
  const lease = await store.membership.acquire(shard, "me", 60_000);
  if (lease === undefined) throw new Error("not acquired");
  const from = await store.query.version();
  const commit = async (round: number) => {
    const actors = Array.from({ length: 60 }, (_, i) => {
      const id = `wf/a/${round}-${i}`;
      return changeOf(id, {
        create: true,
        put: partTexts({ h: JSON.stringify("x".repeat(1_500) + i) }),
      });
    });
    await store.shards.commit(commitOf(shard, lease.epoch, { actors }));
  };
  await commit(1);
  await commit(2);
  await store.membership.renew([lease], "me", 60_000);
  const feed = `sluice:{s${shard}}:feed`;
  expect(await client.xLen(feed)).toBe(120);
  await new Promise((done) => setTimeout(done, 10));
  expect(await hasty.membership.renew([lease], "me", 60_000)).toEqual([]);
  const left = await client.xLen(feed);
  expect(left).toBeGreaterThanOrEqual(8);
  expect(left).toBeLessThan(60);
  await expect(store.query.changes(from)).rejects.toThrow("too old");
  const [first] = await client.xRange(feed, "-", "+") ?? [];
  const floor = String(Number(first?.id.split("-")[0]) - 1);
  expect((await store.query.changes(floor))[0]?.version).toBe(first?.id.split("-")[0]);
  for (const one of [store, hasty]) await one.close();
});

describe("a spec that several workflows have", () => {
  const textKeys = () => client.keys("sluice:{s0}:t:*");

  test("is kept once, until the last of them is gone", async () => {
    const { store, epoch } = await opened();
    const from = await store.query.version();
    const commit = (id: string, more: Partial<ActorChange>) =>
      store.shards.commit(commitOf(0, epoch, { actors: [changeOf(id, more)] }));
    const ids = ["wf/a/one", "wf/a/two", "wf/a/three"];
    for (const id of ids) {
      await commit(id, { create: true, put: partTexts({ h: id, s: SPEC }), index: entryOf(id) });
    }
    const [key = ""] = await textKeys();
    expect(await client.hGetAll(key)).toEqual({ n: "3", t: SPEC });
    const [one = "", two = "", three = ""] = ids;
    await commit(one, { put: partTexts({ s: OTHER_SPEC }) });
    await commit(one, { put: partTexts({ s: OTHER_SPEC, h: "again" }) });
    // As long as somebody has it, it never expires.
    expect([await client.hGet(key, "n"), await client.ttl(key)]).toEqual(["2", -1]);
    expect(await textKeys()).toHaveLength(2);
    await commit(two, { remove: true, remains: "two#1" });
    await commit(three, { drop: ["s"] });
    expect(await client.hGet(key, "n")).toBe("0");
    expect(await client.ttl(key)).toBeGreaterThan(600);
    expect((await store.shards.readRemains(0, "two#1", "", 100)).parts).toEqual({
      h: two,
      s: SPEC,
    });
    // Another program has not seen the texts yet.
    const other = await openRedisStore({ url: redis.url });
    expect((await other.shards.loadActor(0, one))?.parts).toEqual({ h: "again", s: OTHER_SPEC });
    const { items } = await other.query.list({ kind: "wf", limit: 0 });
    expect(items.map(({ parts }) => parts["s"])).toEqual([undefined, OTHER_SPEC]);
    const changes = await other.query.changes(from);
    expect(changes.map(({ put }) => put["s"])).toEqual([
      ...[SPEC, SPEC, SPEC],
      ...[OTHER_SPEC, OTHER_SPEC, undefined, undefined],
    ]);
    expect(changes[5]?.before).toEqual({ h: two, s: SPEC });
    const history = await other.query.history(0, one, changes[0]?.version ?? "");
    expect(history.map(({ before }) => before?.["s"])).toEqual([SPEC, OTHER_SPEC]);
    await commit(three, { put: partTexts({ s: SPEC }) });
    expect([await client.hGet(key, "n"), await client.ttl(key)]).toEqual(["1", -1]);
    await other.close();
    await store.close();
  });

  test("is written again if it was gone; a change that can't be read without it is told as such", async () => {
    const { store, epoch } = await opened();
    const from = await store.query.version();
    const create = (id: string) =>
      store.shards.commit(commitOf(0, epoch, {
        actors: [changeOf(id, { create: true, put: partTexts({ h: id, s: SPEC }) })],
      }));
    await create("wf/a/one");
    const [key = ""] = await textKeys();
    await client.del(key);
    const other = await openRedisStore({ url: redis.url });
    expect((await other.shards.loadActor(0, "wf/a/one"))?.parts).toEqual({ h: "wf/a/one" });
    expect(await other.query.changes(from)).toMatchObject([{ id: "wf/a/one", mustLoad: true }]);
    await create("wf/a/two");
    expect((await other.shards.loadActor(0, "wf/a/two"))?.parts["s"]).toBe(SPEC);
    await other.close();
    await store.close();
  });
});

test("a manifest that is removed leaves nothing", async () => {
  const { store } = await opened();
  const manifest = { kind: "Secret", namespace: "a", name: "s", text: "1", labels: {} } as const;
  await store.manifests.put(manifest, undefined);
  expect(await client.keys("*:[ko]:Secret")).toHaveLength(2);
  await store.manifests.remove("Secret", "a", "s");
  expect(await client.keys("*:[ko]:Secret")).toEqual([]);
  await store.close();
});

describe("labels that repeat the phase", () => {
  const usual = (phase: string) => ({
    phase,
    labels: { [`${LABELS}phase`]: phase, [`${LABELS}completed`]: String(phase !== "Running") },
  });

  test("have no sets of their own, and select as if they had", async () => {
    const { store, epoch } = await opened();
    const put = (name: string, more: Partial<IndexEntry>) =>
      store.shards.commit(commitOf(0, epoch, {
        actors: [changeOf(`wf/a/${name}`, { put: [], index: entryOf(`wf/a/${name}`, more) })],
      }));
    await put("running", usual("Running"));
    await put("ended", usual("Running"));
    await put("ended", usual("Failed"));
    const sets = (await client.keys("sluice:{s0}:x:*")).map((key) => key.replace(/.*:x:/, ""));
    expect(sets.sort()).toEqual(["*", "n:a", "p:Failed", "p:Running"]);
    await put("odd", { phase: "Failed", labels: usual("Running").labels });
    await put("new", { phase: "", labels: {} });
    await put("turned", usual("Succeeded"));
    await put("turned", { ...usual("Succeeded"), labels: { [`${LABELS}phase`]: "Mine" } });
    await put("back", { phase: "Error", labels: {} });
    await put("back", usual("Error"));
    const namesOf = async (query: object) => {
      const { items } = await store.query.list({ kind: "wf", limit: 0, ...query });
      return items.map(({ index }) => index.name).sort();
    };
    const cases: [string, string[]][] = [
      ["phase=Running", ["odd", "running"]],
      ["phase=Failed", ["ended"]],
      ["phase=Mine", ["turned"]],
      ["phase in (Error,Mine)", ["back", "turned"]],
      ["completed=true", ["back", "ended"]],
      ["completed=false", ["odd", "running"]],
      ["completed!=true", ["new", "odd", "running", "turned"]],
      ["!completed", ["new", "turned"]],
    ];
    for (const [text, names] of cases) {
      const labels = parseLabelSelector(text.replace(/phase|completed/, `${LABELS}$&`));
      expect([text, await namesOf({ labels })]).toEqual([text, names]);
      const page = await store.query.list({ kind: "wf", limit: 1, labels, count: true });
      expect([text, page.remaining]).toEqual([text, names.length - 1]);
    }
    expect(await namesOf({ phases: ["Failed"] })).toEqual(["ended", "odd"]);
    expect(await namesOf({ phases: ["Succeeded"] })).toEqual(["turned"]);
    expect(await namesOf({ phases: ["Error", ""] })).toEqual(["back", "new"]);
    await store.close();
  });
});

test("a list sees each workflow once, also one whose phase changes while the list is made", async () => {
  const { store, epoch } = await opened();
  const count = 1_500;
  const idOf = (i: number) => `wf/a/w${i}`;
  const put = (from: number, to: number, phase: string) =>
    store.shards.commit(commitOf(0, epoch, {
      actors: Array.from({ length: to - from }, (_, i) =>
        changeOf(idOf(from + i), {
          put: [],
          index: entryOf(idOf(from + i), { phase, createdAt: 10_000 - from - i }),
        })),
    }));
  // The newest ones run, so a list comes to those that still move.
  await put(0, count / 2, "Running");
  await put(count / 2, count, "Pending");
  for (let round = 0; round < 4; round++) {
    const phase = round % 2 === 0 ? "Running" : "Pending";
    const moving = (async () => {
      for (let at = count; at > count / 2; at -= 25) await put(at - 25, at, phase);
    })();
    for (let list = 0; list < 4; list++) {
      const phases = ["Pending", "Running"];
      const { items } = await store.query.list({ kind: "wf", limit: 0, phases });
      expect(items.map(({ id }) => id)).toEqual(Array.from({ length: count }, (_, i) => idOf(i)));
    }
    await moving;
  }
  await store.close();
});
