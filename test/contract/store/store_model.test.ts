/** Random operations: SQLite and Redis give the same answers as the memory adapter. */
import { partTexts } from "../../../src/base/part_text.ts";
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { isDeepStrictEqual } from "node:util";
import { createClient, type RedisClientType } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../../../src/base/json.ts";
import { emptyState } from "../../../src/store/memory/state.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import type { ActorChange, Change, IndexEntry, ListQuery, Store } from "../../../src/store/port.ts";
import type { Delivery } from "../../../src/store/event_port.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { SqliteDatabase } from "../../../src/store/sqlite/database.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { type RedisServer, startRedisServer } from "../../support/redis_server.ts";
import { changeOf, collect, commitOf, entryOf, never } from "./store_setting.ts";

const SHARDS = 3;
const FAR_MS = 4_000_000_000_000;
/** Longer than a run, and not longer than a lease may last. */
const TERM_MS = 600_000;
const RUNS = Number(process.env["SLUICE_RUNS"] ?? 100);
const TIMEOUT_MS = Math.max(300_000, RUNS * 1_000);

/** One operation: what it does to a store, and what can be observed. */
interface Operation {
  name: string;
  run(store: Store, names: Names): Promise<unknown>;
}

const operations = () =>
  fc.array(
    fc.oneof({ weight: 4, arbitrary: commits }, loads, leases, mail, lists, manifests, events)
      .map((operation) => ({ ...operation, [fc.toStringMethod]: () => operation.name })),
    { maxLength: 40 },
  );

/** Numbers versions and cursors in the order in which they appear, so that they are equal for every adapter. */
class Names {
  readonly #versions: string[] = [];
  readonly #cursors: string[] = [];

  version(value: string | undefined): string {
    return nameIn(this.#versions, value);
  }

  /** Cursors are numbered within their shard. */
  cursor(shard: number, value: string): string {
    return nameIn(this.#cursors, value === "" ? "" : `${shard}/${value}`);
  }

  /** A version that was seen, or an unknown one. */
  pickVersion(index: number): string {
    return this.#versions[index % Math.max(1, this.#versions.length)] ?? "1";
  }
}

function nameIn(known: string[], value: string | undefined): string {
  if (value === undefined || value === "") return "";
  if (!known.includes(value)) known.push(value);
  return `#${known.indexOf(value)}`;
}

const shard = fc.nat(SHARDS - 1);
const label = fc.constantFrom("red", "blue", "");
const phase = fc.constantFrom("Running", "Succeeded", "Failed", "");
const index = fc.record({
  labels: fc.dictionary(fc.constantFrom("team", "workflows.argoproj.io/phase"), label),
  phase,
  createdAt: fc.nat(5),
  uid: fc.constantFrom("u1", "u2", "u3"),
  waitsSince: fc.nat(3),
}, { requiredKeys: ["labels", "phase", "createdAt", "uid"] });
/** Name of the actors whose changes are silent. */
const QUIET = "quiet";
/** Each id belongs to one shard only, and so does each uid. */
const change = fc.record({
  name: fc.constantFrom("x", "y", "z-1", QUIET),
  namespace: fc.constantFrom("a", "b"),
  put: fc.dictionary(fc.constantFrom("h", "s", "q", "n:1", "n:2"), fc.string()),
  drop: fc.subarray(["h", "q", "n:1"]),
  index: fc.option(index, { nil: undefined }),
  flags: fc.record({
    create: fc.boolean(),
    remove: fc.boolean(),
  }, { requiredKeys: [] }),
});

type RandomChange = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changesOf(shard: number, changes: RandomChange[]): ActorChange[] {
  return changes.map(({ name, namespace, put, drop, index, flags }) => {
    const id = `wf/${namespace}/${name}-${shard}`;
    return changeOf(id, {
      put: partTexts(put),
      drop: drop.filter((key) => !(key in put)),
      ...flags,
      ...(name === QUIET && { silent: true }),
      ...(index && {
        index: entryOf(id, { ...index, uid: `${index.uid}-${namespace}-${name}-${shard}` }),
      }),
    });
  });
}

const commits: fc.Arbitrary<Operation> = fc.record({
  shard,
  changes: fc.array(change, { maxLength: 4 }),
  epochAhead: fc.constantFrom(0, 0, 0, 0, 1),
  outboxPut: fc.dictionary(fc.constantFrom("o1", "o2"), fc.string()),
  outboxDrop: fc.subarray(["o1", "o2"]),
  timersSet: fc.dictionary(fc.constantFrom("t1", "t2"), fc.nat()),
  timersClear: fc.subarray(["t1", "t2"]),
  answers: fc.array(
    fc.record({
      key: fc.constantFrom("k1", "k2"),
      fingerprint: fc.string(),
      answer: fc.jsonValue() as fc.Arbitrary<Json>,
      expiresAt: fc.constantFrom(1, FAR_MS),
    }),
    { maxLength: 2 },
  ),
}).map(({ shard, changes, epochAhead, ...rest }) => ({
  name: `commit ${shard} ${JSON.stringify({ changes, epochAhead, ...rest })}`,
  async run(store, names) {
    const epoch = epochOf(store, shard) + epochAhead;
    const actors = changesOf(shard, changes);
    const { versions } = await store.shards.commit(commitOf(shard, epoch, { ...rest, actors }));
    return actors.map(({ id }) => [id, names.version(versions[id])]);
  },
}));

const loads: fc.Arbitrary<Operation> = fc.record({
  shard,
  namespace: fc.constantFrom("a", "b"),
  name: fc.constantFrom("x", "y", "z-1", QUIET),
}).map(({ shard, namespace, name }) => ({
  name: `load ${shard} ${namespace}/${name}`,
  async run(store, names) {
    const actor = await store.shards.loadActor(shard, `wf/${namespace}/${name}-${shard}`);
    const { cursor, ...state } = await store.shards.loadShard(shard);
    return [
      actor && { ...actor, version: names.version(actor.version) },
      { ...state, cursor: names.cursor(shard, cursor) },
      await store.shards.findAnswers(shard, ["k1", "k2", "k3"]),
      await store.query.findByUid(`u1-${namespace}-${name}-${shard}`),
    ];
  },
}));

const leases: fc.Arbitrary<Operation> = fc.record({
  shard,
  replica: fc.constantFrom("r1", "r2"),
  act: fc.constantFrom("acquire", "renew", "release"),
}).map(({ shard, replica, act }) => ({
  name: `${act} ${shard} by ${replica}`,
  async run(store) {
    const epoch = epochOf(store, shard);
    if (act === "renew") return await store.membership.renew([{ shard, epoch }], replica, TERM_MS);
    if (act === "release") return await store.membership.release({ shard, epoch });
    const lease = await store.membership.acquire(shard, replica, TERM_MS);
    if (lease !== undefined) epochs.get(store)?.set(shard, lease.epoch);
    return lease;
  },
}));

const mail: fc.Arbitrary<Operation> = fc.record({
  shard,
  commands: fc.array(fc.string(), { maxLength: 4 }),
  keep: fc.nat(3),
}).map(({ shard, commands, keep }) => ({
  name: `append ${commands.length} to ${shard}, apply but ${keep}`,
  async run(store, names) {
    await store.shards.append(commands.map((text) => ({
      shard,
      command: { id: text, actor: "wf/a/x", body: { text } },
    })));
    const { cursor } = await store.shards.loadShard(shard);
    const entries = await store.shards.readMailboxes([{ shard, cursor }], 100, 0, never);
    const applied = entries.at(-1 - keep);
    if (applied !== undefined) {
      const commit = commitOf(shard, epochOf(store, shard), { cursor: applied.cursor });
      await store.shards.commit(commit);
    }
    // Not every store tells when a command was stored.
    return entries.map(({ storedAt: _, ...entry }) => ({
      ...entry,
      cursor: names.cursor(shard, entry.cursor),
    }));
  },
}));

const lists: fc.Arbitrary<Operation> = fc.record({
  namespace: fc.constantFrom("a", "b", "c"),
  notNamespace: fc.constantFrom("a", "b"),
  phases: fc.subarray(["Running", "Failed", ""]),
  createdAfter: fc.nat(5),
  labels: fc.array(
    fc.record({
      key: fc.constantFrom("team", "workflows.argoproj.io/phase"),
      operator: fc.constantFrom("=", "!=", "in", "notin", "exists", "!exists"),
      values: fc.array(label, { minLength: 1, maxLength: 2 }),
    }),
    { maxLength: 2 },
  ),
  name: fc.record({
    value: fc.constantFrom("x-1", "x", "z"),
    match: fc.constantFrom("exact", "contains", "prefix", "not"),
  }),
  withoutNodes: fc.boolean(),
  waiting: fc.boolean(),
  count: fc.boolean(),
  limit: fc.nat(4),
}, { requiredKeys: ["limit"] }).map((filters) => ({
  name: `list ${JSON.stringify(filters)}`,
  async run(store, names) {
    const pages: unknown[] = [];
    let token: string | undefined;
    do {
      const query = { kind: "wf", ...filters, ...(token && { continue: token }) };
      const page = await store.query.list(query as ListQuery);
      pages.push(
        page.remaining,
        page.items.map((item) => ({
          ...item,
          version: names.version(item.version),
        })),
      );
      token = page.continue;
    } while (token !== undefined);
    return pages;
  },
}));

const manifests: fc.Arbitrary<Operation> = fc.record({
  act: fc.constantFrom("put", "remove", "list"),
  namespace: fc.constantFrom("a", "a-b"),
  name: fc.constantFrom("m", "m-1", "n"),
  text: fc.string(),
  label,
  expect: fc.constantFrom("none", "any", "known"),
  known: fc.nat(30),
  limit: fc.nat(2),
}).map(({ act, namespace, name, text, label, expect, known, limit }) => ({
  name: `${act} manifest ${namespace}/${name} if ${expect} ${known}`,
  async run(store, names) {
    const kind = "ConfigMap";
    const version = expect === "known" ? names.pickVersion(known) : undefined;
    if (act === "put") {
      const manifest = { kind, namespace, name, text, labels: { label } } as const;
      const wish = expect === "any" ? "*" : version;
      const outcome = await store.manifests.put(manifest, wish);
      return "version" in outcome ? names.version(outcome.version) : outcome;
    }
    if (act === "remove") {
      const removed = await store.manifests.remove(kind, namespace, name, version);
      return removed && { ...removed, version: names.version(removed.version) };
    }
    const seen: unknown[] = [await store.manifests.get(kind, namespace, name) !== undefined];
    let token: string | undefined;
    do {
      const query = { limit, ...(token && { continue: token }) };
      const page = await store.manifests.list(kind, query);
      seen.push(page.items.map((item) => ({ ...item, version: names.version(item.version) })));
      token = page.continue;
    } while (token !== undefined);
    return seen;
  },
}));

const events: fc.Arbitrary<Operation> = fc.record({
  act: fc.constantFrom(
    ...([
      "offer",
      "offer",
      "take",
      "claim",
      "touch",
      "finish",
      "retry",
      "break",
      "deliveries",
    ] as const),
  ),
  number: fc.nat(6),
  worker: fc.constantFrom("w1", "w2"),
  dedupe: fc.option(
    fc.record({
      key: fc.constantFrom("d1", "d2"),
      fingerprint: fc.constantFrom("f1", "f2"),
      expiresAt: fc.constantFrom(1, FAR_MS),
    }),
    { nil: undefined },
  ),
  state: fc.constantFrom("done", "dead"),
  afterMs: fc.constantFrom(0, TERM_MS),
}).map(({ act, number, worker, dedupe, state, afterMs }) => ({
  name: `${act} event ${number} ${worker} ${state} ${afterMs} ${JSON.stringify(dedupe)}`,
  async run(store) {
    const id = `e${number}`;
    const common = { id, namespace: "n", discriminator: "", receivedAt: number % 3 };
    const delivery: Delivery = {
      ...common,
      size: 1,
      state: "queued",
      attempts: number,
      bindings: [],
    };
    switch (act) {
      case "offer":
        return await store.events.offer({ ...common, text: `text ${id}` }, 5, dedupe);
      case "take":
      case "claim": {
        const silence = act === "take" ? TERM_MS : 0;
        const taken = await store.events.take(worker, 100, silence, 0, never);
        // Only some stores know a version of the manifests.
        return taken.map(({ manifests: _manifests, ...event }) => event)
          // How much of a broken entry survives depends on how it is stored.
          .map((event) => event.unreadable ? { id: event.id, unreadable: true } : event)
          .sort((a, b) => a.id < b.id ? -1 : 1);
      }
      case "break":
        await breakers.get(store)?.(id);
        return undefined;
      case "touch":
        return await store.events.touch(worker, [id]);
      case "finish":
        return await store.events.finish([{ ...delivery, state }]);
      case "retry":
        return await store.events.retryLater(delivery, afterMs);
      case "deliveries": {
        const all = await store.events.deliveries({ namespace: "n", limit: 0 });
        const some = await store.events.deliveries({ namespace: "n", limit: 2, state });
        return [await store.events.depth(), all, some.items, await store.events.delivery("n", id)];
      }
    }
  },
}));

/** Makes the stored form of an event that waits for a retry unreadable, if there is one. */
const breakers = new WeakMap<Store, (id: string) => unknown>();

/** Epoch of each shard, as far as the test knows. */
const epochs = new WeakMap<Store, Map<number, number>>();

function epochOf(store: Store, shard: number): number {
  return epochs.get(store)?.get(shard) ?? 0;
}

/** Runs the operations and returns the observations: answers, refusals, and the whole feed at the end. */
async function observe(store: Store, sequence: Operation[], changes?: number) {
  const names = new Names();
  epochs.set(store, new Map());
  await store.membership.shardCount(SHARDS);
  for (let shard = 0; shard < SHARDS; shard++) {
    const lease = await store.membership.acquire(shard, "r1", TERM_MS);
    epochs.get(store)?.set(shard, lease?.epoch ?? 0);
  }
  const from = await store.query.version();
  const seen: unknown[] = [];
  for (const { name, run } of sequence) {
    const outcome = await run(store, names).catch((error: Error) =>
      `${error.name}: ${error.message}`
    );
    seen.push([name, outcome]);
  }
  const stop = new AbortController();
  const feed = store.query.watch(from, stop.signal);
  if (changes === 0) return { seen, feed: [], histories: [] };
  if (changes === undefined) setTimeout(() => stop.abort(), 5);
  const found = await collect(feed, changes ?? Infinity, stop);
  const named = (change: Change) => ({ ...change, version: names.version(change.version) });
  const histories: [id: string, changes: Change[]][] = [];
  for (const id of new Set(found.map(({ id }) => id).filter((id) => id.startsWith("wf/")))) {
    const shard = Number(id.split("-").at(-1));
    const history = await store.query.history(shard, id, from);
    histories.push([id, history.map(({ indexBefore: _, ...change }) => named(change))]);
  }
  return { seen, feed: found.map(named), histories };
}

/**
 * The feed of a watch as the port has it: a change of an actor that is there may leave out what it replaced, and then tells
 * the earlier index entry, if it replaced that. What is told must be true.
 */
function fitted(feed: readonly Change[], model: readonly Change[]): Change[] {
  const entries = new Map<string, IndexEntry | undefined>();
  return feed.map((change, at) => {
    const { indexBefore, ...rest } = change;
    const { before } = model[at] ?? {};
    const entryBefore = entries.get(change.id);
    entries.set(change.id, change.type === "DELETED" ? undefined : change.index);
    const mayLack = change.type === "MODIFIED" && change.before === undefined;
    const isReplaced = entryBefore !== undefined &&
      !isDeepStrictEqual(entryBefore, change.index);
    if (indexBefore !== undefined || (mayLack && isReplaced && before !== undefined)) {
      expect(indexBefore).toEqual(entryBefore);
    }
    return mayLack && before !== undefined ? { ...rest, before } : rest;
  });
}

async function compare(sequence: Operation[], other: Store): Promise<void> {
  const state = emptyState(Date.now, 10_000, undefined);
  const model = openMemoryStore({ state });
  breakers.set(model, (id) => {
    const known = state.events.get(id);
    if (known?.at !== undefined) known.event.receivedAt = "broken" as never;
  });
  const memory = await observe(model, sequence);
  const observed = await observe(other, sequence, memory.feed.length);
  expect({ ...observed, feed: fitted(observed.feed, memory.feed) }).toEqual({
    ...memory,
    feed: fitted(memory.feed, memory.feed),
  });
}

let server: RedisServer;
let client: RedisClientType;
beforeAll(async () => {
  server = await startRedisServer();
  client = createClient({ url: server.url });
  await client.connect();
});
afterAll(async () => {
  client.destroy();
  await server.stop();
});

test("sqlite answers as memory does", async () => {
  await fc.assert(
    fc.asyncProperty(operations(), async (sequence) => {
      const folder = mkdtempSync(join(tmpdir(), "sluice-model-"));
      const options = { folder, durability: "everysec" } as const;
      const database = new SqliteDatabase(options);
      const store = await openSqliteStore({ ...options, database });
      breakers.set(store, (id) =>
        database.write(() => {
          const sql = "UPDATE event SET received_at = 'broken' WHERE id = ? AND at IS NOT NULL";
          database.run(sql, id);
        }));
      try {
        await compare(sequence, store);
      } finally {
        await store.close();
        rmSync(folder, { recursive: true });
      }
    }),
    { numRuns: RUNS },
  );
}, TIMEOUT_MS);

test("redis answers as memory does", async () => {
  let prefix = 0;
  await fc.assert(
    fc.asyncProperty(operations(), async (sequence) => {
      const store = await openRedisStore({ url: `${server.url}?prefix=m${++prefix}:` });
      breakers.set(store, async (id) => {
        const held = `m${prefix}:{events}:held`;
        if (await client.hExists(held, id)) await client.hSet(held, id, "broken");
      });
      try {
        await compare(sequence, store);
      } finally {
        await store.close();
      }
    }),
    { numRuns: RUNS },
  );
}, TIMEOUT_MS);
