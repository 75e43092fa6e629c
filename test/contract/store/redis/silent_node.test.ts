/** A cluster one of whose servers says nothing any more. */
import process from "node:process";
import { afterEach, expect, test } from "vitest";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { ask, startRedisCluster } from "../../../support/redis_cluster.ts";
import { until } from "../../../support/until.ts";
import { acquired } from "../store_setting.ts";

const cleanUp: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

test(
  "a server that says nothing keeps nobody from the start once its replica is in its place",
  async () => {
    const cluster = await startRedisCluster({ replicas: 1 });
    cleanUp.push(() => cluster.stop());
    const [silent, other] = cluster.nodes;
    if (silent === undefined || other === undefined) throw new Error("The cluster is too small");
    const id = await ask(silent.url, ["CLUSTER", "MYID"]);
    process.kill(silent.pid(), "SIGSTOP");
    cleanUp.push(() => Promise.resolve(process.kill(silent.pid(), "SIGCONT")));
    await until(async () => {
      const nodes = await ask(other.url, ["CLUSTER", "NODES"]);
      const isUp = (await ask(other.url, ["CLUSTER", "INFO"])).includes("cluster_state:ok");
      return isUp &&
        nodes.split("\n").some((line) => line.startsWith(id) && / \S*fail /.test(line));
    });
    // The client begins with either of them, at random.
    const url = `redis+cluster://127.0.0.1:${silent.port},127.0.0.1:${other.port}`;
    for (let shard = 0; shard < 6; shard++) {
      const store = await openRedisStore({ url, timeoutMs: 3_000 });
      cleanUp.push(() => store.close());
      expect(await acquired(store, shard)).toBe(1);
    }
  },
  60_000,
);
