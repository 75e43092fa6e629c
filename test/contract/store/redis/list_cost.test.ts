/** A page costs what it returns: the work of Redis does not grow with the number of stored workflows. */
import { partTexts } from "../../../../src/base/part_text.ts";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { parseLabelSelector } from "../../../../src/expr/selectors/label_selector.ts";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import { continueAfter } from "../../../../src/store/list_query.ts";
import type { ListQuery, Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf, shardOf } from "../store_setting.ts";

const SHARDS = 8;
const LIMIT = 20;
const FEW = 1_000;
const MANY = 5_000;
const WAITING = 50;
const COMPLETED = "workflows.argoproj.io/completed";

let redis: RedisServer;
let store: Store;
let client: ReturnType<typeof createClient>;

beforeAll(async () => {
  redis = await startRedisServer();
  store = await openRedisStore({ url: redis.url });
  client = createClient({ url: redis.url });
  await client.connect();
  await store.membership.shardCount(SHARDS);
});
afterAll(async () => {
  client.destroy();
  await store.close();
  await redis.stop();
});

const idOf = (i: number) => `wf/a/w${i}`;

async function fill(from: number, to: number): Promise<void> {
  for (let shard = 0; shard < SHARDS; shard++) {
    const epoch = await acquired(store, shard);
    const actors = Array.from({ length: to - from }, (_, i) => from + i)
      .filter((i) => shardOf(idOf(i), SHARDS) === shard)
      .map((i) =>
        changeOf(idOf(i), {
          put: partTexts({ h: "{}", s: "{}", "n:1": "{}" }),
          index: entryOf(idOf(i), {
            createdAt: 1_000 + i,
            startedAt: 1_000 + i,
            finishedAt: 1_002 + i,
            phase: "Succeeded",
            labels: { [COMPLETED]: "true", team: `t${i % 10}` },
            ...(i < WAITING && { waitsSince: 2_000 + i }),
          }),
        })
      );
    await store.shards.commit(commitOf(shard, epoch, { actors }));
  }
}

/** Number of commands that Redis has run so far, including those inside scripts. */
async function commands(): Promise<number> {
  const stats = await client.info("commandstats");
  return [...stats.matchAll(/:calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

async function costOf(query: Partial<ListQuery>): Promise<{ items: number; calls: number }> {
  const before = await commands();
  const { items } = await store.query.list({ kind: "wf", limit: LIMIT, ...query });
  return { items: items.length, calls: await commands() - before };
}

const labels = (text: string) => ({ labels: parseLabelSelector(text) });
const QUERIES: [string, Partial<ListQuery>][] = [
  ["everything", {}],
  ["what is waiting", { waiting: true }],
  ["a namespace", { namespace: "a" }],
  ["a common label", labels(`${COMPLETED}=true`)],
  ["a label of one in ten", labels("team=t7")],
  ["two labels", labels(`${COMPLETED}=true,team=t7`)],
  ["what is not completed", labels(`${COMPLETED}!=true`)],
  ["another phase", { phases: ["Failed"] }],
  ["what ended early", { finishedBefore: 1_050 }],
  ["the last page", { continue: continueAfter({ createdAt: 1_020, id: idOf(20) }) }],
  [
    "the last page of a label",
    { ...labels("team=t7"), continue: continueAfter({ createdAt: 1_207, id: idOf(207) }) },
  ],
];

test("what Redis does for a page does not grow with what is stored", async () => {
  await fill(0, FEW);
  for (const [, query] of QUERIES) await costOf(query);
  const few = new Map<string, { items: number; calls: number }>();
  for (const [name, query] of QUERIES) few.set(name, await costOf(query));
  await fill(FEW, MANY);
  for (const [name, query] of QUERIES) {
    const [before, after] = [few.get(name), await costOf(query)];
    expect([name, after.items]).toEqual([name, before?.items]);
    expect([name, after.calls <= 1.2 * (before?.calls ?? 0) + 20]).toEqual([name, true]);
    // A few for each shard, plus a few for each item.
    expect([name, after.calls < 15 * SHARDS + 10 * LIMIT]).toEqual([name, true]);
  }
});

test("what is waiting costs as much as waits", async () => {
  const { items, calls } = await costOf({ waiting: true, limit: 100 });
  expect(items).toBe(WAITING);
  // A few for each shard, an entry and its parts for each item.
  expect(calls).toBeLessThan(5 * SHARDS + 3 * WAITING);
});

test("who asks again and again for manifests makes Redis read them only when one has changed", async () => {
  const kind = ManifestKind.CronWorkflow;
  const namesNow = async () => {
    const { items } = await store.manifests.list(kind, { limit: 100 });
    return items.map(({ name }) => name);
  };
  expect(await namesNow()).toEqual([]);
  const before = await commands();
  expect(await namesNow()).toEqual([]);
  // Also the question what Redis has run.
  expect(await commands() - before).toBeLessThanOrEqual(3);
  await store.manifests.put({ kind, namespace: "a", name: "nightly", text: "{}", labels: {} }, "");
  expect(await namesNow()).toEqual(["nightly"]);
});
