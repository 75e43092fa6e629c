/** What a commit to Redis must get right about its texts and its memory, beyond the contract of all stores. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { parseLabelSelector } from "../../../../src/expr/selectors/label_selector.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

let redis: RedisServer;
let store: Store;

beforeEach(async () => {
  redis = await startRedisServer();
  store = await openRedisStore({ url: redis.url });
  await store.membership.shardCount(1);
});
afterEach(async () => {
  await store.close();
  await redis.stop();
});

const idsWith = async (selector: string) => {
  const labels = parseLabelSelector(selector);
  const { items } = await store.query.list({ kind: "wf", limit: 0, labels });
  return items.map(({ id }) => id);
};

test("halves of characters are replaced one by one, and move no other text", async () => {
  const epoch = await acquired(store, 0);
  const put = { h: "ü\ud83d", s: "\ude42–", "n:1": "{}", "q\ud83d": '"\\ud83d"' };
  const outboxPut = { "row\ude42": "€\ud83d" };
  await store.shards.commit(
    commitOf(0, epoch, { actors: [changeOf("wf/a/one", { put: partTexts(put) })], outboxPut }),
  );
  const stored = await store.shards.loadActor(0, "wf/a/one");
  expect(stored?.parts).toEqual({
    h: "ü\ufffd",
    s: "\ufffd–",
    "n:1": "{}",
    "q\ufffd": '"\\ud83d"',
  });
  expect((await store.shards.loadShard(0)).outbox).toEqual({ "row\ufffd": "€\ufffd" });
});

test("an entry that another process has replaced is filed anew", async () => {
  const epoch = await acquired(store, 0);
  const id = "wf/a/one";
  const write = (by: Store, team: string) =>
    by.shards.commit(commitOf(0, epoch, {
      actors: [
        changeOf(id, { put: partTexts({ h: team }), index: entryOf(id, { labels: { team } }) }),
      ],
    }));
  await write(store, "red");
  const other = await openRedisStore({ url: redis.url });
  await write(other, "green");
  await other.close();
  // This process still remembers red.
  await write(store, "blue");
  expect(await idsWith("team=red")).toEqual([]);
  expect(await idsWith("team=green")).toEqual([]);
  expect(await idsWith("team=blue")).toEqual([id]);
});

test("lists are written as they are, however long and of whatever characters", async () => {
  const epoch = await acquired(store, 0);
  const id = "wf/a/ø\0one";
  const names = (count: number, of: string) => Array.from({ length: count }, (_, i) => `${of}${i}`);
  const textsOf = (keys: string[]) => Object.fromEntries(keys.map((key) => [key, `"${key}"`]));
  const shard = () => store.shards.loadShard(0);
  for (const [few, many] of [[1, 127], [126, 129], [1, 2_100], [999, 1_001]] as const) {
    const [rows, nodes] = [names(many, "row ü"), names(many, "n:\0")];
    const timers = names(few, "timer\0");
    await store.shards.commit(commitOf(0, epoch, {
      actors: [
        changeOf(id, { put: partTexts({ h: "{}", ...textsOf(nodes) }), index: entryOf(id) }),
      ],
      outboxPut: textsOf(rows),
      timersSet: Object.fromEntries(timers.map((timer, i) => [timer, i])),
    }));
    expect((await shard()).outbox).toEqual(textsOf(rows));
    expect((await store.shards.loadActor(0, id))?.parts).toEqual({ h: "{}", ...textsOf(nodes) });
    expect((await shard()).timers).toEqual(
      Object.fromEntries(timers.map((timer, i) => [timer, i])),
    );
    await store.shards.commit(commitOf(0, epoch, {
      actors: [changeOf(id, { put: partTexts({ h: "[]" }), drop: nodes })],
      outboxDrop: rows,
      timersClear: timers,
    }));
    expect((await shard()).outbox).toEqual({});
    expect((await store.shards.loadActor(0, id))?.parts).toEqual({ h: "[]" });
    expect((await shard()).timers).toEqual({});
  }
});

test("a change of many parts is stored and in the feed as it is, whatever its characters", async () => {
  const epoch = await acquired(store, 0);
  const [id, next] = ["wf/a/ø-one", "wf/a/two"];
  const keys = Array.from({ length: 2_000 }, (_, at) => `n:${id}-${at}`);
  const textsOf = (nodes: string[], of: string) => ({
    h: of,
    p: of,
    ...Object.fromEntries(nodes.map((key) => [key, `{"id":"${key}","${of}":1}`])),
  });
  const write = (put: Record<string, string>, drop: string[]) =>
    store.shards.commit(commitOf(0, epoch, {
      actors: [
        changeOf(id, { put: partTexts(put), drop, index: entryOf(id) }),
        // It stands behind the many, and must be found there.
        changeOf(next, { put: partTexts({ h: "next" }) }),
      ],
      outboxPut: { row: "text" },
    }));
  const stored = async () => (await store.shards.loadActor(0, id))?.parts;
  await write(textsOf(keys, "begin"), []);
  // In the last one the texts of h and p meet with the halves of a character.
  for (const words of ["plain", "ü€🙂", "\ude42ü\ud83d"]) {
    const before = await stored();
    const version = await store.query.version();
    const [gone, kept] = [keys.slice(0, 600), keys.slice(600)];
    await write({ ...textsOf(kept, words), "x\ude42": words }, gone);
    const left = { ...textsOf(kept, words.toWellFormed()), "x\ufffd": words.toWellFormed() };
    expect(await stored()).toEqual(left);
    expect((await store.shards.loadActor(0, next))?.parts).toEqual({ h: "next" });
    expect((await store.shards.loadShard(0)).outbox).toEqual({ row: "text" });
    const [change] = await store.query.changes(version);
    // The large one comes alone.
    const [other] = await store.query.changes(change?.version ?? "");
    expect(change).toMatchObject({ id, put: left, drop: gone, before });
    expect(other).toMatchObject({ id: next, put: { h: "next" } });
    await write(textsOf(keys, "again"), ["x\ufffd"]);
  }
});

test("of commits that share a call, those after a refused one find their own texts", async () => {
  const epoch = await acquired(store, 0);
  const create = (name: string, more = {}) =>
    store.shards.commit(commitOf(0, epoch, {
      actors: [
        changeOf(`wf/a/${name}-other`, { put: partTexts({ h: `other of ${name}`, a: "[]" }) }),
        changeOf(`wf/a/${name}`, {
          create: true,
          put: partTexts({ h: name, "n:1": "{}" }),
          index: entryOf(`wf/a/${name}`),
        }),
      ],
      outboxPut: { [`row of ${name}`]: name },
      answers: [{ key: name, fingerprint: "", answer: name, expiresAt: 9e12 }],
      ...more,
    }));
  const names = ["one", "two", "one", "three", "four", "five"];
  const refused = {
    0: {},
    2: {},
    3: { epoch: epoch - 1 },
    4: { follows: { row: "x", text: "y" } },
  };
  const done = await Promise.allSettled(
    names.map((name, at) => create(name, refused[at as keyof typeof refused])),
  );
  expect(done.map(({ status }) => status === "fulfilled"))
    .toEqual([true, true, false, false, false, true]);
  for (const name of ["one", "two", "five"]) {
    expect((await store.shards.loadActor(0, `wf/a/${name}`))?.parts)
      .toEqual({ h: name, "n:1": "{}" });
    expect((await store.shards.loadActor(0, `wf/a/${name}-other`))?.parts)
      .toEqual({ h: `other of ${name}`, a: "[]" });
    expect(await store.shards.findAnswers(0, [name])).toMatchObject({ [name]: { answer: name } });
  }
  expect((await store.shards.loadShard(0)).outbox)
    .toEqual({ "row of one": "one", "row of two": "two", "row of five": "five" });
});

test("a commit whose short texts together are long is written like any other", async () => {
  const epoch = await acquired(store, 0);
  const ids = Array.from({ length: 1_500 }, (_, at) => `row-${at}-${"x".repeat(60)}`);
  const outboxPut = Object.fromEntries(ids.map((id) => [id, "text"]));
  await store.shards.commit(commitOf(0, epoch, { outboxPut }));
  await store.shards.commit(commitOf(0, epoch, { outboxDrop: ids.slice(1) }));
  expect((await store.shards.loadShard(0)).outbox).toEqual({ [ids[0] ?? ""]: "text" });
});

test.each([400, 1_400, 1_600, 2_900, 3_100])(
  "a change of %i nodes tells what each was before",
  async (count) => {
    const epoch = await acquired(store, 0);
    const id = "wf/a/one";
    const nodes = (text: string) =>
      Object.fromEntries(
        Array.from({ length: count }, (_, at) => [`n:one-${at}`, `${text} ${at}`]),
      );
    const write = (by: Store, text: string) => {
      const change = changeOf(id, { put: partTexts(nodes(text)), index: entryOf(id) });
      return by.shards.commit(commitOf(0, epoch, { actors: [change] }));
    };
    const from = await store.query.version();
    await write(store, "first");
    // It does not remember who was created, so it asks for the earlier texts.
    const other = await openRedisStore({ url: redis.url });
    await write(other, "second");
    await other.close();
    expect((await store.shards.loadActor(0, id))?.parts).toEqual(nodes("second"));
    const changes = await store.query.changes(from);
    expect(changes).toMatchObject([
      { put: nodes("first") },
      { put: nodes("second"), before: nodes("first") },
    ]);
  },
);
