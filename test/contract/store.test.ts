/** The store contract on every adapter. */
import { describe } from "vitest";
import { openMemoryStore } from "../../src/store/memory_store.ts";
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
