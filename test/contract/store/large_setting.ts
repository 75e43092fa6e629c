/** Stores with workflows of very many nodes, for tests on real servers. */
import { partTexts } from "../../../src/base/part_text.ts";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "redis";
import { shardOf, workflowActorId } from "../../../src/actors/actor_ids.ts";
import type { Store } from "../../../src/store/port.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { manyNodes } from "../../support/large_workflow.ts";
import { startRedisServer } from "../../support/redis_server.ts";
import { commitOf } from "./store_setting.ts";

const SHARDS = 64;

/**
 * Longest that one of these tests may take, ms: far more than on an idle machine, where it is less than half a minute. They are
 * about heap and completeness, not about time, and a machine that builds other things is slow.
 */
export const PATIENCE_MS = 600_000;

/** A store that servers of the test use. */
export interface Backend {
  flag: string;
  open(): Promise<Store>;
  /** Number of stored actor parts. */
  parts(): Promise<number>;
  /** Characters in the change feed. */
  feedSize(): Promise<number>;
  stop(): Promise<unknown>;
}

/** Stores of the test, by their names. */
export const BACKENDS: Record<string, () => Promise<Backend>> = {
  async sqlite() {
    const folder = await mkdtemp(join(tmpdir(), "sluice-large-"));
    // The store may be writing.
    const read = () => new DatabaseSync(join(folder, "sluice.db"), { timeout: 10_000 });
    return {
      flag: `sqlite:${folder}`,
      open: () => openSqliteStore({ folder }),
      parts() {
        const database = read();
        const row = database.prepare(
          "SELECT count(*) AS n FROM part JOIN actor ON row = actor WHERE id <> 'locks'",
        ).get();
        database.close();
        return Promise.resolve(Number(row?.["n"]));
      },
      feedSize() {
        const database = read();
        const row = database.prepare("SELECT sum(length(change)) AS n FROM feed").get();
        database.close();
        return Promise.resolve(Number(row?.["n"]));
      },
      stop: () => rm(folder, { recursive: true, force: true }),
    };
  },
  async redis() {
    const redis = await startRedisServer();
    const client = createClient({ url: redis.url });
    await client.connect();
    return {
      flag: redis.url,
      open: () => openRedisStore({ url: redis.url }),
      async parts() {
        const keys = [...await client.keys("*:a:wf/*"), ...await client.keys("*}:g:*")];
        const counts = await Promise.all(keys.map((key) => client.hLen(key)));
        return counts.reduce((sum, count) => sum + count, 0);
      },
      async feedSize() {
        const keys = await client.keys("*}:feed");
        const feeds = await Promise.all(keys.map((key) => client.xRange(key, "-", "+")));
        return JSON.stringify(feeds).length;
      },
      async stop() {
        client.destroy();
        await redis.stop();
      },
    };
  },
};

/** A workflow with many nodes. */
export interface Filling {
  namespace?: string;
  name: string;
  nodes: number;
  padding: number;
}

/** Puts workflows into a store, and closes it. */
export async function fill(store: Store, workflows: Filling[]): Promise<void> {
  const shards = await store.membership.shardCount(SHARDS);
  const put = async (namespace: string, name: string, nodes: number, padding: number) => {
    const id = workflowActorId(namespace, name);
    const shard = shardOf(id, shards);
    const lease = await store.membership.acquire(shard, "test", 60_000);
    if (lease === undefined) throw new Error("the shard is not free");
    const { parts, index } = manyNodes(name, nodes, padding, namespace);
    const change = { id, put: partTexts(parts), drop: [], index, silent: true as const };
    await store.shards.commit(commitOf(shard, lease.epoch, { actors: [change] }));
    await store.membership.release(lease);
  };
  for (const { namespace = "default", name, nodes, padding } of workflows) {
    await put(namespace, name, nodes, padding);
  }
  await store.close();
}
