/** When event workers list the bindings of a namespace again: when one of them has changed, and not for other manifests. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { createLogger } from "../../../../src/platform/log.ts";
import { BindingSource } from "../../../../src/service/events/binding_source.ts";
import { ManifestKind } from "../../../../src/spec/manifest.ts";
import type { Store } from "../../../../src/store/port.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../../src/store/sqlite/store.ts";
import { ask } from "../../../support/redis_cluster.ts";
import { startRedisServer } from "../../../support/redis_server.ts";

const cleanUp: (() => unknown)[] = [];
afterAll(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

const BINDING = ManifestKind.WorkflowEventBinding;

/** A source, its lists so far, and what it gives for an event that comes now. */
function sourceOf(store: Store) {
  const lists: string[] = [];
  const { manifests } = store;
  const source = new BindingSource({
    ...manifests,
    list: (kind, query) => {
      lists.push(`${kind} ${query.namespace}`);
      return manifests.list(kind, query);
    },
  }, createLogger("silent"));
  let events = 0;
  const next = async () => {
    const id = `e${++events}`;
    const facts = { id, namespace: "ns", discriminator: "", text: "{}", size: 2, receivedAt: 1 };
    await store.events.offer(facts, 100);
    const [event] = await store.events.take("w", 1, 60_000, 0, new AbortController().signal);
    lists.length = 0;
    if (event === undefined) throw new Error("no event");
    return (await source.of(event)).map(({ metadata }) => metadata.name);
  };
  return { lists, next };
}

function put(store: Store, kind: ManifestKind, name: string, namespace = "ns") {
  const text = JSON.stringify({ metadata: { name }, spec: { event: { selector: "true" } } });
  return store.manifests.put({ kind, namespace, name, text, labels: {} }, "*");
}

async function openRedis() {
  const redis = await startRedisServer();
  cleanUp.push(() => redis.stop());
  const open = async () => {
    const store = await openRedisStore({ url: redis.url });
    cleanUp.push(() => store.close());
    return store;
  };
  return { redis, store: await open(), open };
}

describe.each(["Redis", "SQLite"])("on %s", (kind) => {
  test("only changes of bindings of the namespace count", async () => {
    let store: Store;
    if (kind === "Redis") ({ store } = await openRedis());
    else {
      const folder = mkdtempSync(join(tmpdir(), "sluice-bindings-"));
      store = await openSqliteStore({ folder });
      cleanUp.push(() => rmSync(folder, { recursive: true }), () => store.close());
    }
    const { lists, next } = sourceOf(store);
    await put(store, BINDING, "a");
    expect(await next()).toEqual(["a"]);
    expect(lists).toHaveLength(1);
    for (let round = 0; round < 40; round++) {
      await put(store, ManifestKind.WorkflowTemplate, `t${round % 3}`);
      await put(store, BINDING, "elsewhere", "ns2");
      expect(await next()).toEqual(["a"]);
      expect(lists).toEqual([]);
    }
    await put(store, BINDING, "b");
    await put(store, ManifestKind.WorkflowTemplate, "t");
    expect(await next()).toEqual(["a", "b"]);
    expect(await next()).toEqual(["a", "b"]);
    expect(lists).toEqual([]);
    await store.manifests.remove(BINDING, "ns", "a");
    expect(await next()).toEqual(["b"]);
  });
});

test("on Redis also those of other replicas, and more than a look examines", async () => {
  const { store, open } = await openRedis();
  const other = await open();
  const { next } = sourceOf(store);
  await put(store, BINDING, "a");
  expect(await next()).toEqual(["a"]);
  await put(other, BINDING, "b");
  expect(await next()).toEqual(["a", "b"]);
  await store.manifests.remove(BINDING, "ns", "b");
  for (let round = 0; round < 100; round++) await put(other, ManifestKind.WorkflowTemplate, "t");
  expect(await next()).toEqual(["a"]);
});

test("what Redis has lost is found out", async () => {
  const { redis, store } = await openRedis();
  const { lists, next } = sourceOf(store);
  await put(store, ManifestKind.WorkflowTemplate, "t");
  await ask(redis.url, ["SAVE"]);
  await put(store, BINDING, "lost");
  expect(await next()).toEqual(["lost"]);
  await redis.kill("SIGKILL");
  await redis.start();
  const again = () => put(store, ManifestKind.WorkflowTemplate, "t").then(() => true, () => false);
  await expect.poll(again, { timeout: 10_000 }).toBe(true);
  expect(await next()).toEqual([]);
  expect(lists).toHaveLength(1);
});
