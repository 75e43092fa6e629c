/** A cluster one of whose masters is gone: what is on the others goes on. */
import process from "node:process";
import { expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask, startRedisCluster } from "../../../support/redis_cluster.ts";
import { acquired, LONG_MS, never } from "../store_setting.ts";

const SHARDS = 12;

test.each(["SIGKILL", "SIGSTOP"] as const)("leases and mailboxes after %s", async (signal) => {
  const cluster = await startRedisCluster();
  const store = await openRedisStore({ url: cluster.url });
  try {
    const shards = [...Array(SHARDS).keys()];
    const [gone, other] = cluster.nodes;
    if (gone === undefined || other === undefined) throw new Error("The cluster is too small");
    await store.membership.shardCount(SHARDS);
    const leases = await Promise.all(
      shards.map(async (shard) => ({ shard, epoch: await acquired(store, shard) })),
    );
    const there = await ask(gone.url, ["KEYS", "*:meta"]);
    const dark = shards.filter((shard) => there.includes(`{s${shard}}`));
    const places = shards.map((shard) => ({ shard, cursor: "" }));
    expect(await store.shards.readMailboxes(places, 10, 0, never)).toEqual([]);
    expect(dark.length).toBeGreaterThan(0);
    process.kill(gone.pid(), signal);

    const unknown = new Set<number>();
    const startedAt = performance.now();
    expect(await store.membership.renew(leases, "r1", 3_000, unknown)).toEqual([]);
    expect(performance.now() - startedAt).toBeLessThan(2_000);
    expect([...unknown]).toEqual(dark);
    const [lit = 0] = shards.filter((shard) => !dark.includes(shard));
    await store.shards.append([{ shard: lit, command: { id: "c", actor: "a", body: {} } }]);
    const mail = await store.shards.readMailboxes(places, 10, LONG_MS, never);
    expect(mail.map(({ command }) => command.id)).toEqual(["c"]);
  } finally {
    if (signal === "SIGSTOP") process.kill(cluster.nodes[0]?.pid() ?? 0, "SIGCONT");
    await store.close();
    await cluster.stop();
  }
}, 60_000);
