/**
 * Unreadable data in a store (mailbox, outbox, timers, feed, bindings): each entry is skipped and reported by itself,
 * and everything else goes on. On real servers whose data is damaged by hand between two runs.
 */
import { partTexts } from "../../../src/base/part_text.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { createClient } from "redis";
import { afterEach, expect, test } from "vitest";
import { Views } from "../../../src/actors/views.ts";
import type { Change, Store } from "../../../src/store/port.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { call } from "../../support/event_ledger.ts";
import { startRedisServer } from "../../support/redis_server.ts";
import { type ServerProcess, startServer } from "../../support/server_process.ts";
import { acquired, changeOf, collect, commitOf, entryOf } from "./store_setting.ts";

const SHARDS = 2;
const BROKEN = [
  "",
  "garbage",
  "{",
  "null",
  "[]",
  "5",
  "{}",
  `{"id":1,"actor":"wf/n/x","body":{}}`,
  `{"id":"c","actor":7,"body":{}}`,
  `{"actor":"wf/n/x","seq":"x","effect":{"type":"send"}}`,
  `{"actor":"wf/n/x","seq":1,"effect":null}`,
  `{"id":"c","actor":"wf/n/x","body":{},"replyTo":"me","idempotency":[]}`,
  "x".repeat(1_000_000),
  "[".repeat(100_000),
];

const ACTOR = "wf/n/one";

const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

/** A store that servers use, and a way to damage it while none runs. */
interface Breakable {
  url: string;
  breakAll(): Promise<void>;
}

async function redisStore(): Promise<Breakable> {
  const server = await startRedisServer();
  cleanUp.push(() => server.stop());
  return {
    url: server.url,
    async breakAll() {
      const redis = await createClient({ url: server.url }).connect();
      const send = (...args: string[]) => redis.sendCommand(args);
      for (let shard = 0; shard < SHARDS; shard++) {
        const base = `sluice:{s${shard}}:`;
        for (const [index, text] of BROKEN.entries()) {
          await send("XADD", `${base}mail`, "*", index % 3 === 0 ? "other" : "c", text);
          await send("HSET", `${base}outbox`, `task/broken-${index}`, text);
        }
        await send("ZADD", `${base}due`, "5", "no timer", "inf", "never", "-inf", "always");
      }
      const place = `n\0broken`;
      await send("HSET", "sluice:{manifests}:k:WorkflowEventBinding", place, "7 {");
      await send("ZADD", "sluice:{manifests}:o:WorkflowEventBinding", "0", place);
      await redis.close();
    },
  };
}

function sqliteStore(): Promise<Breakable> {
  const folder = mkdtempSync(join(tmpdir(), "sluice-broken-"));
  cleanUp.push(() => rmSync(folder, { recursive: true }));
  return Promise.resolve({
    url: `sqlite:${folder}`,
    breakAll() {
      const database = new DatabaseSync(join(folder, "sluice.db"));
      for (let shard = 0; shard < SHARDS; shard++) {
        for (const [index, text] of BROKEN.entries()) {
          // Numbered as the store does it: what a server sends afterwards comes behind.
          database.exec(
            "INSERT INTO counter VALUES ('seq', 1) ON CONFLICT DO UPDATE SET value = value + 1",
          );
          database.prepare(
            "INSERT INTO mail SELECT ?, value, ? FROM counter WHERE name = 'seq'",
          ).run(shard, text);
          database.prepare("INSERT INTO outbox VALUES (?, ?, ?)").run(shard, `b${index}`, text);
        }
        database.prepare("INSERT INTO timer VALUES (?, 'no timer', 5)").run(shard);
        database.prepare("INSERT INTO timer VALUES (?, 'never', 'soon')").run(shard);
      }
      const sql =
        "INSERT INTO manifest VALUES ('WorkflowEventBinding', 'n', 'broken', 1, '{', 'none')";
      database.exec(sql);
      database.close();
      return Promise.resolve();
    },
  });
}

const hold = (name: string, duration: object = {}) => ({
  workflow: {
    metadata: { name },
    spec: { entrypoint: "main", templates: [{ name: "main", suspend: duration }] },
  },
});

async function phaseOf(server: ServerProcess, name: string): Promise<string | undefined> {
  const { body } = await call(server.url, "GET", `/api/v1/workflows/n/${name}`);
  return (body as { status?: { phase?: string } }).status?.phase;
}

test.each([["Redis", redisStore], ["SQLite", sqliteStore]])(
  "%s: commands, effects, timers and events go on beside what can't be read",
  async (_name, open) => {
    const store = await open();
    const start = () =>
      startServer([`--store=${store.url}`, "--executor=none", `--shards=${SHARDS}`]);
    const first = await start();
    cleanUp.push(() => first.kill());
    // Some in each shard.
    const names = Array.from({ length: 8 }, (_, index) => `w${index}`);
    for (const name of names) {
      const made = await call(first.url, "POST", "/api/v1/workflows/n", hold(name));
      expect(made.status).toBe(200);
    }
    await call(first.url, "POST", "/api/v1/workflows/n", hold("late", { duration: "8s" }));
    const template = {
      template: { metadata: { name: "t" }, spec: hold("x").workflow.spec },
    };
    expect((await call(first.url, "POST", "/api/v1/workflow-templates/n", template)).status)
      .toBe(200);
    const binding = {
      binding: {
        metadata: { name: "good" },
        spec: {
          event: { selector: "true" },
          submit: { workflowTemplateRef: { name: "t" } },
        },
      },
    };
    const bound = await call(
      first.url,
      "POST",
      "/api/v1/workflow-event-bindings/n",
      binding,
    );
    expect(bound).toMatchObject({ status: 200 });
    await first.stop();
    await store.breakAll();

    const server = await start();
    cleanUp.push(() => server.kill());
    for (const name of names) {
      await expect.poll(async () => {
        const { status } = await call(server.url, "PUT", `/api/v1/workflows/n/${name}/resume`, {});
        return status === 200 || await phaseOf(server, name) === "Succeeded";
      }, { timeout: 20_000 }).toBe(true);
      await expect.poll(() => phaseOf(server, name), { timeout: 20_000 }).toBe("Succeeded");
    }
    await expect.poll(() => phaseOf(server, "late"), { timeout: 30_000 }).toBe("Succeeded");
    const made = await call(server.url, "POST", "/api/v1/workflows/n", hold("new"));
    expect(made.status).toBe(200);

    // The good binding submits. What the other one would do is unknown, so the event is kept.
    expect((await call(server.url, "POST", "/api/v1/events/n/", {})).status).toBe(200);
    type Page = { items: { state: string; bindings: Record<string, string>[] }[] };
    const deliveries = async () =>
      (await call(server.url, "GET", "/api/v1/event-deliveries/n?state=dead"))
        .body as unknown as Page;
    await expect.poll(async () => (await deliveries()).items.length, { timeout: 20_000 }).toBe(1);
    expect((await deliveries()).items[0]?.bindings).toEqual(expect.arrayContaining([
      expect.objectContaining({ binding: "good", outcome: "submitted" }),
      expect.objectContaining({
        binding: "broken",
        outcome: "error",
        message: expect.stringMatching(/^the stored binding cannot be read/),
      }),
    ]));

    const page = await (await fetch(`${server.url}/metrics`)).text();
    const count = (kind: string) =>
      Number(
        new RegExp(`^sluice_unreadable_records_total\\{kind="${kind}"\\} (\\d+)$`, "m")
          .exec(page)?.[1],
      );
    expect(count("mailbox")).toBeGreaterThanOrEqual(SHARDS * (BROKEN.length - 2));
    expect(count("outbox")).toBeGreaterThanOrEqual(SHARDS * (BROKEN.length - 2));
    expect(count("timer")).toBeGreaterThanOrEqual(SHARDS);
    expect(count("WorkflowEventBinding")).toBe(1);
    expect(await server.stop()).toBe(0);
  },
  120_000,
);

/** Makes an actor, changes it, damages the feed's entry of the middle change, changes it again. */
async function brokenFeed(store: Store, breakFeed: (version: string) => Promise<Store>) {
  const epoch = await acquired(store, 1);
  const id = ACTOR;
  const put = (parts: Record<string, string>, create?: true) =>
    commitOf(1, epoch, {
      actors: [
        changeOf(id, { put: partTexts(parts), index: entryOf(id), ...(create && { create }) }),
      ],
    });
  const from = await store.query.version();
  await store.shards.commit(put({ h: "1", q: "a" }, true));
  const { versions } = await store.shards.commit(put({ h: "2" }));
  const later = await breakFeed(versions[id] ?? "");
  const lease = await later.membership.acquire(1, "r1", 60_000);
  await later.shards.commit({ ...put({ q: "b" }), epoch: lease?.epoch ?? epoch });
  return { later, from, id };
}

async function expectFeedGoesOn(later: Store, from: string, id: string): Promise<void> {
  const stop = new AbortController();
  const seen = await collect(later.query.watch(from, stop.signal), 3, stop);
  const own = seen.filter((change) => change.id === id || change.mustLoad === true);
  expect(own.some((change) => change.mustLoad === true)).toBe(true);
  expect(own.at(-1)?.put).toEqual({ q: "b" });
  const all: Change[] = [];
  for (let at = from;;) {
    const some = await later.query.changes(at);
    if (some.length === 0) break;
    all.push(...some);
    at = some.at(-1)?.version ?? at;
  }
  expect(all.map(({ version }) => version)).toEqual(seen.map(({ version }) => version));
  const views = new Views({
    load: (actor) => later.shards.loadActor(1, actor),
    history: (actor, after) => later.query.history(1, actor, after),
  });
  let last: Record<string, string> = {};
  for (const change of own) if (change.id === id) last = (await views.after(change)).parts;
  expect(last).toEqual({ h: "2", q: "b" });
}

test("Redis: a change of the feed that can't be read holds up no watch", async () => {
  const server = await startRedisServer();
  cleanUp.push(() => server.stop());
  const told: string[] = [];
  const onUnreadable = (kind: string) => told.push(kind);
  const store = await openRedisStore({ url: server.url, onUnreadable });
  cleanUp.push(() => store.close());
  await store.membership.shardCount(SHARDS);
  // A key that is none; the longer one is made whole a little at a time.
  const keyless = "[[],[],[5]]\n";
  const texts = [...BROKEN, keyless, keyless + "x".repeat(2_000_000)];
  const { later, from, id } = await brokenFeed(store, async (version) => {
    const redis = await createClient({ url: server.url }).connect();
    for (const [index, text] of texts.entries()) {
      const place = `${Number(version) + index + 1}-0`;
      const type = index % 2 === 0 || index >= BROKEN.length ? "M" : "Z";
      const fields = ["t", type, "a", ACTOR, "c", text];
      await redis.sendCommand(["XADD", "sluice:{s1}:feed", place, ...fields]);
    }
    await redis.close();
    return store;
  });
  const stop = new AbortController();
  const seen = await collect(
    later.query.watch(from, stop.signal),
    3 + texts.length,
    stop,
  );
  expect(seen.filter((change) => change.mustLoad === true).length).toBeGreaterThan(12);
  expect(seen.at(-1)?.put).toEqual({ q: "b" });
  expect(told).toContain("feed");
  expect(await later.query.history(1, id, from)).toHaveLength(3 + texts.length);
  const views = new Views({
    load: (actor) => later.shards.loadActor(1, actor),
    history: (actor, after) => later.query.history(1, actor, after),
  });
  let last: Record<string, string> = {};
  for (const change of seen) if (change.id === id) last = (await views.after(change)).parts;
  expect(last).toEqual({ h: "2", q: "b" });
});

test.each(BROKEN.map((text) => [text.slice(0, 60), text]))(
  "SQLite: a change of the feed that can't be read holds up no watch: %s",
  async (_name, text) => {
    const folder = mkdtempSync(join(tmpdir(), "sluice-feed-"));
    cleanUp.push(() => rmSync(folder, { recursive: true }));
    const told: string[] = [];
    const open = () => openSqliteStore({ folder, onUnreadable: (kind) => told.push(kind) });
    const first = await open();
    await first.membership.shardCount(SHARDS);
    const { later, from, id } = await brokenFeed(first, async (version) => {
      await first.close();
      const database = new DatabaseSync(join(folder, "sluice.db"));
      database.prepare("UPDATE feed SET change = ? WHERE version = ?").run(text, Number(version));
      database.close();
      return await open();
    });
    cleanUp.push(() => later.close());
    await expectFeedGoesOn(later, from, id);
    // Each reader reports it again; whoever counts the reports counts it once.
    expect(new Set(told)).toEqual(new Set(["feed"]));
  },
);
