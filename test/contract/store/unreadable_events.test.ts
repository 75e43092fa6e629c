/**
 * Entries of the event queue that nobody can read: each becomes a dead letter with its bytes, and every other event is
 * delivered. On real stores whose data was damaged by hand.
 */
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { Delivery, QueuedEvent } from "../../../src/store/event_port.ts";
import type { Store } from "../../../src/store/port.ts";
import { unreadableDelivery } from "../../../src/store/queued_event.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { type RedisServer, startRedisServer } from "../../support/redis_server.ts";
import { startServer } from "../../support/server_process.ts";
import { never } from "./store_setting.ts";

const BOUND = 1_000;
const LONG_MS = 60_000;
const cleanUp: (() => unknown)[] = [];
afterEach(async () => {
  for (const clean of cleanUp.splice(0).reverse()) await clean();
});

function eventOf(id: string): Omit<QueuedEvent, "attempts"> {
  return { id, namespace: "n", discriminator: "d", text: `{"of":"${id}"}`, receivedAt: 1_000 };
}

async function offer(store: Store, ids: string[]): Promise<void> {
  const offered = await Promise.all(ids.map((id) => store.events.offer(eventOf(id), BOUND)));
  expect(offered.map(({ result }) => result)).toEqual(ids.map(() => "accepted"));
}

/** Works through the queue, as the workers of a replica do. */
async function workOff(store: Store, claimAfterMs = LONG_MS): Promise<QueuedEvent[]> {
  const all: QueuedEvent[] = [];
  for (let round = 0; round < 50; round++) {
    const taken = await store.events.take("w", 64, claimAfterMs, 0, never);
    if (taken.length === 0) return all;
    all.push(...taken);
    await store.events.finish(
      taken.map((event) =>
        event.unreadable !== undefined ? unreadableDelivery(event) : {
          ...{ id: event.id, namespace: event.namespace, discriminator: event.discriminator },
          ...{ receivedAt: event.receivedAt, size: 1, state: "done", attempts: 1, bindings: [] },
        }
      ),
    );
  }
  throw new Error("The queue does not become empty");
}

const readableOf = (events: QueuedEvent[]) =>
  [...new Set(events.filter((one) => one.unreadable === undefined).map(({ id }) => id))].sort();

async function deadOf(store: Store, namespace: string): Promise<Delivery[]> {
  return (await store.events.deliveries({ namespace, state: "dead", limit: 0 })).items;
}

function bytesOf({ unreadable }: Delivery): Buffer {
  return unreadable?.base64 !== undefined
    ? Buffer.from(unreadable.base64, "base64")
    : Buffer.from(unreadable?.text ?? "");
}

describe("Redis", () => {
  let server: RedisServer;
  let prefixes = 0;
  beforeAll(async () => {
    server = await startRedisServer();
  });
  afterAll(() => server.stop());

  /** A new store, and access to its data. */
  async function setUp() {
    const prefix = `u${++prefixes}:`;
    const store = await openRedisStore({ url: `${server.url}?prefix=${prefix}` });
    const redis = await createClient({ url: server.url, RESP: 2 }).connect();
    cleanUp.push(() => store.close(), () => redis.close());
    const base = `${prefix}{events}:`;
    const send = (...args: (string | Buffer)[]) => redis.sendCommand(args);
    return {
      store,
      send,
      base,
      async isEmpty() {
        expect(await store.events.depth()).toBe(0);
        expect(await send("XLEN", `${base}queue`)).toBe(0);
        expect(await send("XPENDING", `${base}queue`, "workers")).toEqual([0, null, null, null]);
        expect(await send("EXISTS", `${base}left`)).toBe(0);
      },
    };
  }

  const facts = { id: "x", namespace: "n", discriminator: "d", receivedAt: 5, size: 2 };
  const content = (own: unknown) => Buffer.from(`0 ${JSON.stringify(own)}\n{}`);
  const without = (name: keyof typeof facts) => ({ ...facts, [name]: undefined });
  const FORMS: [string, Buffer][] = [
    ["nothing", Buffer.of()],
    ["one word", Buffer.from("garbage")],
    ["truncated facts", content(facts).subarray(0, 30)],
    ["facts without an end", Buffer.from(`0 ${JSON.stringify(facts)}`)],
    ["facts that are a list", content([facts])],
    ["facts that are null", content(null)],
    ["facts that are nested deeply", Buffer.from(`0 ${"[".repeat(200_000)}\n{}`)],
    ["attempts that are no number", Buffer.from(`x ${JSON.stringify(facts)}\n{}`)],
    ["another program's form", Buffer.from(JSON.stringify({ version: 9, event: facts }))],
    ["bytes that are no UTF-8", Buffer.of(0xff, 0xfe, 0, 1, 2, 0xc3, 0x28)],
    ["a payload that is no UTF-8", Buffer.concat([content(facts), Buffer.of(0x22, 0xff, 0x22)])],
    ["much of nothing", Buffer.alloc(3_000_000, "x")],
    ["a megabyte of no UTF-8", Buffer.alloc(1_000_000, 0xff)],
    ...(["id", "namespace", "discriminator", "receivedAt"] as const).map((
      name,
    ): [string, Buffer] => [`no ${name}`, content(without(name))]),
    ...(["id", "namespace", "discriminator", "receivedAt", "size"] as const).flatMap((name) =>
      [{}, null, [], true].map((value): [string, Buffer] => [
        `${name}: ${JSON.stringify(value)}`,
        content({ ...facts, [name]: value }),
      ])
    ),
  ];

  test.each(FORMS)("%s", async (_name, form) => {
    const { store, send, base, isEmpty } = await setUp();
    await offer(store, ["a", "b"]);
    // Alone and not indexed; beside a good event in an entry, indexed as an event of a namespace.
    await send("XADD", `${base}queue`, "*", "x", form);
    const good = Buffer.from(`0 ${JSON.stringify({ ...facts, id: "g" })}\n{}`);
    const entry = String(await send("XADD", `${base}queue`, "*", "x", form, "g", good));
    await send("HSET", `${base}places`, "x", `${entry} 2`, "g", `${entry} 2`);
    await send("ZADD", `${base}d:mine:queued`, "7", "x");
    await send("SADD", `${base}namespaces`, "mine");
    await offer(store, ["c"]);
    expect(readableOf(await workOff(store))).toEqual(["a", "b", "c", "g"]);
    await isEmpty();
    const dead = await deadOf(store, "mine");
    expect(dead).toMatchObject([{
      id: "x",
      state: "dead",
      bindings: [{ binding: "", outcome: "error" }],
      unreadable: { bytes: form.length },
    }]);
    expect(dead[0]?.bindings[0]?.message).toMatch(/^the stored event cannot be read: /);
    expect(bytesOf(dead[0] as Delivery).equals(form)).toBe(true);
    expect(await store.events.deliveries({ namespace: "mine", state: "queued", limit: 0 }))
      .toEqual({ items: [] });
  });

  test("an entry that is filed nowhere: its namespace is what it says, else none", async () => {
    const { store, send, base, isEmpty } = await setUp();
    await send("XADD", `${base}queue`, "*", "one", "garbage");
    await send("XADD", `${base}queue`, "*", Buffer.of(0xff), Buffer.of(0xff), "a b\n", "z");
    await send("XADD", `${base}queue`, "*", "two", content(without("discriminator")));
    await offer(store, ["a"]);
    expect(readableOf(await workOff(store))).toEqual(["a"]);
    await isEmpty();
    const dead = await deadOf(store, "");
    expect(dead.map(({ id }) => id)).toEqual(Array(3).fill(expect.stringMatching(/^unreadable-/)));
    expect(new Set(dead.map(({ id }) => id)).size).toBe(3);
    expect(await deadOf(store, "n")).toMatchObject([{
      id: expect.stringMatching(/^unreadable-/),
      unreadable: { text: content(without("discriminator")).toString() },
    }]);
  });

  test("places, events that wait and records that were broken hold up nobody", async () => {
    const { store, send, base, isEmpty } = await setUp();
    const ids = ["a", "b", "c", "d", "e", "f"];
    await offer(store, ids);
    const taken = await store.events.take("w", 64, LONG_MS, 0, never);
    for (const { id } of taken.slice(0, 3)) {
      const record: Delivery = {
        ...eventOf(id),
        size: 1,
        state: "queued",
        attempts: 1,
        bindings: [],
      };
      await store.events.retryLater(record, 0);
    }
    await send("HDEL", `${base}held`, "a");
    await send("HSET", `${base}held`, "b", "broken");
    await send("HSET", `${base}places`, "d", "nowhere", "e", "1-1");
    await send("HSET", `${base}deliveries`, "c", "{");
    await store.events.touch("w", ids);
    await store.events.retryLater({
      ...eventOf("d"),
      size: 1,
      state: "queued",
      attempts: 1,
      bindings: [],
    }, 0);
    await offer(store, ["g"]);
    const all = await store.events.deliveries({ namespace: "n", limit: 0 });
    expect(all.items.map(({ id }) => id).sort()).toEqual(["a", "b", "c", "f", "g"]);
    const done = readableOf(await workOff(store, 0));
    expect(done).toEqual(["c", "d", "e", "f", "g"]);
    await isEmpty();
    expect((await deadOf(store, "n")).map(({ id }) => id).sort()).toEqual(["a", "b"]);
  });

  test("one that lies under another id, or is filed nowhere, comes back so often and no more", async () => {
    const { store, send, base, isEmpty } = await setUp();
    const good = Buffer.from(`0 ${JSON.stringify({ ...facts, id: "y" })}\n{}`);
    const entry = String(await send("XADD", `${base}queue`, "*", "x", good));
    await send("HSET", `${base}places`, "x", `${entry} 1`);
    await send("XADD", `${base}queue`, "*", "y", good);
    expect(readableOf(await workOff(store, 0))).toEqual(["y"]);
    await isEmpty();
    expect((await deadOf(store, "n")).map(({ bindings }) => bindings[0]?.message).sort()).toEqual([
      "the stored event cannot be read: it is not filed as queued",
      "the stored event cannot be read: it lies under another id",
    ]);
  });

  test("a good event with a replacement character in it is delivered", async () => {
    const { store, isEmpty } = await setUp();
    const event = { ...eventOf("a"), text: JSON.stringify({ text: "\uFFFD ü" }) };
    await store.events.offer(event, BOUND);
    expect(await store.events.take("w", 64, LONG_MS, 0, never)).toMatchObject([event]);
    await store.events.retryLater(
      { ...event, size: 1, state: "queued", attempts: 1, bindings: [] },
      0,
    );
    expect(await workOff(store)).toMatchObject([{ ...event, attempts: 1 }]);
    await isEmpty();
  });

  test("whatever bytes lie in the queue", async () => {
    const bytes = fc.uint8Array({ maxLength: 60 }).map((all) => Buffer.from(all));
    const pieces = fc.array(
      fc.constantFrom("0 ", "1", " ", "{", "}", '"id":"x"', ",", "\n", '"namespace":"n"', "null"),
    ).map((all) => Buffer.from(all.join("")));
    const one = fc.tuple(fc.oneof(bytes, fc.constant(Buffer.from("x"))), fc.oneof(bytes, pieces));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(one, { minLength: 1, maxLength: 3 })), async (entries) => {
        const { store, send, base, isEmpty } = await setUp();
        await offer(store, ["good 1", "good 2"]);
        for (const fields of entries) await send("XADD", `${base}queue`, "*", ...fields.flat());
        await offer(store, ["good 3"]);
        const done = await workOff(store);
        expect(readableOf(done)).toEqual(["good 1", "good 2", "good 3"]);
        await isEmpty();
        for (const clean of cleanUp.splice(0).reverse()) await clean();
      }),
      { numRuns: 60 },
    );
  });

  test("a server delivers what can be read, and tells of what can't", async () => {
    const url = `${server.url}?prefix=whole:`;
    const redis = await createClient({ url: server.url }).connect();
    cleanUp.push(() => redis.close());
    const queue = "whole:{events}:queue";
    await redis.sendCommand(["XADD", queue, "*", "broken", "garbage"]);
    const own = `0 ${JSON.stringify({ ...facts, id: "own" })}\n{"payload":1}`;
    const entry = String(await redis.sendCommand(["XADD", queue, "*", "own", own]));
    await redis.sendCommand(["HSET", "whole:{events}:places", "own", `${entry} 1`]);
    const sluice = await startServer([`--store=${url}`, "--executor=none", "--shards=2"]);
    cleanUp.push(() => sluice.kill());
    for (let index = 0; index < 5; index++) {
      const body = JSON.stringify({ index });
      const answer = await fetch(`${sluice.url}/api/v1/events/n/`, { method: "POST", body });
      expect(answer.status).toBe(200);
    }
    type Answer = { items: (Delivery & { receivedAt: string })[]; message?: string };
    const ask = async (path: string, method = "GET"): Promise<Answer & { status: number }> => {
      const answer = await fetch(`${sluice.url}/api/v1/event-deliveries/${path}`, { method });
      return { ...await answer.json() as Answer, status: answer.status };
    };
    await expect.poll(async () => (await ask("n?state=done")).items.length, { timeout: 20_000 })
      .toBe(5);
    const nowhere = async () => (await ask("")).items.filter(({ namespace }) => namespace === "");
    await expect.poll(nowhere, { timeout: 20_000 }).toMatchObject([{
      id: expect.stringMatching(/^unreadable-/),
      namespace: "",
      state: "dead",
      unreadable: { bytes: 7, text: "garbage" },
    }]);
    // Its text is not an event of ours, but its id is known, so it can be fetched.
    const dead = await ask("n?state=dead");
    expect(dead.items).toMatchObject([{ id: "own", state: "dead" }]);
    expect(dead.items[0]?.unreadable).toEqual({ bytes: 13 });
    expect(await ask("n/own")).toMatchObject({ unreadable: { text: '{"payload":1}' } });
    expect(await ask("n/own/replay", "POST")).toMatchObject({
      status: 400,
      message: expect.stringMatching(/cannot be replayed/),
    });
    expect(await ask("n/replay", "POST")).toMatchObject({ replayed: 0, remaining: 0 });
    const page = await (await fetch(`${sluice.url}/metrics`)).text();
    expect(page).toContain("sluice_dead_letters_total 2\n");
    expect(page).toContain('sluice_unreadable_records_total{kind="event"} 2\n');
    expect(sluice.log.filter((line) => line.includes("a stored record cannot be read")).length)
      .toBe(
        2,
      );
  });
});

describe("SQLite", () => {
  let folder: string;
  const change = (sql: string) => {
    const database = new DatabaseSync(join(folder, "sluice.db"));
    database.exec(sql);
    database.close();
  };

  test.each([
    ["an id that is bytes", "id = x'ff00'"],
    ["a namespace that is bytes", "namespace = x'ff'"],
    ["a discriminator that is bytes", "discriminator = x'00'"],
    ["a text that is bytes", "text = x'ff00fe'"],
    ["a text that is no UTF-8", "text = CAST(x'22ff22' AS TEXT)"],
    ["no time", "received_at = 'soon'"],
    ["a time beyond all", "received_at = 9223372036854775807"],
    ["no time for a retry", "at = 'later'"],
    ["no time when it was touched", "touched_at = x'01'"],
    ["attempts that are none", "attempts = 'many'"],
    ["a size beyond all", "size = 9223372036854775807"],
  ])("%s", async (name, sql) => {
    folder = mkdtempSync(join(tmpdir(), "sluice-unreadable-"));
    cleanUp.push(() => rmSync(folder, { recursive: true }));
    let store = await openSqliteStore({ folder });
    await offer(store, ["a", "x", "b"]);
    await store.close();
    change(`UPDATE event SET ${sql} WHERE id = 'x'`);
    store = await openSqliteStore({ folder });
    cleanUp.push(() => store.close());
    const events = await workOff(store);
    expect(readableOf(events).filter((id) => id !== "x")).toEqual(["a", "b"]);
    expect(await store.events.depth()).toBe(0);
    const dead = [...await deadOf(store, "n"), ...await deadOf(store, "")];
    // A damaged time or size does not keep an event from being delivered.
    if (/retry|touched|attempts|size/.test(name)) expect(dead).toEqual([]);
    else {
      expect(dead.length).toBe(1);
      const text = /no UTF-8/.test(name)
        ? Buffer.of(0x22, 0xff, 0x22)
        : /text that is bytes/.test(name)
        ? Buffer.of(0xff, 0, 0xfe)
        : Buffer.from(eventOf("x").text);
      expect(bytesOf(dead[0] as Delivery).equals(text)).toBe(true);
    }
  });

  test("a record that can't be read is listed beside the others", async () => {
    folder = mkdtempSync(join(tmpdir(), "sluice-unreadable-"));
    cleanUp.push(() => rmSync(folder, { recursive: true }));
    let store = await openSqliteStore({ folder });
    await offer(store, ["a", "x", "b"]);
    await store.close();
    change("UPDATE delivery SET record = '{\"id\":' WHERE id = 'x'");
    store = await openSqliteStore({ folder });
    cleanUp.push(() => store.close());
    const { items } = await store.events.deliveries({ namespace: "n", limit: 0 });
    expect(items.map(({ id }) => id).sort()).toEqual(["a", "b", "x"]);
    expect(await store.events.delivery("n", "x")).toMatchObject({
      bindings: [{ message: "the stored record cannot be read" }],
      unreadable: { text: '{"id":' },
    });
    expect(readableOf(await workOff(store))).toEqual(["a", "b", "x"]);
  });
});
