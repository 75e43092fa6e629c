/** A real Redis Cluster of three masters, and a real Sentinel set-up, for tests. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { type RedisServer, startRedisServer } from "./redis_server.ts";
import { until } from "./until.ts";

export interface RedisCluster {
  /** `redis+cluster://…` */
  url: string;
  nodes: RedisServer[];
  stop(): Promise<void>;
}

/**
 * Three masters.
 * @param replicas of each, which take its place a second after its death
 * @param args added to the command lines
 */
export async function startRedisCluster(
  { replicas = 0, args = [] }: { replicas?: number; args?: string[] } = {},
): Promise<RedisCluster> {
  const hasty = replicas > 0 ? ["--cluster-node-timeout", "1000"] : [];
  const settings = ["--cluster-enabled", "yes", ...hasty, ...args];
  const nodes = await Promise.all(
    Array.from({ length: 3 * (1 + replicas) }, () => startRedisServer(settings)),
  );
  const hosts = nodes.map(({ port }) => `127.0.0.1:${port}`);
  const made = spawnSync("redis-cli", [
    ...["--cluster", "create", ...hosts, "--cluster-yes"],
    ...["--cluster-replicas", String(replicas)],
    // It waits without end for nodes that do not find each other.
  ], { timeout: 60_000, killSignal: "SIGKILL" });
  if (made.status !== 0) throw new Error(`redis-cli could not make a cluster: ${made.stdout}`);
  for (const { url } of nodes) {
    await until(async () => (await ask(url, ["CLUSTER", "INFO"])).includes("cluster_state:ok"));
    await until(async () =>
      !(await ask(url, ["INFO", "replication"])).includes("link_status:down")
    );
  }
  return {
    url: `redis+cluster://${hosts.join(",")}`,
    nodes,
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
}

export interface RedisSentinels {
  /** `redis+sentinel://…` */
  url: string;
  master: RedisServer;
  replica: RedisServer;
  /** In the order of the URL. */
  sentinels: readonly [RedisServer, RedisServer, RedisServer];
  stop(): Promise<void>;
}

/**
 * One master, one replica and three sentinels that replace the master after half a second.
 * @param args added to the command lines of master and replica
 */
export async function startRedisSentinels(args: string[] = []): Promise<RedisSentinels> {
  const master = await startRedisServer(args);
  const follows = ["--replicaof", "127.0.0.1", String(master.port)];
  const replica = await startRedisServer([...args, ...follows]);
  const folder = mkdtempSync(join(tmpdir(), "sluice-sentinel-"));
  const startSentinel = async (number: number) => {
    const file = join(folder, `${number}.conf`);
    writeFileSync(
      file,
      `sentinel monitor main 127.0.0.1 ${master.port} 2
sentinel down-after-milliseconds main 500
sentinel failover-timeout main 2000
`,
    );
    return await startRedisServer([], [file, "--sentinel"]);
  };
  const sentinels = await Promise.all([startSentinel(1), startSentinel(2), startSentinel(3)]);
  await until(async () =>
    (await ask(replica.url, ["INFO", "replication"])).includes("link_status:up")
  );
  for (const { url } of sentinels) {
    await until(async () => {
      const info = await ask(url, ["SENTINEL", "MASTER", "main"]);
      return /num-slaves,1,num-other-sentinels,2/.test(info);
    });
  }
  return {
    url: `redis+sentinel://${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(",")}/main`,
    master,
    replica,
    sentinels,
    async stop() {
      await Promise.all([...sentinels, replica, master].map((server) => server.stop()));
      rmSync(folder, { recursive: true });
    },
  };
}

/** Sends one command over a separate connection and returns the answer as text. */
export async function ask(url: string, args: string[]): Promise<string> {
  const client = createClient({ url, RESP: 2, socket: { reconnectStrategy: false } });
  client.on("error", () => {});
  await client.connect();
  try {
    return String(await client.sendCommand(args));
  } finally {
    client.destroy();
  }
}
