/** Watches of replicas that take their own commits as they are see what a watch sees that reads everything from Redis. */
import { partTexts } from "../../../../src/base/part_text.ts";
import fc from "fast-check";
import process from "node:process";
import { setTimeout } from "node:timers/promises";
import { createClient } from "redis";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { ActorChange, Change, Lease, Store } from "../../../../src/store/port.ts";
import { redisKeys } from "../../../../src/store/redis/keys.ts";
import { openRedisStore } from "../../../../src/store/redis/store.ts";
import { type RedisServer, startRedisServer } from "../../../support/redis_server.ts";
import { acquired, changeOf, commitOf, entryOf } from "../store_setting.ts";

const SHARDS = 3;

let redis: RedisServer;
let stores: Store[];

beforeAll(async () => {
  redis = await startRedisServer();
  stores = await Promise.all(
    Array.from({ length: 3 }, () => openRedisStore({ url: redis.url })),
  );
  for (const store of stores) await store.membership.shardCount(SHARDS);
});
afterAll(async () => {
  for (const store of stores) await store.close();
  await redis.stop();
});

interface Step {
  /** What happens to the actor, that the shard goes to the other replica, or that nothing happens. */
  what: string;
  shard: number;
  actor: number;
  waits: boolean;
}

/** Long enough for a watch to read what was written. */
const PAUSE_MS = 3;

const step: fc.Arbitrary<Step> = fc.record({
  what: fc.oneof(
    { weight: 6, arbitrary: fc.constant("write") },
    { weight: 3, arbitrary: fc.constant("pause") },
    { weight: 1, arbitrary: fc.constantFrom("index", "silent", "remove", "move", "template") },
  ),
  shard: fc.nat(SHARDS - 1),
  actor: fc.nat(4),
  waits: fc.boolean(),
});

/** What a watch of it must show. What a change replaced may be told in more than one way. */
function shownOf({ before: _before, indexBefore: _index, ...shown }: Change): Partial<Change> {
  return shown;
}

interface Owner {
  store: number;
  epoch: number;
}

/** Two replicas that write, and one that only reads. */
class World {
  readonly #owners: Owner[] = [];
  readonly #exists = new Set<string>();
  #count = 0;
  shown = 0;

  async take(shard: number, store: number): Promise<void> {
    const now = this.#owners[shard];
    if (now !== undefined) {
      await stores[now.store]?.membership.release({ shard, epoch: now.epoch });
    }
    const epoch = await acquired(stores[store] as Store, shard, `r${store}`);
    this.#owners[shard] = { store, epoch };
  }

  #ownerOf(shard: number): Owner {
    const owner = this.#owners[shard];
    if (owner === undefined) throw new Error(`Nobody has shard ${shard}`);
    return owner;
  }

  async carryOut(all: readonly Step[]): Promise<void> {
    // Steps of different shards go at the same time.
    await Promise.all(Array.from({ length: SHARDS }, async (_, shard) => {
      for (const one of all) if (one.shard === shard) await this.#step(one);
    }));
  }

  async #step({ what, shard, actor, waits }: Step): Promise<void> {
    const { store, epoch } = this.#ownerOf(shard);
    if (what === "move") return await this.take(shard, 1 - store);
    if (what === "pause") {
      await setTimeout(PAUSE_MS);
      return;
    }
    const number = ++this.#count;
    if (what === "template") {
      this.shown++;
      const [kind, name] = ["WorkflowTemplate", `t${number}`] as const;
      const manifest = { kind, namespace: "a", name, text: name, labels: {} };
      await stores[store]?.manifests.put(manifest, "*");
      return;
    }
    const id = `${what === "silent" ? "lk" : "wf"}/a/s${shard}-${actor}`;
    const existed = this.#exists.has(id);
    if (what === "remove" && !existed) return;
    const index = entryOf(id, { uid: `uid-${id}`, ...(waits && { waitsSince: number }) });
    const change: ActorChange = changeOf(
      id,
      what === "remove" ? { remove: true } : {
        put: partTexts({
          h: JSON.stringify({ number }),
          [`n:${number % 3}`]: `{"text":"äö ${number}"}`,
        }),
        drop: existed ? [`n:${(number + 1) % 3}`] : [],
        create: !existed,
        ...((what === "index" || !existed) && { index }),
        ...(what === "silent" && { silent: true }),
      },
    );
    if (what === "remove") this.#exists.delete(id);
    else this.#exists.add(id);
    if (what !== "silent") this.shown++;
    await stores[store]?.shards.commit(commitOf(shard, epoch, { actors: [change] }));
  }

  /** Removes what is left, and gives the leases back. */
  async end(): Promise<void> {
    for (let shard = 0; shard < SHARDS; shard++) {
      const { store, epoch } = this.#ownerOf(shard);
      const left = [...this.#exists].filter((id) => id.includes(`/s${shard}-`));
      const actors = left.map((id) => changeOf(id, { remove: true, silent: id.startsWith("lk") }));
      if (actors.length > 0) await stores[store]?.shards.commit(commitOf(shard, epoch, { actors }));
      await stores[store]?.membership.release({ shard, epoch });
    }
  }
}

/** What every watch must show; the last store only reads. */
async function compare(world: World, steps: readonly Step[], signal: AbortSignal): Promise<void> {
  const from = await stores[0]?.query.version();
  const seen: Change[][] = stores.map(() => []);
  const readAll = async (store: Store, into: Change[]) => {
    for await (const changes of store.query.watch(from, signal)) into.push(...changes);
  };
  const reading = stores.map((store, at) => readAll(store, seen[at] ?? []));
  const half = Math.floor(steps.length / 2);
  for (const some of [steps.slice(0, half), steps.slice(half)]) {
    await world.carryOut(some);
    const all = stores.map(() => world.shown);
    await expect.poll(() => seen.map(({ length }) => length), { timeout: 5_000 }).toEqual(all);
  }
  const read = seen.pop() ?? [];
  for (const own of seen) {
    expect(own.map(shownOf)).toEqual(read.map(shownOf));
    for (const [at, { before, index, indexBefore = index }] of read.entries()) {
      if (own[at]?.before !== undefined) expect(own[at].before).toEqual(before);
      else if (before === undefined) expect(own[at]?.indexBefore ?? index).toEqual(indexBefore);
    }
  }
  void reading;
}

test("whoever writes, each watch shows all changes, in order, as they were", async () => {
  const steps = fc.array(step, { minLength: 20, maxLength: 90 });
  await fc.assert(
    fc.asyncProperty(steps, fc.boolean(), async (steps, areSplit) => {
      const world = new World();
      const stop = new AbortController();
      for (let shard = 0; shard < SHARDS; shard++) {
        await world.take(shard, areSplit ? shard % 2 : 0);
      }
      try {
        await compare(world, steps, stop.signal);
      } finally {
        stop.abort();
        await world.end();
      }
    }),
    { numRuns: Number(process.env["SLUICE_RUNS"] ?? 40) },
  );
}, 600_000);

type Held = Pick<Lease, "shard" | "epoch">;

/** Creates actors whose names begin in one way, and follows what a watch shows of actors by the rest of their names. */
function actorsNamed(first: string) {
  const prefix = `wf/a/${first}`;
  return {
    create(store: Store, { shard, epoch }: Held, name: string) {
      const id = prefix + name;
      const index = entryOf(id, { uid: `uid-${id}` });
      const change = changeOf(id, { put: partTexts({ h: "{}" }), create: true, index });
      return store.shards.commit(commitOf(shard, epoch, { actors: [change] }));
    },
    /** Gives what begins to watch everything from now on. */
    async follow(store: Store, signal: AbortSignal, seen: string[]) {
      const from = await store.query.version();
      return async () => {
        for await (const changes of store.query.watch(from, signal)) {
          for (const { id } of changes) seen.push(id.slice(prefix.length));
        }
      };
    },
  };
}

test.each([
  ["after it was given back, at once", true, 0],
  ["after its lease has run out, after a pause", false, 1_100],
])(
  "what an older program writes is seen where it has taken a shard: %s",
  async (_, isGivenBack, pauseMs) => {
    const [own, other] = stores as [Store, Store];
    const client = createClient({ url: redis.url });
    await client.connect();
    const { epochs } = redisKeys("sluice:");
    const stop = new AbortController();
    const seen: string[] = [];
    const { create, follow } = actorsNamed(`given-back-${isGivenBack}-`);
    const read = await follow(own, stop.signal, seen);
    try {
      const lease = await own.membership.acquire(0, "own", isGivenBack ? 60_000 : 1);
      if (lease === undefined) throw new Error("Somebody has the shard");
      const second = { shard: 1, epoch: await acquired(own, 1, "own") };
      void read();
      // Of a shard that it has just begun to write to, it knows nothing yet.
      for (const name of ["a", "b", "c"]) {
        await create(own, lease, name);
        await create(own, second, `${name}2`);
        await expect.poll(() => seen.at(-1)).toBe(`${name}2`);
      }
      const text = await client.get(epochs);
      if (isGivenBack) await own.membership.release(lease);
      const taken = { shard: 0, epoch: await acquired(other, 0, "other") };
      await client.set(epochs, text ?? "");
      await setTimeout(pauseMs);
      await create(other, taken, "d");
      // What comes later in another shard must not hide it.
      await create(own, second, "d2");
      await expect.poll(() => seen.slice(-2)).toEqual(["d", "d2"]);
      await other.membership.release(taken);
      await own.membership.release(second);
    } finally {
      stop.abort();
      client.destroy();
    }
  },
  20_000,
);

test(
  "what another replica writes to a shard that it took is seen in its order, while this one writes to the others",
  async () => {
    const [own, other] = stores as [Store, Store];
    const stop = new AbortController();
    const seen: string[] = [];
    const { create, follow } = actorsNamed("taken-");
    void (await follow(own, stop.signal, seen))();
    const mine = [];
    for (const shard of [1, 2]) mine.push({ shard, epoch: await acquired(own, shard, "own") });
    const [first, second] = mine as [Lease, Lease];
    try {
      for (let round = 0; round < 40; round++) {
        const lease = await own.membership.acquire(0, "own", 1);
        if (lease === undefined) throw new Error("Somebody has the shard");
        // So that it knows all shards, and is sure of their epochs.
        for (const name of ["a", "b"]) {
          await create(own, lease, `${round}${name}0`);
          await create(own, first, `${round}${name}1`);
          await create(own, second, `${round}${name}2`);
        }
        await expect.poll(() => seen.at(-1)).toBe(`${round}b2`);
        const taken = { shard: 0, epoch: await acquired(other, 0, "other") };
        // At the same time: the message about the one may come after the answer to the other.
        const both = [create(other, taken, `${round}theirs`), create(own, first, `${round}ours`)];
        await Promise.all(both);
        await other.membership.release(taken);
        const last = () => seen.slice(-2).toSorted();
        await expect.poll(last).toEqual([`${round}ours`, `${round}theirs`]);
      }
    } finally {
      stop.abort();
      for (const lease of mine) await own.membership.release(lease);
    }
  },
  60_000,
);
