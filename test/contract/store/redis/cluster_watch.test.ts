/** What a watch shows of changes that several servers of a cluster make at the same time. */
import { expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { startRedisCluster } from "../../../support/redis_cluster.ts";
import { until } from "../../../support/until.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

const SHARDS = 16;
const CHANGES = 200;

test("a watch misses no change of any server", async () => {
  const cluster = await startRedisCluster();
  const writer = await openRedisStore({ url: cluster.url });
  const reader = await openRedisStore({ url: cluster.url });
  const stop = new AbortController();
  try {
    await writer.membership.shardCount(SHARDS);
    const seen: { id: string; version: string }[] = [];
    const from = await reader.query.version();
    const watching = (async () => {
      for await (const changes of reader.query.watch(from, stop.signal)) seen.push(...changes);
    })();
    await Promise.all(Array.from({ length: SHARDS }, async (_, shard) => {
      const epoch = await acquired(writer, shard);
      for (let at = 0; at < CHANGES; at++) {
        const id = `wf/a/w${shard}-${at}`;
        const index = entryOf(id, { uid: id });
        const actors = [changeOf(id, { create: true, put: [{ key: "h", text: "{}" }], index })];
        await writer.shards.commit(commitOf(shard, epoch, { actors }));
        // So that the reader comes between the servers.
        await new Promise((resolve) => setTimeout(resolve, (shard * 7 + at) % 10));
      }
    }));
    await until(() => Promise.resolve(seen.length >= SHARDS * CHANGES));
    stop.abort();
    await watching;
    expect(new Set(seen.map(({ id }) => id)).size).toBe(SHARDS * CHANGES);
    expect(seen.length).toBe(SHARDS * CHANGES);
    const versions = seen.map(({ version }) => Number(version));
    expect(versions).toEqual(versions.toSorted((a, b) => a - b));
  } finally {
    stop.abort();
    await Promise.all([writer.close(), reader.close()]);
    await cluster.stop();
  }
}, 60_000);
