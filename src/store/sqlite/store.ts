// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/**
 * The embedded store: one SQLite database in a folder that only one process has open. Waiters are woken inside the
 * process; nothing is polled. Opening the folder voids the leases of the process that had it before.
 */
import type { ReportUnreadable } from "../../platform/unreadable.ts";
import { completedLabel, STANDARD_NAMING } from "../../spec/naming.ts";
import type { BlobStore } from "../blob_port.ts";
import type { Membership, Store } from "../port.ts";
import { SqliteDatabase, type SqliteOptions } from "./database.ts";
import { SqliteEvents } from "./events.ts";
import { SqliteManifests } from "./manifests.ts";
import { SqliteQuery } from "./query.ts";
import { settledReads } from "./settled_reads.ts";
import { SqliteShards } from "./shards.ts";
import { dropStaged } from "./staged_parts.ts";
import { Wakeups } from "../wakeups.ts";

export interface SqliteStoreOptions extends SqliteOptions {
  /** An open database, for tests that damage its content. @default that of the folder */
  database?: SqliteDatabase;
  /** Clock of the store, in epoch ms. @default {Date.now} */
  now?: () => number;
  /** Told about stored data that can't be read. */
  onUnreadable?: ReportUnreadable;
  /** Prefix of the label that says whether a workflow has ended. @default that of the reference */
  labelPrefix?: string;
  /** Number of changes that the feed keeps for watches that resume. @default {20_000} */
  feedLength?: number;
  /** Number of characters of changes that it keeps, at least the last change. @default {16 Mi} */
  feedSize?: number;
}

/** Reads whose results are shown, or have effects outside. */
const SHARD_READS = ["loadShard", "loadActor", "readRemains", "findAnswers"] as const;
const QUERY_READS = ["list", "count", "findByUid", "version", "changes", "history"] as const;

/** Tables that `clear` empties: all but membership. */
const DATA_TABLES = [
  "mail",
  "outbox",
  "timer",
  "answer",
  "actor",
  "part",
  "shared",
  "term",
  "feed",
  "manifest",
  "event",
  "dedupe",
  "delivery",
  "blob",
];

/**
 * Opens the store in a folder, which is created if it is missing.
 * @throws {Problem} FailedPrecondition when another process has it open or a newer version wrote it
 */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { now = Date.now, feedLength = 20_000, feedSize = 2 ** 24 } = options;
  const { durability = "always", onUnreadable = () => {} } = options;
  const completed = completedLabel({ ...STANDARD_NAMING, ...options });
  const { database = new SqliteDatabase(options) } = options;
  try {
    await database.write(() => {
      database.run("UPDATE shard SET owner = NULL");
      database.run("DELETE FROM replica");
    });
    await dropStaged(database);
  } catch (error) {
    // Whoever tries again is not to find that another process has it.
    database.close();
    throw error;
  }
  const wakeups = new Wakeups();
  const bounds = { feedLength, feedSize };
  const shards = new SqliteShards(database, {
    now,
    wakeups,
    ...bounds,
    completedLabel: completed,
    onUnreadable,
  });
  const query = new SqliteQuery(database, wakeups, completed, onUnreadable);
  const manifests = new SqliteManifests(database, wakeups, bounds);
  const events = new SqliteEvents(database, wakeups, now);
  return {
    membership: createMembership(database, now),
    shards: settledReads(database, shards, SHARD_READS),
    query: settledReads(database, query, QUERY_READS),
    manifests: settledReads(database, manifests, ["get", "list"]),
    events: settledReads(database, events, ["depth", "oldest", "deliveries", "delivery"]),
    blobs: settledReads(database, createBlobs(database), ["getBlob"]),
    async ping() {
      database.get("SELECT 1");
    },
    durability: () => durability,
    async clear() {
      await database.write(() => {
        for (const table of DATA_TABLES) database.run(`DELETE FROM ${table}`);
        database.setCounter("floor", database.next("version"));
      });
      wakeups.wakeAll();
    },
    close() {
      database.close();
      wakeups.wakeAll();
      return Promise.resolve();
    },
  };
}

function createMembership(database: SqliteDatabase, now: () => number): Membership {
  const leaseOf = (shard: number) => database.get("SELECT * FROM shard WHERE shard = ?", shard);
  const replicas = () => {
    const sql = "SELECT name FROM replica WHERE until > ? ORDER BY name";
    return database.all(sql, now()).map(({ name }) => String(name));
  };
  return {
    now: () => Promise.resolve(now()),
    async shardCount(wish) {
      const known = database.counter("shards");
      if (known > 0) return known;
      return await database.write(() =>
        database.counter("shards") || database.setCounter("shards", wish)
      );
    },
    async heartbeat(replica, ttlMs) {
      const sql = "INSERT OR REPLACE INTO replica VALUES (?, ?)";
      await database.write(() => database.run(sql, replica, now() + ttlMs));
      return { replicas: replicas(), now: now() };
    },
    leave: (replica) =>
      database.write(() => {
        database.run("DELETE FROM replica WHERE name = ?", replica);
        database.run("UPDATE shard SET owner = NULL WHERE owner = ?", replica);
      }),
    async replicas() {
      return replicas();
    },
    acquire: (shard, replica, ttlMs) =>
      database.write(() => {
        const row = leaseOf(shard);
        const owner = row?.["owner"] ?? null;
        const isHeld = owner !== null && Number(row?.["until"]) > now();
        if (isHeld && owner !== replica) return undefined;
        const epoch = Number(row?.["epoch"] ?? 0) + 1;
        database.run(
          `INSERT INTO shard VALUES (?1, ?2, ?3, ?4, '')
           ON CONFLICT (shard) DO UPDATE SET epoch = ?2, owner = ?3, until = ?4`,
          shard,
          epoch,
          replica,
          now() + ttlMs,
        );
        const isExpired = owner !== null && owner !== replica;
        return { shard, epoch, ...(isExpired && { expiredAt: Number(row?.["until"]) }) };
      }),
    renew: (leases, replica, ttlMs) =>
      database.write(() =>
        leases.filter(({ shard, epoch }) => {
          const sql = "UPDATE shard SET until = ? WHERE shard = ? AND epoch = ? AND owner = ?";
          return database.run(sql, now() + ttlMs, shard, epoch, replica) === 0;
        }).map(({ shard }) => shard)
      ),
    async release({ shard, epoch }) {
      const sql = "UPDATE shard SET owner = NULL WHERE shard = ? AND epoch = ?";
      await database.write(() => database.run(sql, shard, epoch));
    },
  };
}

function createBlobs(database: SqliteDatabase): BlobStore {
  return {
    async putBlob(key, value) {
      await database.write(() => {
        database.run("DELETE FROM blob WHERE key = ?", key);
        database.run("INSERT INTO blob VALUES (?, 0, ?)", key, value);
      });
    },
    async appendBlob(key, value, maxBytes) {
      await database.write(() => {
        const last = database.get(
          "SELECT start + length(piece) AS size FROM blob WHERE key = ? ORDER BY start DESC LIMIT 1",
          key,
        );
        const size = Number(last?.["size"] ?? 0);
        const piece = value.subarray(0, Math.max(0, maxBytes - size));
        if (last !== undefined && piece.length === 0) return;
        // An empty piece is replaced by the next one.
        database.run("INSERT OR REPLACE INTO blob VALUES (?, ?, ?)", key, size, piece);
      });
    },
    async getBlob(key) {
      const rows = database.all("SELECT piece FROM blob WHERE key = ? ORDER BY start", key);
      if (rows.length === 0) return undefined;
      return new Uint8Array(Buffer.concat(rows.map(({ piece }) => piece as Uint8Array)));
    },
    async removeBlobs(prefix) {
      // Up to the last character that there is, so that only these keys are looked at.
      const sql = "DELETE FROM blob WHERE key BETWEEN ?1 AND ?1 || char(0x10ffff)";
      await database.write(() => database.run(sql, prefix));
    },
  };
}
