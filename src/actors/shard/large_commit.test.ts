import { expect, test } from "vitest";
import { ManualClock, settle } from "../../../test/support/manual_clock.ts";
import { ScriptedExecutor } from "../../../test/support/scripted_executor.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { STANDARD_NAMING } from "../../spec/naming.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { ShardCommit } from "../../store/port.ts";
import { Host } from "../host.ts";
import { workflowKind } from "../workflow/actor.ts";

const SCRIPT = 600_000;

function workflow(name: string): Workflow {
  const script = { image: "i", command: ["sh"], source: "x".repeat(SCRIPT) };
  return {
    metadata: { name, namespace: "ns", uid: name },
    spec: { entrypoint: "main", templates: [{ name: "main", script }] },
  };
}

test("commands that write much are committed a few at a time, each once", async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const sizes: number[] = [];
  const commit = (one: ShardCommit) => {
    const parts = one.actors.flatMap(({ put }) => put.map(({ text }) => text));
    const texts = [...parts, ...Object.values(one.outboxPut)];
    sizes.push(texts.reduce((sum, text) => sum + text.length, 0));
    return store.shards.commit(one);
  };
  const shards = new Proxy(store.shards, {
    get: (target, key) => key === "commit" ? commit : Reflect.get(target, key),
  });
  const executor = new ScriptedExecutor(() => undefined);
  const host = new Host({
    store: { ...store, shards },
    executors: [executor],
    kinds: [workflowKind],
    clock,
    ids: seededIds(),
    log: createLogger("silent"),
    metrics: createMetrics(),
  }, {
    ...{ replica: "a", shards: 1, leaseTtlMs: 3_000, hotActors: 100, taskStarts: 64 },
    naming: STANDARD_NAMING,
  });
  await host.start();
  await settle();
  const names = Array.from({ length: 40 }, (_, index) => `w${index}`);
  await Promise.all(
    names.map((name) => host.execute("ns", name, { type: "submit", workflow: workflow(name) })),
  );
  await settle();
  host.halt();
  const { items } = await store.query.list({ kind: "wf", limit: 100 });
  expect(items.map(({ index }) => index.name).sort()).toEqual(names.sort());
  expect(executor.tasks.size).toBe(40);
  expect(Math.max(...sizes)).toBeLessThan(8 * 1024 * 1024 + 2 * SCRIPT);
  expect(Math.max(...sizes)).toBeGreaterThan(2 * SCRIPT);
});
