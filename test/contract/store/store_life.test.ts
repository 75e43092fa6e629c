/**
 * Random lives of a store that several servers use, one after the other: what it holds is what the memory adapter holds, and
 * its index, its shared texts and its queue have nothing besides.
 */
import fc from "fast-check";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createClient, type RedisClientType } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import { partTexts } from "../../../src/base/part_text.ts";
import type { Delivery } from "../../../src/store/event_port.ts";
import { openMemoryStore } from "../../../src/store/memory/store.ts";
import type { ActorChange, ListQuery, Store } from "../../../src/store/port.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { type RedisServer, startRedisServer } from "../../support/redis_server.ts";
import { leaksOf } from "../../support/redis_leaks.ts";
import { changeOf, commitOf, entryOf, never } from "./store_setting.ts";

const SHARDS = 2;
const TERM_MS = 600_000;
const FAR_MS = 4_000_000_000_000;
const RUNS = Number(process.env["SLUICE_RUNS"] ?? 60);
const TIMEOUT_MS = Math.max(300_000, RUNS * 2_000);

/** A store as the server that owns all of its shards has it. */
interface Life {
  store: Store;
  epochs: number[];
  /** Versions in the order in which they appeared. */
  versions: string[];
  /** How many removals have left something, in each shard. */
  remains: number[];
  /** Another server takes over. */
  reopen(): Promise<Store>;
}

/** One step: what it does, and what can be seen of it. */
interface Step {
  name: string;
  run(life: Life): Promise<unknown>;
}

const SPECS = ["one", "two"].map((word) => word.repeat(60));
const shard = fc.nat(SHARDS - 1);
const text = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: "binary", maxLength: 8 }),
  fc.constantFrom(
    "",
    "@",
    "@i",
    "\u0001\u0002\u001f0",
    '{"schema":2,"id":"x-one","uid":"',
    "ü".repeat(200),
  ),
);
const spec = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...SPECS) },
  { weight: 1, arbitrary: fc.constantFrom("short", "") },
);
const name = fc.constantFrom("one", "x-two", "\u00fc3", "a");
const key = fc.constantFrom("h", "a", "q", "n:x-two", "n:x-two-7", "n:\u0002", "n:8");
const LABELS = ["team", "workflows.argoproj.io/phase", "workflows.argoproj.io/completed"];
const index = fc.record({
  labels: fc.dictionary(
    fc.constantFrom(...LABELS),
    fc.constantFrom("Running", "true", "false", ""),
  ),
  phase: fc.constantFrom("", "Pending", "Running", "Succeeded", "Odd"),
  createdAt: fc.nat(2),
  uid: fc.constantFrom("u1", "u2"),
  waitsSince: fc.nat(3),
}, { requiredKeys: ["labels", "phase", "createdAt", "uid"] });

const change = fc.record({
  name,
  put: fc.dictionary(key, text),
  spec: fc.option(spec, { nil: undefined }),
  drop: fc.subarray(["s", "q", "n:x-two", "n:\u0002"]),
  index: fc.option(index, { nil: undefined }),
  create: fc.boolean(),
  removal: fc.constantFrom("no", "no", "no", "all", "remains"),
});
type RandomChange = typeof change extends fc.Arbitrary<infer T> ? T : never;

function changeIn(
  { remains }: Life,
  shard: number,
  { name, put, spec, drop, index, create, removal }: RandomChange,
): ActorChange {
  const id = `wf/a/${name}-${shard}`;
  const parts = { ...put, ...(spec !== undefined && { s: spec }) };
  return changeOf(id, {
    put: partTexts(parts),
    drop: drop.filter((one) => !(one in parts)),
    ...(create && { create }),
    ...(removal !== "no" && { remove: true }),
    ...(removal === "remains" && { remains: `r-${remains[shard] = (remains[shard] ?? 0) + 1}` }),
    ...(index && { index: entryOf(id, { ...index, uid: `${index.uid}-${name}-${shard}` }) }),
  });
}

function named({ versions }: Life, version: string | undefined): string {
  if (version === undefined) return "";
  if (!versions.includes(version)) versions.push(version);
  return `#${versions.indexOf(version)}`;
}

const commits: fc.Arbitrary<Step> = fc.record({
  shard,
  changes: fc.array(change, { maxLength: 4 }),
  text,
  row: fc.constantFrom("!", "o"),
  drops: fc.boolean(),
  follows: fc.option(fc.constantFrom("", "text"), { nil: undefined }),
  due: fc.option(fc.nat(9), { nil: undefined }),
}).map(({ shard, changes, text, row, drops, follows, due }) => ({
  name: `commit ${shard} ${JSON.stringify({ changes, text, row, drops, follows, due })}`,
  async run(life) {
    const actors = changes.map((one) => changeIn(life, shard, one));
    const { versions } = await life.store.shards.commit(commitOf(shard, life.epochs[shard] ?? 0, {
      actors,
      outboxPut: drops ? {} : { [row]: row === "!" ? "text" : text },
      outboxDrop: drops ? ["o"] : [],
      ...(due === undefined ? { timersClear: ["t"] } : { timersSet: { t: due } }),
      ...(follows !== undefined && { follows: { row: "!", text: follows } }),
      answers: [{ key: text, fingerprint: text, answer: { text }, expiresAt: FAR_MS }],
    }));
    return actors.map(({ id }) => named(life, versions[id]));
  },
}));

const loads: fc.Arbitrary<Step> = fc.record({
  shard,
  name,
  text,
  // Redis does not count nodes exactly.
  maxNodes: fc.constant(1_000),
  maxSize: fc.constantFrom(0, 20, 10_000),
}).map(({ shard, name, text, ...bounds }) => ({
  name: `load ${shard} ${name}`,
  async run(life) {
    const { shards } = life.store;
    const id = `wf/a/${name}-${shard}`;
    const found = [await shards.loadActor(shard, id), await shards.loadActor(shard, id, bounds)];
    const { cursor: _, ...state } = await shards.loadShard(shard);
    return [
      found.map((one) => one && { ...one, version: named(life, one.version) }),
      state,
      await shards.readRemains(shard, `r-${life.remains[shard]}`, "", 1_000),
      await shards.findAnswers(shard, [text]),
      await life.store.query.findByUid(`u1-${name}-${shard}`),
    ];
  },
}));

const drops: fc.Arbitrary<Step> = shard.map((shard) => ({
  name: `drop remains ${shard}`,
  run: ({ store, remains }) => store.shards.dropRemains(shard, `r-${remains[shard]}`),
}));

const takeOvers: fc.Arbitrary<Step> = fc.constant({
  name: "another server",
  async run(life) {
    life.store = await life.reopen();
    await life.store.membership.leave("r");
    await own(life);
  },
});

const lists: fc.Arbitrary<Step> = fc.record({
  namespace: fc.constantFrom("a", "b"),
  phases: fc.subarray(["Running", "Odd", ""]),
  labels: fc.array(
    fc.record({
      key: fc.constantFrom(...LABELS),
      operator: fc.constantFrom("=", "!=", "in", "notin", "exists", "!exists"),
      values: fc.array(fc.constantFrom("Running", "true", ""), { minLength: 1, maxLength: 2 }),
    }),
    { maxLength: 2 },
  ),
  parts: fc.subarray(["h", "s", "n:x-two"]),
  waiting: fc.boolean(),
  limit: fc.nat(2),
  maxScan: fc.constantFrom(1, 3),
  maxSize: fc.constantFrom(1, 100),
}, { requiredKeys: ["limit"] }).map((filters) => ({
  name: `list ${JSON.stringify(filters)}`,
  async run(life) {
    const items: unknown[] = [];
    let token: string | undefined;
    do {
      const query = { kind: "wf", ...filters, ...(token && { continue: token }) } as ListQuery;
      const page = await life.store.query.list(query);
      items.push(...page.items.map((one) => ({ ...one, version: named(life, one.version) })));
      token = page.continue;
    } while (token !== undefined);
    const of = { namespace: "a", ...(filters.phases?.[0] && { phase: filters.phases[0] }) };
    return [items, await life.store.query.count(of, [0, 1, 2, 9])];
  },
}));

const events: fc.Arbitrary<Step> = fc.record({
  act: fc.constantFrom(
    "offer",
    "offer",
    "take",
    "claim",
    "finish",
    "amend",
    "retry",
    "trim",
    "see",
  ),
  numbers: fc.uniqueArray(fc.nat(7), { minLength: 1, maxLength: 4 }),
  worker: fc.constantFrom("w1", "w2"),
  text,
  state: fc.constantFrom("done", "dead"),
  keyed: fc.option(fc.constantFrom("k1", "k2"), { nil: undefined }),
  afterMs: fc.constantFrom(0, TERM_MS),
  kept: fc.nat(3),
}).map(({ act, numbers, worker, text, state, keyed, afterMs, kept }) => ({
  name: `${act} events ${numbers.join()} ${worker} ${state} ${keyed} ${afterMs} ${kept}`,
  async run({ store: { events } }) {
    const common = numbers.map((number) => ({
      ...{ id: `e${number}`, namespace: `n${number % 2}`, discriminator: "d" },
      receivedAt: 1_000 + number,
    }));
    const records = common.map((one): Delivery => ({
      ...{ ...one, size: 1, state: "queued", attempts: 1, bindings: [] },
    }));
    switch (act) {
      case "offer":
        return await inOrder(common, (one) =>
          events.offer(
            { ...one, text },
            5,
            keyed && { key: keyed, fingerprint: text, expiresAt: FAR_MS },
          ));
      case "take":
      case "claim": {
        const taken = await events.take(worker, 100, act === "take" ? TERM_MS : 0, 0, never);
        return taken.map(({ manifests: _, ...event }) => event)
          .sort((a, b) => a.id < b.id ? -1 : 1);
      }
      case "finish":
        return await events.finish(records.map((one) => ({ ...one, state })));
      case "amend":
        return await inOrder(records, (one) => events.amend({ ...one, state, attempts: 7 }));
      case "retry":
        return await inOrder(records, (one) => events.retryLater(one, afterMs));
      case "trim":
        return await events.trimDeliveries(kept, FAR_MS);
      case "see":
        return [
          await events.depth(),
          await events.oldest(),
          await events.deliveries({ limit: 0 }),
          (await events.deliveries({ limit: 2, state })).items,
          await events.delivery("n1", "e1"),
        ];
    }
  },
}));

async function inOrder<T, R>(all: T[], run: (one: T) => Promise<R>): Promise<R[]> {
  const found: R[] = [];
  for (const one of all) found.push(await run(one));
  return found;
}

const clears: fc.Arbitrary<Step> = fc.constant({
  name: "clear",
  run: ({ store }) => store.clear(),
});

const lives = fc.array(
  fc.oneof(
    { weight: 8, arbitrary: commits },
    { weight: 4, arbitrary: events },
    { weight: 2, arbitrary: loads },
    { weight: 2, arbitrary: lists },
    { weight: 1, arbitrary: drops },
    { weight: 2, arbitrary: takeOvers },
    { weight: 1, arbitrary: fc.oneof({ weight: 3, arbitrary: loads }, clears) },
  ).map((step) => ({ ...step, [fc.toStringMethod]: () => step.name })),
  { maxLength: 40 },
);

async function own(life: Life): Promise<void> {
  life.epochs = await inOrder(
    [...Array(SHARDS).keys()],
    async (shard) => (await life.store.membership.acquire(shard, "r", TERM_MS))?.epoch ?? 0,
  );
}

/** What can be seen of a life. */
async function observe(steps: Step[], reopen: Life["reopen"]): Promise<unknown[]> {
  const life: Life = {
    store: await reopen(),
    epochs: [],
    versions: [],
    remains: [0, 1_000],
    reopen,
  };
  await life.store.membership.shardCount(SHARDS);
  await own(life);
  return await inOrder(steps, async ({ name, run }) => [
    name,
    await run(life).catch((error: Error) => error.name),
  ]);
}

function inMemory(steps: Step[]): Promise<unknown[]> {
  const store = openMemoryStore();
  return observe(steps, () => Promise.resolve(store));
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

test("a store on SQLite that is opened again and again", async () => {
  await fc.assert(
    fc.asyncProperty(lives, async (steps) => {
      const folder = mkdtempSync(join(tmpdir(), "sluice-life-"));
      let store: Store | undefined;
      try {
        const seen = await observe(steps, async () => {
          await store?.close();
          return store = await openSqliteStore({ folder, durability: "everysec" });
        });
        expect(seen).toEqual(await inMemory(steps));
      } finally {
        await store?.close();
        rmSync(folder, { recursive: true });
      }
    }),
    { numRuns: RUNS },
  );
}, TIMEOUT_MS);

test.each([1, 2, 3])(
  "a store on Redis of layout %i that several servers use in turn",
  async (layout) => {
    let place = 0;
    await fc.assert(
      fc.asyncProperty(lives, async (steps) => {
        const prefix = `l${layout}-${++place}:`;
        if (layout === 1) await client.set(`${prefix}{cluster}:shards`, String(SHARDS));
        const url = `${server.url}?prefix=${prefix}${layout === 2 ? "&layout=2" : ""}`;
        const stores: Store[] = [];
        try {
          const seen = await observe(steps, async () => {
            // Two servers that know what they did when they had the shards the last time.
            if (stores.length < 2) stores.push(await openRedisStore({ url }));
            else stores.reverse();
            return stores.at(-1) as Store;
          });
          expect(seen).toEqual(await inMemory(steps));
          expect(await leaksOf(client, prefix, SHARDS, layout)).toEqual([]);
        } finally {
          await Promise.all(stores.map((store) => store.close()));
        }
      }),
      { numRuns: RUNS },
    );
  },
  TIMEOUT_MS,
);
