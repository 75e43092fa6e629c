/** Mailboxes, commits and actors of the SQLite adapter. */
import type { Json } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import { indexTerms, isIndexEntry } from "./list_query.ts";
import { mailboxEntry } from "./stored_command.ts";
import { takeTurns } from "./take_turns.ts";
import type { ActorChange, Answer, Change, IndexEntry, ShardCommit, ShardStore } from "./port.ts";
import { ActorExists, StaleEpoch } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import { publishChange } from "./sqlite_feed.ts";
import {
  dropRemains,
  isBeyond,
  leaveRemains,
  readAllParts,
  readPartsWithoutNodes,
  readRemains,
  readWholeActor,
} from "./sqlite_parts.ts";
import type { Wakeups } from "./wakeups.ts";

export interface SqliteShardsOptions {
  now: () => number;
  wakeups: Wakeups;
  feedLength: number;
  /** The label that says whether a workflow has ended. */
  completedLabel: string;
  onUnreadable: ReportUnreadable;
}

type Hear = (request: string, answer: Json) => void;

/** Every so many commits, expired answers are removed. */
const SWEEP_EVERY = 256;

export function createSqliteShards(
  database: SqliteDatabase,
  { now, wakeups, feedLength, completedLabel, onUnreadable }: SqliteShardsOptions,
): ShardStore {
  const listeners = new Map<string, Set<Hear>>();
  let commits = 0;
  let reads = 0;

  function apply(commit: ShardCommit): Record<string, string> {
    const row = database.get("SELECT epoch FROM shard WHERE shard = ?", commit.shard);
    if (row?.["epoch"] !== commit.epoch) throw new StaleEpoch(commit.shard);
    assertFollows(commit);
    assertCreatable(commit.actors);
    const versions: Record<string, string> = {};
    for (const change of commit.actors) {
      const version = changeActor(change);
      if (version !== undefined) versions[change.id] = version;
    }
    changeShard(commit, versions);
    if (commits++ % SWEEP_EVERY === 0) {
      database.run("DELETE FROM answer WHERE expires_at <= ?", now());
    }
    return versions;
  }

  function assertFollows({ shard, follows }: ShardCommit): void {
    if (follows === undefined) return;
    const sql = "SELECT text FROM outbox WHERE shard = ? AND id = ?";
    const text = database.get(sql, shard, follows.row)?.["text"] ?? "";
    if (text !== follows.text) throw new StaleEpoch(shard, `Shard ${shard} has lost a commit`);
  }

  function assertCreatable(changes: ActorChange[]): void {
    const exists = new Map<string, boolean>();
    for (const { id, create, remove } of changes) {
      if (create === true) {
        const stored = () => database.get("SELECT 1 FROM actor WHERE id = ?", id) !== undefined;
        if (exists.get(id) ?? stored()) throw new ActorExists(id);
      }
      exists.set(id, remove !== true);
    }
  }

  function changeActor(change: ActorChange): string | undefined {
    const { id } = change;
    const before = database.get("SELECT row, index_entry FROM actor WHERE id = ?", id);
    const oldIndex = before && parseEntry(before["index_entry"]);
    if (before !== undefined && oldIndex === undefined && before["index_entry"] !== null) {
      // Nothing tells what it was filed under.
      database.run("DELETE FROM term WHERE id = ?", id);
    }
    if (change.remove === true) {
      if (before === undefined) return undefined;
      const row = before["row"] ?? null;
      const { remains } = change;
      const texts = remains === undefined
        ? readAllParts(database, row)
        : readPartsWithoutNodes(database, row);
      if (remains === undefined) {
        database.run("DELETE FROM part WHERE actor = ?", row);
        database.run("DELETE FROM actor WHERE row = ?", row);
      } else leaveRemains(database, row, remains);
      fileUnder(id, oldIndex, undefined);
      return announce(change, "DELETED", oldIndex, database.next("version"), texts);
    }
    const index = change.index ?? oldIndex;
    const version = database.next("version");
    let actor = before?.["row"] ?? null;
    if (actor === null) {
      const uid = index?.uid ?? null;
      const text = index === undefined ? null : JSON.stringify(index);
      actor = database.get(
        "INSERT INTO actor (id, version, uid, index_entry) VALUES (?, ?, ?, ?) RETURNING row",
        id,
        version,
        uid,
        text,
      )?.["row"] ?? null;
    } else if (change.index === undefined) {
      database.run("UPDATE actor SET version = ? WHERE row = ?", version, actor);
    } else {
      const { index } = change;
      const sql = "UPDATE actor SET version = ?, uid = ?, index_entry = ? WHERE row = ?";
      database.run(sql, version, index.uid, JSON.stringify(index), actor);
    }
    const texts = before && change.silent !== true ? textsBefore(change, actor) : undefined;
    for (const key of change.drop) {
      database.run("DELETE FROM part WHERE actor = ? AND key = ?", actor, key);
    }
    for (const [key, text] of Object.entries(change.put)) {
      database.run("INSERT OR REPLACE INTO part VALUES (?, ?, ?)", actor, key, text);
    }
    if (change.index !== undefined) fileUnder(id, oldIndex, change.index);
    return announce(change, before === undefined ? "ADDED" : "MODIFIED", index, version, texts);
  }

  function textsBefore({ put, drop }: ActorChange, actor: Row[string]): Record<string, string> {
    const sql = "SELECT key, text FROM part WHERE actor = ? AND key = ?";
    return Object.assign(
      {},
      ...[...Object.keys(put), ...drop].map((key) => textsOf(sql, actor, key)),
    );
  }

  function textsOf(sql: string, ...values: Row[string][]): Record<string, string> {
    const rows = database.all(sql, ...values);
    return Object.fromEntries(rows.map(({ key, text }) => [String(key), String(text)]));
  }

  function fileUnder(
    id: string,
    before: IndexEntry | undefined,
    after: IndexEntry | undefined,
  ): void {
    const place = (entry: IndexEntry) => new Set(indexTerms(entry, completedLabel));
    const same = before !== undefined && after?.createdAt === before.createdAt;
    const old = before === undefined ? new Set<string>() : place(before);
    const wanted = after === undefined ? new Set<string>() : place(after);
    for (const term of old) {
      if (same && wanted.has(term)) continue;
      const sql = "DELETE FROM term WHERE term = ? AND created_at = ? AND id = ?";
      if (database.run(sql, term, before?.createdAt ?? 0, id) > 0) continue;
      // The entry is damaged, though it can be read: it was filed under something else.
      database.run("DELETE FROM term WHERE id = ?", id);
      return fileUnder(id, undefined, after);
    }
    for (const term of wanted) {
      if (same && old.has(term)) continue;
      database.run("INSERT INTO term VALUES (?, ?, ?)", term, after?.createdAt ?? 0, id);
    }
  }

  function announce(
    change: ActorChange,
    type: Change["type"],
    index: IndexEntry | undefined,
    version: number,
    before?: Record<string, string>,
  ): string {
    if (change.silent !== true) {
      const { put, drop } = type === "DELETED" ? { put: {}, drop: [] } : change;
      const texts = before && Object.keys(before).length > 0 ? { before } : {};
      publishChange(
        database,
        { type, id: change.id, version, put, drop, ...texts, index },
        feedLength,
      );
    }
    return String(version);
  }

  function changeShard({ shard, ...commit }: ShardCommit, versions: Record<string, string>): void {
    for (const id of commit.outboxDrop) {
      database.run("DELETE FROM outbox WHERE shard = ? AND id = ?", shard, id);
    }
    for (const [id, text] of Object.entries(commit.outboxPut)) {
      database.run("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", shard, id, text);
    }
    for (const id of commit.timersClear) {
      database.run("DELETE FROM timer WHERE shard = ? AND id = ?", shard, id);
    }
    for (const [id, due] of Object.entries(commit.timersSet)) {
      database.run("INSERT OR REPLACE INTO timer VALUES (?, ?, ?)", shard, id, due);
    }
    for (const { key, fingerprint, answer, expiresAt, actor, version: given } of commit.answers) {
      const sql = "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?)";
      const version = versions[actor ?? ""] ?? given ?? null;
      database.run(sql, shard, key, fingerprint, JSON.stringify(answer), expiresAt, version);
    }
    if (commit.cursor !== undefined) {
      database.run("UPDATE shard SET cursor = ? WHERE shard = ?", commit.cursor, shard);
      const seq = Number(commit.cursor);
      database.run("DELETE FROM mail WHERE shard = ? AND seq <= ?", shard, seq);
    }
  }

  return {
    async append(entries) {
      const commands = entries.map(({ command }) => JSON.stringify(command));
      await database.write(() =>
        entries.forEach(({ shard }, index) => {
          const sql = "INSERT INTO mail VALUES (?, ?, ?)";
          database.run(sql, shard, database.next("seq"), commands[index] ?? "");
        })
      );
      for (const shard of new Set(entries.map(({ shard }) => shard))) {
        wakeups.wake(`mail:${shard}`);
      }
    },

    async readMailboxes(after, max, waitMs, signal) {
      const deadline = performance.now() + waitMs;
      const topics = after.map(({ shard }) => `mail:${shard}`);
      while (!database.isClosed) {
        const entries = [];
        for (const { shard, cursor } of takeTurns(after, reads++)) {
          if (entries.length >= max) break;
          const rows = database.all(
            "SELECT seq, command FROM mail WHERE shard = ? AND seq > ? ORDER BY seq LIMIT ?",
            shard,
            Number(cursor),
            max - entries.length,
          );
          for (const { seq, command } of rows) {
            entries.push(mailboxEntry(shard, String(seq), command, onUnreadable));
          }
        }
        const leftMs = deadline - performance.now();
        if (entries.length > 0 || leftMs <= 0 || signal.aborted) return entries;
        await wakeups.wait(topics, leftMs, signal);
      }
      return [];
    },

    async commit(commit) {
      const versions = await database.write(() => apply(commit));
      if (commit.actors.length > 0) wakeups.wake("feed");
      return { versions };
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async loadShard(shard, maxTimers = -1) {
      const cursor = database.get("SELECT cursor FROM shard WHERE shard = ?", shard)?.["cursor"];
      const outbox = database.all("SELECT id, text FROM outbox WHERE shard = ?", shard);
      const timers = database.all(
        "SELECT id, due FROM timer WHERE shard = ? ORDER BY due LIMIT ?",
        shard,
        maxTimers,
      );
      return {
        cursor: String(cursor ?? ""),
        outbox: Object.fromEntries(outbox.map(({ id, text }) => [id, String(text)])),
        timers: Object.fromEntries(timers.map(({ id, due }) => [id, Number(due)])),
      };
    },

    async loadActor(_shard, id, bounds) {
      const actor = database.get("SELECT row, version FROM actor WHERE id = ?", id);
      const row = actor?.["row"] ?? null;
      if (actor !== undefined && bounds !== undefined && isBeyond(database, row, bounds)) {
        const parts = readPartsWithoutNodes(database, row);
        return { id, version: String(actor["version"]), parts, withoutNodes: true };
      }
      const whole = actor && await readWholeActor(database, id, actor);
      return whole && { id, version: whole.version, parts: whole.parts };
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async readRemains(_shard, name, cursor, max) {
      return readRemains(database, name, cursor, max);
    },

    dropRemains: (_shard, name) => dropRemains(database, name),

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async findAnswers(shard, keys) {
      const found: Record<string, Answer> = {};
      for (const key of keys) {
        const row = database.get(
          "SELECT * FROM answer WHERE shard = ? AND key = ? AND expires_at > ?",
          shard,
          key,
          now(),
        );
        if (row === undefined) continue;
        found[key] = {
          key,
          fingerprint: String(row["fingerprint"]),
          answer: JSON.parse(String(row["answer"])) as Json,
          expiresAt: Number(row["expires_at"]),
          ...(typeof row["version"] === "string" && { version: row["version"] }),
        };
      }
      return found;
    },

    reply(replica, answers) {
      // One process has the store: whoever listens is here.
      const texts = answers.map(({ request, answer }) =>
        [request, JSON.stringify(answer)] as const
      );
      for (const hear of listeners.get(replica) ?? []) {
        queueMicrotask(() => {
          for (const [request, answer] of texts) hear(request, JSON.parse(answer) as Json);
        });
      }
      return Promise.resolve();
    },

    onReply(replica, hear, signal) {
      if (signal.aborted) return Promise.resolve();
      const hears = listeners.get(replica) ?? new Set();
      listeners.set(replica, hears.add(hear));
      signal.addEventListener("abort", () => hears.delete(hear), { once: true });
      return Promise.resolve();
    },
  };
}

/** Reads an index entry as it is stored; undefined for actors without one, and for one that cannot be read. */
export function parseEntry(text: unknown): IndexEntry | undefined {
  if (typeof text !== "string") return undefined;
  const value = parseOrUndefined(text);
  return isIndexEntry(value) ? value : undefined;
}
