/** The store contract on every adapter. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "vitest";
import { openMemoryStore } from "../../src/store/memory_store.ts";
import { openSqliteStore } from "../../src/store/sqlite_store.ts";
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
