/** The store contract on every adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, beforeAll, describe } from "vitest";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { type RedisCluster, startRedisCluster } from "../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../support/redis_server.ts";
import { describeEvents } from "./describe_events.ts";
import { describeQuery } from "./describe_query.ts";
import { describeShards } from "./describe_shards.ts";
import type { OpenStore } from "./store_setting.ts";

function describeStore(name: string, open: OpenStore): void {
  describe(name, () => {
    describeShards(open);
    describeQuery(open);
    describeEvents(open);
  });
}

describeStore("memory", (options) => {
  let now = 1_700_000_000_000;
  const store = openMemoryStore({ ...options, now: () => now });
  return Promise.resolve({
    store,
    now: () => now,
    pass: (ms) => {
      now += ms;
      return Promise.resolve();
    },
    close: () => store.close(),
  });
});

describeStore("sqlite", async (options) => {
  let now = 1_700_000_000_000;
  const folder = mkdtempSync(join(tmpdir(), "sluice-store-"));
  const open = () => openSqliteStore({ ...options, folder, now: () => now });
  let store = await open();
  return {
    store,
    now: () => now,
    pass: (ms) => {
      now += ms;
      return Promise.resolve();
    },
    reopen: async () => {
      await store.close();
      store = await open();
      return store;
    },
    close: async () => {
      await store.close();
      rmSync(folder, { recursive: true });
    },
  };
});

describe("with redis-server", () => {
  let server: RedisServer;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());
  describeStore("redis", openOnRedis(() => server.url));
  describe("redis, in the layout of earlier versions", () => {
    const open = openOnRedis(() => server.url, { hasFirstLayout: true });
    describeShards(open);
    describeQuery(open);
  });
  describe("redis, in the layout with whole texts", () => {
    const open = openOnRedis(() => server.url, { layout: 2 });
    describeShards(open);
    describeQuery(open);
  });
});

describe("with three masters", () => {
  let cluster: RedisCluster;
  beforeAll(async () => {
    cluster = await startRedisCluster();
  });
  afterAll(() => cluster.stop());
  // The servers would refuse commits that touch a second slot.
  describeStore("redis cluster", openOnRedis(() => cluster.url));
});

let stores = 0;

/** Opens stores with their own prefixes on a running Redis. */
function openOnRedis(urlOf: () => string, { hasFirstLayout = false, layout = 3 } = {}): OpenStore {
  return async (options) => {
    const prefix = `t${++stores}:`;
    const url = `${urlOf()}?prefix=${prefix}&layout=${layout}`;
    if (hasFirstLayout) {
      const client = await createClient({ url: urlOf() }).connect();
      await client.set(`${prefix}{cluster}:shards`, "8");
      client.destroy();
    }
    const open = () => openRedisStore({ ...options, url });
    let store = await open();
    return {
      store,
      now: Date.now,
      // The clock is the server's, which runs by itself.
      pass: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
      reopen: async () => {
        await store.close();
        store = await open();
        return store;
      },
      close: () => store.close(),
    };
  };
}
