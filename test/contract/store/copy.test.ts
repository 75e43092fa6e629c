/** A store that is copied holds the same in every other adapter and with any number of shards. */
import { partTexts } from "../../../src/base/part_text.ts";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { createClient } from "redis";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { shardOf } from "../../../src/actors/actor_ids.ts";
import { copyStore } from "../../../src/service/stores/copy.ts";
import { openBackupSource, openBackupTarget } from "../../../src/service/stores/backup_file.ts";
import { openSource, openTarget } from "../../../src/store/open_dump.ts";
import type { StoreSource, StoreTarget } from "../../../src/store/dump.ts";
import { VersionTooOld } from "../../../src/store/port.ts";
import type { Store } from "../../../src/store/port.ts";
import { SHARD_KEY } from "../../../src/store/redis/keys.ts";
import { openRedisStore } from "../../../src/store/redis/store.ts";
import { openSqliteStore } from "../../../src/store/sqlite/store.ts";
import { type RedisCluster, startRedisCluster } from "../../support/redis_cluster.ts";
import { type RedisServer, startRedisServer } from "../../support/redis_server.ts";
import { type Content, contents, dumpOf, fillStore } from "../../support/whole_store.ts";
import { acquired, changeOf, commitOf, failureOf, never } from "./store_setting.ts";

/** Redis 6.2 has no such command. */
const OLDEST = ["--rename-command", "PEXPIRETIME", ""];

let redis: RedisServer;
let cluster: RedisCluster;
let folder: string;
let places = 0;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([startRedisServer(OLDEST), startRedisCluster()]);
  folder = mkdtempSync(join(tmpdir(), "sluice-copy-"));
});
afterAll(async () => {
  await Promise.all([redis.stop(), cluster.stop()]);
  rmSync(folder, { recursive: true });
});

const PLACES = {
  sqlite: () => `sqlite:${join(folder, String(++places))}`,
  redis: () => `${redis.url}?prefix=c${++places}:`,
  cluster: () => `${cluster.url}?prefix=c${++places}:`,
};

function openStore(address: string): Promise<Store> {
  return address.startsWith("sqlite:")
    ? openSqliteStore({ folder: address.slice(7) })
    : openRedisStore({ url: address });
}

/** Uses something that must be closed. */
async function using<T extends { close(): unknown }, R>(
  opening: T | Promise<T>,
  use: (one: T) => Promise<R>,
): Promise<R> {
  const one = await opening;
  try {
    return await use(one);
  } finally {
    await one.close();
  }
}

function copy(
  source: StoreSource | Promise<StoreSource>,
  target: StoreTarget | Promise<StoreTarget>,
  shards?: number,
) {
  return using(
    source,
    (from) => using(target, (to) => copyStore(from, to, { shards, now: Date.now })),
  );
}

async function dumpAt(address: string): Promise<string[]> {
  return await using(openSource(address), async (source) => {
    await source.facts();
    return await dumpOf(source);
  });
}

async function filled(content: Content, address: string, shards = 7): Promise<string[]> {
  await using(openStore(address), (store) => fillStore(store, content, shards));
  return await dumpAt(address);
}

const SOME: Content = {
  workflows: ["a", "b", "c", "d"].map((name, at) => ({
    name,
    phase: "Running",
    isWaiting: at % 2 === 0,
    labels: { team: "blue" },
    spec: "spec".repeat(100),
    nodes: ["{}", "ü"],
    hasLeftRemains: at === 1,
    timer: at === 2 ? 4e12 : undefined,
    effect: at === 3 ? "do" : undefined,
    commands: at,
    hasAnswer: true,
  })),
  manifests: [{ kind: "ConfigMap", name: "m", text: "{}" }],
  events: [
    { text: "one", state: "new", key: "k" },
    { text: "two", state: "retried", key: "" },
    { text: "three", state: "dead", key: "" },
  ],
  blobs: [{ key: "log/x", size: 150_000, piece: 7_000 }],
};

describe("whatever a store holds", () => {
  test.each(["sqlite", "redis"] as const)(
    "it goes from %s through all others and back",
    async (first) => {
      await fc.assert(
        fc.asyncProperty(contents, async (content) => {
          const from = PLACES[first]();
          const wanted = await filled(content, from);
          let last = from;
          const way = [["redis", 1], ["cluster", 64], ["sqlite", 7], ["redis", 64]] as const;
          for (const [kind, shards] of way) {
            const to = PLACES[kind]();
            await copy(openSource(last), openTarget(to), shards);
            expect(await dumpAt(to)).toEqual(wanted);
            last = to;
          }
        }),
        { numRuns: 5 },
      );
    },
    60_000,
  );
});

describe.each(["sqlite", "redis", "cluster"] as const)("a copy to %s", (kind) => {
  let to: string;
  let store: Store;
  async function make(): Promise<void> {
    const from = PLACES.sqlite();
    await filled(SOME, from);
    to = PLACES[kind]();
    await copy(openSource(from), openTarget(to), 5);
    store = await openStore(to);
  }
  afterEach(() => store.close());

  test("is a store that goes on: lists, loads, commits, delivers", async () => {
    await make();
    expect(await store.membership.shardCount(64)).toBe(5);
    const waiting = await store.query.list({ kind: "wf", waiting: true, limit: 0 });
    expect(waiting.items.map(({ id }) => id).sort()).toEqual(["wf/ns/a", "wf/ns/c"]);
    const labels = [{ key: "team", operator: "=" as const, values: ["blue"] }];
    const page = await store.query.list({ kind: "wf", labels, limit: 3 });
    expect(page.items).toHaveLength(3);
    expect(await store.query.findByUid("uid-ns-d")).toBe("wf/ns/d");
    // Changes of the earlier store are not in the feed.
    const late = failureOf(store.query.changes("1"));
    expect(await late).toBeInstanceOf(VersionTooOld);

    const shard = shardOf("wf/ns/d", 5);
    const loaded = await store.shards.loadActor(shard, "wf/ns/d");
    expect(loaded?.parts["s"]).toBe("spec".repeat(100));
    const { cursor, outbox } = await store.shards.loadShard(shard);
    expect(Object.keys(outbox)).toEqual(["send/wf/ns/d/x/1"]);
    const mail = await store.shards.readMailboxes([{ shard, cursor }], 10, 0, never);
    const own = mail.filter(({ command }) => command.actor === "wf/ns/d");
    expect(own.map(({ command }) => command.id)).toEqual(["c0", "c1", "c2"]);
    const key = '["me","ns","d"]';
    expect((await store.shards.findAnswers(shard, [key]))[key]?.version).toBe(loaded?.version);
    const epoch = await acquired(store, shard);
    expect(epoch).toBe(1);
    const { versions } = await store.shards.commit(commitOf(shard, epoch, {
      actors: [changeOf("wf/ns/d", { put: partTexts({ h: "new" }), drop: ["n:0"] })],
      follows: { row: "!", text: "" },
      ...(mail.length > 0 && { cursor: mail.at(-1)?.cursor ?? "" }),
    }));
    expect(Number(versions["wf/ns/d"])).toBeGreaterThan(Number(loaded?.version));
    const changed = await store.query.changes(page.version);
    expect(changed.map(({ id }) => id)).toEqual(["wf/ns/d"]);

    const gone = shardOf("wf/ns/b-gone", 5);
    const { parts } = await store.shards.readRemains(gone, "wf/ns/b-gone#abc", "", 100);
    expect(Object.keys(parts).sort()).toEqual(["h", "n:0", "n:1", "s", "x"]);
    const taken = await store.events.take("w", 10, 60_000, 0, never);
    expect(taken.map(({ id }) => id)).toEqual(["e0"]);
    expect(await store.events.depth()).toBe(2);
    const again = { id: "x", namespace: "ns", discriminator: "d", text: "one", receivedAt: 1 };
    const dedupe = { key: "k0", fingerprint: "f 1", expiresAt: Date.now() + 60_000 };
    expect(await store.events.offer(again, 10, dedupe)).toEqual({ result: "duplicate", id: "e0" });
    const dead = await store.events.deliveries({ state: "dead", limit: 10 });
    expect(dead.items.map(({ event }) => event)).toEqual(["three"]);
    expect((await store.blobs.getBlob("log/x"))?.length).toBe(150_000);
  });

  test("shares texts, and forgets them with the last who has them", async () => {
    await make();
    for (const name of ["a", "b", "c", "d"]) {
      const actor = `wf/ns/${name}`;
      const shard = shardOf(actor, 5);
      const epoch = await acquired(store, shard);
      await store.shards.commit(
        commitOf(shard, epoch, { actors: [changeOf(actor, { remove: true })] }),
      );
      await store.membership.release({ shard, epoch });
    }
    expect((await store.query.list({ kind: "wf", limit: 0 })).items).toEqual([]);
    expect(await store.query.findByUid("uid-ns-a")).toBeUndefined();
  });
});

describe.each(["sqlite", "redis"] as const)("a copy to %s that is interrupted", (kind) => {
  /** Stops after so many batches, as a kill would. */
  function stopping(source: StoreSource, after: number): StoreSource {
    return {
      name: source.name,
      facts: () => source.facts(),
      close: () => source.close(),
      async *read() {
        let batches = 0;
        for await (const batch of source.read()) {
          for (const record of batch) {
            if (batches++ === after) throw new Error("killed");
            yield [record];
          }
        }
      },
    };
  }

  test("goes on, wherever it ended; no server starts meanwhile", async () => {
    const from = PLACES.sqlite();
    const wanted = await filled(SOME, from);
    for (let after = 0;; after += 4) {
      const to = PLACES[kind]();
      const first = copy(
        openSource(from).then((source) => stopping(source, after)),
        openTarget(to),
      );
      const isWhole = await first.then(() => true, (error) => {
        expect(String(error)).toContain("killed");
        return false;
      });
      if (isWhole) break;
      if (kind === "redis") {
        const store = await openStore(to);
        await expect(store.membership.shardCount(3)).rejects.toThrow("unfinished copy");
        await store.close();
        await expect(dumpAt(to)).rejects.toThrow("is an unfinished copy of sqlite:");
      } else await expect(dumpAt(to)).rejects.toThrow("There is no store");
      const { hasGoneOn } = await copy(openSource(from), openTarget(to));
      expect(hasGoneOn).toBe(true);
      expect(await dumpAt(to)).toEqual(wanted);
    }
  }, 60_000);

  test("begins anew when the source has changed; another source must say so", async () => {
    const from = PLACES.sqlite();
    await filled(SOME, from);
    const to = PLACES[kind]();
    const stopped = copy(openSource(from).then((source) => stopping(source, 20)), openTarget(to));
    await expect(stopped).rejects.toThrow("killed");
    const other = PLACES.redis();
    const wanted = await filled({ ...SOME, blobs: [] }, other);
    const refused = copy(openSource(other), openTarget(to));
    await expect(refused).rejects.toThrow(/has an unfinished copy of sqlite:.*--restart/);

    await using(openStore(from), async (store) => {
      const shard = shardOf("wf/ns/a", 7);
      const epoch = await acquired(store, shard);
      await store.shards.commit(
        commitOf(shard, epoch, { actors: [changeOf("wf/ns/a", { remove: true })] }),
      );
      await store.membership.release({ shard, epoch });
    });
    expect((await copy(openSource(from), openTarget(to))).hasGoneOn).toBe(false);
    expect(await dumpAt(to)).toEqual(await dumpAt(from));

    const third = PLACES[kind]();
    const again = copy(openSource(from).then((source) => stopping(source, 20)), openTarget(third));
    await expect(again).rejects.toThrow("killed");
    await using(
      openSource(other),
      (source) =>
        using(
          openTarget(third),
          (target) => copyStore(source, target, { restart: true, now: Date.now }),
        ),
    );
    expect(await dumpAt(third)).toEqual(wanted);
  });
});

describe("a copy is refused", () => {
  test("while a server works on the source", async () => {
    const on = { redis: PLACES.redis(), sqlite: PLACES.sqlite() };
    for (const address of Object.values(on)) await filled(SOME, address);
    await using(openStore(on.redis), async (store) => {
      await store.membership.heartbeat("server-1", 60_000);
      const live = copy(openSource(on.redis), openTarget(PLACES.sqlite()));
      await expect(live).rejects.toThrow("is in use by server-1: stop all its servers first");
      await store.membership.leave("server-1");
      const epoch = await acquired(store, 3, "server-2");
      const leased = copy(openSource(on.redis), openTarget(PLACES.sqlite()));
      await expect(leased).rejects.toThrow("server-2 holds shard 3 until");
      await store.membership.release({ shard: 3, epoch });
    });
  });

  test("when the target holds a store, or the source none", async () => {
    const from = PLACES.sqlite();
    await filled(SOME, from);
    for (const to of [PLACES.sqlite(), PLACES.redis()]) {
      await filled({ ...SOME, workflows: [] }, to);
      const refused = copy(openSource(from), openTarget(to));
      await expect(refused).rejects.toThrow("holds a store already");
      expect((await dumpAt(to)).length).toBeGreaterThan(0);
    }
    for (const empty of [PLACES.sqlite(), PLACES.redis()]) {
      const refused = copy(openSource(empty), openTarget(PLACES.sqlite()));
      await expect(refused).rejects.toThrow("There is no store in");
    }
    await expect(openSource("memory:")).rejects.toThrow("is not the address of a store");
  });

  test("when the source changes meanwhile", async () => {
    const from = PLACES.redis();
    await filled(SOME, from);
    const source = await openSource(from);
    const meddled: StoreSource = {
      ...source,
      async *read() {
        yield* source.read();
        await using(openStore(from), async (store) => {
          const epoch = await acquired(store, 1);
          await store.membership.release({ shard: 1, epoch });
        });
      },
    };
    await expect(copy(meddled, openTarget(PLACES.sqlite()))).rejects.toThrow("has worked on");
  });

  test("when what was written is not what was read", async () => {
    const from = PLACES.sqlite();
    await filled(SOME, from);
    const to = PLACES.redis();
    const target = await openTarget(to);
    const write = target.write.bind(target);
    target.write = (records) => write(records.filter(({ type }) => type !== "timer"));
    const refused = copy(openSource(from), target);
    await expect(refused).rejects.toThrow("(timer: 0 in place of 1): copy again");
    expect((await copy(openSource(from), openTarget(to))).hasGoneOn).toBe(false);
    expect(await dumpAt(to)).toEqual(await dumpAt(from));
  });
});

test("an answer that can't be read is left out of a copy", async () => {
  const from = PLACES.redis();
  const before = (await filled(SOME, from)).filter((one) => one.includes('"answer"')).length;
  expect(before).toBeGreaterThan(0);
  const client = createClient({ url: redis.url });
  await client.connect();
  const prefix = new URL(from).searchParams.get("prefix") ?? "";
  for (const key of await client.keys(`*${prefix}*}:${SHARD_KEY.answer}*`)) {
    await client.set(key, '{"fingerprint"', { expiration: "KEEPTTL" });
  }
  await client.close();
  const to = PLACES.sqlite();
  await copy(openSource(from), openTarget(to));
  expect((await dumpAt(to)).filter((one) => one.includes('"answer"'))).toEqual([]);
});

describe("a backup", () => {
  test.each(["backup.jsonl", "backup.jsonl.gz"])("in %s brings everything back", async (name) => {
    const from = PLACES.redis();
    const wanted = await filled(SOME, from);
    const file = join(folder, `${++places}-${name}`);
    await copy(openSource(from), openBackupTarget(file, Date.now));
    for (const kind of ["sqlite", "redis"] as const) {
      const to = PLACES[kind]();
      const { sections } = await copy(openBackupSource(file), openTarget(to), 3);
      expect(sections["actor"]?.count).toBe(5);
      expect(await dumpAt(to)).toEqual(wanted);
    }
    expect(() => openBackupTarget(file, Date.now)).toThrow("is there already");
    const nowhere = join(folder, "nowhere", name);
    await expect(copy(openSource(from), openBackupTarget(nowhere, Date.now)))
      .rejects.toThrow(`Cannot write ${nowhere}: ENOENT`);
    const bytes = readFileSync(file);
    const lines = String(name.endsWith(".gz") ? gunzipSync(bytes) : bytes).trim().split("\n");
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      type: "sluice-store",
      format: 1,
      shards: 7,
    });
    expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({ type: "end" });
  });

  test("that is cut off, changed or something else is refused with the place", async () => {
    const from = PLACES.sqlite();
    await filled(SOME, from);
    const file = join(folder, "whole.jsonl");
    await copy(openSource(from), openBackupTarget(file, Date.now));
    const whole = readFileSync(file, "utf8");
    const lines = whole.split("\n");
    const cases: [text: string, why: RegExp][] = [
      [lines.slice(0, -2).join("\n") + "\n", /Line \d+ of .*: the end is missing/],
      [whole.slice(0, -20), /Line \d+ of .*: the file is cut off there/],
      [whole.replace("blue", "grey"), /is damaged: its records don't have/],
      [lines.filter((_, at) => at !== 4).join("\n"), /is damaged/],
      [whole.replace('"format":1', '"format":2'), /has format 2, this program reads format 1/],
      [whole.replace('"type":"blob"', '"type":"blub"'), /Line \d+ of .*: nobody knows "blub"/],
      ["{}\n", /is not a backup/],
      ["", /is not a backup/],
      [`${lines[0]}\nno JSON\n`, /Line 2 of .*: it is not JSON/],
      [whole.replaceAll('"expiresAt":', '"expired":'), /Line \d+ of .*: Invalid time value/],
    ];
    for (const [text, why] of cases) {
      const bad = join(folder, `bad-${++places}.jsonl`);
      writeFileSync(bad, text);
      const to = PLACES.sqlite();
      await expect(copy(openBackupSource(bad), openTarget(to))).rejects.toThrow(why);
      await expect(dumpAt(to)).rejects.toThrow("There is no store");
    }
    // So long that records are written before the end tells.
    const bad = join(folder, `bad-${++places}.jsonl`);
    writeFileSync(bad, [lines[0], ...Array(50_000).fill('{"type":"timer"}'), ""].join("\n"));
    await expect(copy(openBackupSource(bad), openTarget(PLACES.sqlite())))
      .rejects.toThrow(/^sqlite:.* can't take what .*bad-.* holds: /);
    const gz = join(folder, "not.jsonl.gz");
    writeFileSync(gz, whole);
    const refused = copy(openBackupSource(gz), openTarget(PLACES.sqlite()));
    await expect(refused).rejects.toThrow(/can't be read/);
  });
});
