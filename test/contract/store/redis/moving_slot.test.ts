/** A cluster that moves the slot of a shard to another server while the shard is in use. */
import { afterEach, expect, test } from "vitest";
import { ProblemCode } from "../../../../src/base/problem.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask, type RedisCluster, startRedisCluster } from "../../../support/redis_cluster.ts";
import type { RedisServer } from "../../../support/redis_server.ts";
import { acquired, entryOf, never, partsOf, putting } from "../store_setting.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

/** A slot that moves, as `redis-cli --cluster reshard` moves it. */
class MovingSlot {
  readonly #from: RedisServer;
  readonly #to: RedisServer;
  readonly #nodes: RedisServer[];
  readonly #slot: string;

  private constructor(nodes: RedisServer[], slot: string, from: number) {
    this.#nodes = nodes;
    this.#slot = slot;
    this.#from = nodes[from] as RedisServer;
    this.#to = nodes[(from + 1) % nodes.length] as RedisServer;
  }

  /** @param key one that is stored */
  static async of({ nodes: [first, ...others] }: RedisCluster, key: string): Promise<MovingSlot> {
    if (first === undefined) throw new Error("The cluster has no servers");
    const nodes = [first, ...others];
    const slot = await ask(first.url, ["CLUSTER", "KEYSLOT", key]);
    const counts = await Promise.all(
      nodes.map(({ url }) => ask(url, ["CLUSTER", "COUNTKEYSINSLOT", slot])),
    );
    return new MovingSlot(nodes, slot, counts.findIndex((count) => Number(count) > 0));
  }

  async begin(): Promise<void> {
    const [from, to] = await Promise.all([idOf(this.#from), idOf(this.#to)]);
    await ask(this.#to.url, ["CLUSTER", "SETSLOT", this.#slot, "IMPORTING", from]);
    await ask(this.#from.url, ["CLUSTER", "SETSLOT", this.#slot, "MIGRATING", to]);
  }

  /** Moves some keys; fails if the other server has one of them already. */
  async moveKeys(most: number): Promise<void> {
    const keys = await ask(this.#from.url, [
      ...["CLUSTER", "GETKEYSINSLOT", this.#slot, String(most)],
    ]);
    const to = ["127.0.0.1", String(this.#to.port)];
    for (const key of keys.split(",")) {
      if (key !== "") await ask(this.#from.url, ["MIGRATE", ...to, key, "0", "1000"]);
    }
  }

  async end(): Promise<void> {
    await this.moveKeys(1_000);
    const to = await idOf(this.#to);
    for (const { url } of [this.#to, ...this.#nodes]) {
      await ask(url, ["CLUSTER", "SETSLOT", this.#slot, "NODE", to]);
    }
  }
}

const idOf = ({ url }: RedisServer) => ask(url, ["CLUSTER", "MYID"]);

test.each([undefined, { replicas: 0, timeoutMs: 1_000 }])(
  "nothing is written while the slot of a shard moves, and nothing is lost (wait: %s)",
  async (wait) => {
    const cluster = await startRedisCluster();
    cleanUp.push(() => cluster.stop());
    const store = await openRedisStore({ url: cluster.url, timeoutMs: 2_000, wait });
    cleanUp.push(() => store.close());
    const epoch = await acquired(store, 1);
    await store.shards.commit(putting(epoch, "1"));
    const command = { id: "c", actor: "wf/a/one", body: {} };
    await store.shards.append([{ shard: 1, command }]);

    const slot = await MovingSlot.of(cluster, "sluice:{s1}:meta");
    await slot.begin();
    for (const keys of [0, 4]) {
      await slot.moveKeys(keys);
      const calls = await Promise.allSettled([
        store.shards.commit(putting(epoch, "2")),
        store.shards.append([{ shard: 1, command: { ...command, id: "d" } }]),
        store.membership.acquire(1, "r2", 60_000),
        store.query.list({ kind: "wf", limit: 1 }),
      ]);
      for (const call of calls) {
        expect(call).toMatchObject({ reason: { code: ProblemCode.Unavailable, mayBeDone: false } });
      }
    }
    await slot.end();

    await store.shards.commit(putting(epoch, "3"));
    expect(await partsOf(store)).toEqual({ h: "3" });
    const mail = await store.shards.readMailboxes([{ shard: 1, cursor: "" }], 10, 0, never);
    expect(mail.map(({ command }) => command.id)).toEqual(["c"]);
    expect(await store.query.list({ kind: "wf", limit: 0 })).toMatchObject({
      items: [{ id: "wf/a/one", index: entryOf("wf/a/one") }],
    });
    expect(await store.membership.acquire(1, "r2", 60_000)).toBeUndefined();
  },
  60_000,
);
