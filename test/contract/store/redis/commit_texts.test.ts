/** What a commit to Redis must get right about its texts and its memory, beyond the contract of all stores. */
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
    commitOf(0, epoch, { actors: [changeOf("wf/a/one", { put })], outboxPut }),
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
      actors: [changeOf(id, { put: { h: team }, index: entryOf(id, { labels: { team } }) })],
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
