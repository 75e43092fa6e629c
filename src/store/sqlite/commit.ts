/** Commits of the SQLite adapter. Everything here runs inside a write of the database. */
import { indexTerms, placeOf, WAIT_TERM } from "../list_query.ts";
import type { ActorChange, IndexEntry, ShardCommit } from "../port.ts";
import { ActorExists, StaleEpoch } from "../port.ts";
import type { SqliteDatabase } from "./database.ts";
import { type FeedBounds, type NewChange, publishChange } from "./feed.ts";
import { parseEntry } from "./index_entry.ts";
import {
  type ActorRow,
  dropPart,
  leaveRemains,
  putParts,
  readAllParts,
  readParts,
  readPartsWithoutNodes,
} from "./parts.ts";
import type { StagedParts } from "./staged_parts.ts";

/** Expired answers are removed each time this many commits and answers were written. */
const SWEEP_EVERY = 64;

export interface CommitOptions extends FeedBounds {
  now: () => number;
  /** The label that says whether a workflow has ended. */
  completedLabel: string;
}

/** A stored actor before a commit changes it. */
interface StoredRow {
  row: ActorRow;
  /** Its index entry as it is stored; null if it has none. */
  entry: string | null;
}

export class CommitWriter {
  readonly #database: SqliteDatabase;
  readonly #options: CommitOptions;
  /** Commits and answers since expired answers were removed. */
  #written = SWEEP_EVERY;

  constructor(database: SqliteDatabase, options: CommitOptions) {
    this.#database = database;
    this.#options = options;
  }

  /**
   * Writes a commit. If it refuses, nothing was written.
   * @param staged parts that were written before
   * @returns the new version of each changed actor
   * @throws {StaleEpoch}
   * @throws {ActorExists}
   */
  write(commit: ShardCommit, staged?: StagedParts): Record<string, string> {
    this.#assertOwned(commit);
    const found = this.#findActors(commit.actors);
    const versions: Record<string, string> = {};
    for (const change of commit.actors) {
      // What an earlier change of this commit has left must be looked up again.
      const before = found.has(change.id) ? found.get(change.id) : this.#find(change.id);
      found.delete(change.id);
      const version = change.remove === true
        ? before && this.#removeActor(change, before)
        : this.#writeActor(change, before, staged?.get(change.id));
      if (version !== undefined) versions[change.id] = version;
    }
    this.#changeShard(commit);
    this.#storeAnswers(commit, versions);
    this.#written += 1 + commit.answers.length;
    if (this.#written >= SWEEP_EVERY) this.#sweepAnswers();
    return versions;
  }

  /** Removes more than came, so that they never pile up, but not all at once: a day may have left a million. */
  #sweepAnswers(): void {
    const sql = `DELETE FROM answer WHERE (shard, key) IN
      (SELECT shard, key FROM answer WHERE expires_at <= ? ORDER BY expires_at LIMIT ?)`;
    this.#database.run(sql, this.#options.now(), 2 * this.#written);
    this.#written = 0;
  }

  #assertOwned({ shard, epoch, follows }: ShardCommit): void {
    const sql = `SELECT epoch, (SELECT text FROM outbox WHERE shard = ?1 AND id = ?2) AS mark
      FROM shard WHERE shard = ?1`;
    const found = this.#database.get(sql, shard, follows?.row ?? null);
    if (found?.["epoch"] !== epoch) throw new StaleEpoch(shard);
    if (follows !== undefined && (found["mark"] ?? "") !== follows.text) {
      throw new StaleEpoch(shard, `Shard ${shard} has lost a commit`);
    }
  }

  /** The actors that a commit changes, by id. @throws {ActorExists} */
  #findActors(changes: ActorChange[]): Map<string, StoredRow | undefined> {
    const found = new Map<string, StoredRow | undefined>();
    const removed = new Map<string, boolean>();
    for (const { id, create, remove = false } of changes) {
      if (!found.has(id)) found.set(id, this.#find(id));
      const exists = removed.has(id) ? !removed.get(id) : found.get(id) !== undefined;
      if (create === true && exists) throw new ActorExists(id);
      removed.set(id, remove);
    }
    return found;
  }

  #find(id: string): StoredRow | undefined {
    const found = this.#database.get("SELECT row, index_entry FROM actor WHERE id = ?", id);
    if (found === undefined) return undefined;
    const entry = found["index_entry"] ?? null;
    return { row: found["row"] ?? null, entry: entry === null ? null : String(entry) };
  }

  #removeActor(change: ActorChange, { row, entry }: StoredRow): string {
    const database = this.#database;
    const { id, remains } = change;
    const before = remains === undefined
      ? readAllParts(database, row)
      : readPartsWithoutNodes(database, row);
    if (remains === undefined) {
      database.run("DELETE FROM part WHERE actor = ?", row);
      database.run("DELETE FROM actor WHERE row = ?", row);
    } else leaveRemains(database, row, remains);
    if (entry !== null) this.#fileUnder(id, this.#filed(id, entry), undefined);
    const version = database.next("version");
    this.#announce(change, { type: "DELETED", id, version, put: [], drop: [], before, entry });
    return String(version);
  }

  #writeActor(
    change: ActorChange,
    stored: StoredRow | undefined,
    staged: ActorRow | undefined,
  ): string {
    const { id, put, drop, index } = change;
    const database = this.#database;
    const version = database.next("version");
    const entry = index === undefined ? stored?.entry ?? null : JSON.stringify(index);
    const row = stored === undefined
      ? this.#insertActor(id, version, entry, index, staged)
      : this.#updateActor(id, version, entry, index, stored);
    const before = stored === undefined || change.silent === true
      ? {}
      : readParts(database, row, [...put.map(({ key }) => key), ...drop]);
    for (const key of drop) dropPart(database, row, key);
    if (stored !== undefined || staged === undefined) putParts(database, row, put);
    const type = stored === undefined ? "ADDED" : "MODIFIED";
    this.#announce(change, { type, id, version, put, drop, before, entry });
    return String(version);
  }

  #insertActor(
    id: string,
    version: number,
    entry: string | null,
    index: IndexEntry | undefined,
    staged: ActorRow | undefined,
  ): ActorRow {
    // With a row of null SQLite chooses one.
    const sql = `INSERT INTO actor (row, id, version, uid, index_entry) VALUES (?, ?, ?, ?, ?)
      ON CONFLICT (row) DO UPDATE SET id = excluded.id, version = excluded.version, uid = excluded.uid,
        index_entry = excluded.index_entry
      RETURNING row`;
    const uid = index?.uid ?? null;
    const row = this.#database.get(sql, staged ?? null, id, version, uid, entry)?.["row"] ?? null;
    if (index !== undefined) this.#fileUnder(id, undefined, index);
    return row;
  }

  #updateActor(
    id: string,
    version: number,
    entry: string | null,
    index: IndexEntry | undefined,
    stored: StoredRow,
  ): ActorRow {
    const { row } = stored;
    if (index === undefined || entry === stored.entry) {
      this.#database.run("UPDATE actor SET version = ? WHERE row = ?", version, row);
      return row;
    }
    const filed = stored.entry === null ? undefined : this.#filed(id, stored.entry);
    const sql = "UPDATE actor SET version = ?, index_entry = ? WHERE row = ?";
    this.#database.run(sql, version, entry, row);
    if (index.uid !== filed?.uid) {
      this.#database.run("UPDATE actor SET uid = ? WHERE row = ?", index.uid, row);
    }
    this.#fileUnder(id, filed, index);
    return row;
  }

  /** The entry under whose terms an actor is filed; undefined if it is filed nowhere. */
  #filed(id: string, entry: string): IndexEntry | undefined {
    const index = parseEntry(entry);
    // Nothing tells under which terms it was filed.
    if (index === undefined) this.#database.run("DELETE FROM term WHERE id = ?", id);
    return index;
  }

  /** Files an actor under the terms of its index entry. */
  #fileUnder(id: string, before: IndexEntry | undefined, after: IndexEntry | undefined): void {
    const database = this.#database;
    const old = this.#termsOf(before);
    const wanted = this.#termsOf(after);
    for (const [term, place] of old) {
      if (wanted.get(term) === place) continue;
      const sql = "DELETE FROM term WHERE term = ? AND created_at = ? AND id = ?";
      if (database.run(sql, term, place, id) > 0) continue;
      // The entry is damaged although it can be read: it was filed under other terms.
      database.run("DELETE FROM term WHERE id = ?", id);
      return this.#fileUnder(id, undefined, after);
    }
    for (const [term, place] of wanted) {
      if (old.get(term) === place) continue;
      database.run("INSERT INTO term VALUES (?, ?, ?)", term, place, id);
    }
  }

  /** The terms of an entry, with its place in each. */
  #termsOf(entry: IndexEntry | undefined): Map<string, number> {
    if (entry === undefined) return new Map();
    const placeIn = (term: string) => placeOf(entry, { waiting: term === WAIT_TERM });
    const terms = indexTerms(entry, this.#options.completedLabel);
    return new Map(terms.map((term) => [term, placeIn(term)]));
  }

  /** Puts a change into the feed, unless it is silent. */
  #announce({ silent }: ActorChange, change: NewChange): void {
    if (silent !== true) publishChange(this.#database, change, this.#options);
  }

  #changeShard(
    { shard, outboxDrop, outboxPut, timersClear, timersSet, cursor }: ShardCommit,
  ): void {
    const database = this.#database;
    for (const id of outboxDrop) {
      database.run("DELETE FROM outbox WHERE shard = ? AND id = ?", shard, id);
    }
    for (const [id, text] of Object.entries(outboxPut)) {
      database.run("INSERT OR REPLACE INTO outbox VALUES (?, ?, ?)", shard, id, text);
    }
    for (const id of timersClear) {
      database.run("DELETE FROM timer WHERE shard = ? AND id = ?", shard, id);
    }
    for (const [id, due] of Object.entries(timersSet)) {
      database.run("INSERT OR REPLACE INTO timer VALUES (?, ?, ?)", shard, id, due);
    }
    if (cursor !== undefined) {
      database.run("UPDATE shard SET cursor = ? WHERE shard = ?", cursor, shard);
      database.run("DELETE FROM mail WHERE shard = ? AND seq <= ?", shard, Number(cursor));
    }
  }

  #storeAnswers({ shard, answers }: ShardCommit, versions: Record<string, string>): void {
    const sql = "INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?, ?, ?)";
    for (const { key, fingerprint, answer, expiresAt, actor, version: given } of answers) {
      const version = versions[actor ?? ""] ?? given ?? null;
      const text = JSON.stringify(answer);
      this.#database.run(sql, shard, key, fingerprint, text, expiresAt, version);
    }
  }
}
