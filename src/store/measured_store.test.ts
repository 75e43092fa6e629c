import { expect, test } from "vitest";
import { unavailable } from "../base/problem.ts";
import { createMetrics } from "../platform/metrics.ts";
import { measureStore } from "./measured_store.ts";
import { openMemoryStore } from "./memory/store.ts";
import type { Store } from "./port.ts";

const CALLS: Record<string, string[]> = {
  membership: ["now", "shardCount", "leave"],
  shards: ["readMailboxes", "readRemains", "dropRemains", "reply", "onReply"],
  query: ["version", "watch", "history"],
  events: ["take", "touch", "amend", "oldest", "delivery", "trimDeliveries"],
  manifests: [],
  blobs: ["removeBlobs"],
};

test("every call of the port is measured under a name of its own, or left out on purpose", () => {
  const inner = openMemoryStore();
  const outer = measureStore(inner, { clock: performanceClock, metrics: createMetrics() });
  for (const [part, left] of Object.entries(CALLS)) {
    const [before, after] = [inner, outer].map((store) =>
      store[part as keyof Store] as unknown as Record<string, unknown>
    );
    const same = Object.keys(before ?? {}).filter((name) =>
      typeof before?.[name] === "function" && before[name] === after?.[name]
    );
    expect(same.sort(), part).toEqual([...left].sort());
  }
});

const performanceClock = { monotonic: () => performance.now() };

test("a call answers as before; its time is measured, its trouble is counted", async () => {
  const metrics = createMetrics();
  const inner = openMemoryStore();
  let time = 0;
  const store = measureStore({
    ...inner,
    events: { ...inner.events, depth: () => Promise.reject(unavailable("gone")) },
  }, { clock: { monotonic: () => time += 250 }, metrics });
  await store.blobs.putBlob("k", new Uint8Array([1]));
  expect(await store.blobs.getBlob("k")).toEqual(new Uint8Array([1]));
  await expect(store.events.depth()).rejects.toThrow("gone");
  await expect(store.events.depth()).rejects.toThrow("gone");
  const page = metrics.render();
  expect(page).toContain('sluice_store_seconds_bucket{operation="getBlob",le="0.1"} 0\n');
  expect(page).toContain('sluice_store_seconds_bucket{operation="getBlob",le="0.25"} 1\n');
  expect(page).toContain('sluice_store_seconds_sum{operation="depth"} 0.5\n');
  expect(page).toContain('sluice_store_failures_total{operation="depth"} 2\n');
  expect(page).not.toContain('sluice_store_failures_total{operation="getBlob"}');
});
