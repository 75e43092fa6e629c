// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/**
 * The archive in a SQLite file of its own, which one process has open. Objects are compressed off the event loop, and
 * large ones are written before the rows that name them, so that no transaction takes long.
 */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { nextTurn } from "../../platform/clock.ts";
import { SqliteFile, type SqliteFileOptions } from "../../platform/sqlite/sqlite_file.ts";
import type {
  Archive,
  ArchivedEntry,
  ArchivedWorkflow,
  ArchivePage,
  ArchiveQuery,
  CreatedCounts,
  DayCount,
  ExpiredPage,
  ExpiryPosition,
  RetentionRule,
} from "../port.ts";
import { rangesOf } from "../created.ts";
import {
  beginningOf,
  beginOfDay,
  checkCount,
  checkQuery,
  comparePositions,
  expiryOf,
  isExpired,
  matchesEntry,
  MAX_LIMIT,
  MAX_PUT,
  MAX_UIDS,
  MOST_DAY_COUNTS,
  positionOf,
} from "../query.ts";
import { ListWalk } from "./list_walk.ts";
import { type PackedObject, packObject, type StoredObject, unpackObject } from "./objects.ts";
import { ENTRY_COLUMNS, entryOf, type NewRow, RowWriter } from "./rows.ts";
import { MIGRATIONS } from "./schema.ts";

export interface SqliteArchiveOptions extends SqliteFileOptions {
  /** Names of the parameters by which lists may filter. */
  indexedParameters?: readonly string[];
}

interface WithObject {
  row: number;
  object: PackedObject;
}

/** Name of the file in its folder, unlike that of a store's: both may have one folder. */
const FILE = "archive.db";

/** Most bytes of objects that one transaction writes; a single object may have more. */
const MAX_WRITE_BYTES = 2 ** 21;
/** Most rows that one transaction removes. */
const REMOVED_AT_ONCE = 100;
/** Most rows that one search for expired rows examines. */
const MAX_EXAMINED = 5_000;

/** Tells whether a folder has an archive. */
export function hasSqliteArchive(folder: string): boolean {
  return existsSync(join(folder, FILE));
}

/** Opens the archive in a folder. @throws {Problem} FailedPrecondition, Unavailable: see `SqliteFile` */
export function openSqliteArchive(options: SqliteArchiveOptions): Archive {
  return new SqliteArchive(options);
}

class SqliteArchive implements Archive {
  readonly #file: SqliteFile;
  readonly #indexedParameters: ReadonlySet<string>;
  #lastRow: number;
  /** Ends when the last write has ended: writes follow one another. */
  #writes: Promise<unknown> = Promise.resolve();

  constructor(options: SqliteArchiveOptions) {
    const content = { file: FILE, what: "archive", migrations: MIGRATIONS };
    this.#file = new SqliteFile(options, content);
    this.#indexedParameters = new Set(options.indexedParameters);
    this.#lastRow = Number(this.#file.get("SELECT max(row) AS row FROM archived")?.["row"] ?? 0);
    // Objects of a write that was cut off: no row names them.
    this.#file.transaction(() => this.#file.run("DELETE FROM object WHERE row > ?", this.#lastRow));
  }

  async put(rows: readonly ArchivedWorkflow[]): Promise<void> {
    checkCount("rows", rows.length, MAX_PUT);
    const packed: { workflow: ArchivedWorkflow; object: PackedObject }[] = [];
    for (const workflow of rows) {
      packed.push({ workflow, object: await packObject(workflow.object) });
    }
    await this.#inTurn(() => this.#write(packed));
  }

  async #write(packed: { workflow: ArchivedWorkflow; object: PackedObject }[]): Promise<void> {
    const rows = packed.map(({ workflow, object }): NewRow & WithObject => ({
      row: ++this.#lastRow,
      workflow,
      object,
      template: object.template,
    }));
    try {
      const rest = await this.#writeLargeObjects(rows);
      this.#file.transaction(() => {
        this.#putObjects(rest);
        const writer = new RowWriter(this.#file);
        for (const row of rows) if (!writer.put(row)) this.#dropObjects([row]);
        writer.finish();
      });
    } catch (error) {
      if (!this.#file.isClosed) this.#file.transaction(() => this.#dropObjects(rows));
      throw error;
    }
  }

  /** Writes objects until those that are left are small together; returns these. */
  async #writeLargeObjects<T extends WithObject>(rows: readonly T[]): Promise<T[]> {
    let waiting: T[] = [];
    let size = 0;
    for (const row of rows) {
      waiting.push(row);
      size += row.object.size;
      if (size < MAX_WRITE_BYTES) continue;
      const now = waiting;
      this.#file.transaction(() => this.#putObjects(now));
      [waiting, size] = [[], 0];
      await nextTurn();
    }
    return waiting;
  }

  #dropObjects(rows: readonly { row: number }[]): void {
    for (const { row } of rows) this.#file.run("DELETE FROM object WHERE row = ?", row);
  }

  #putObjects(rows: readonly WithObject[]): void {
    for (const { row, object: { brief, at, large } } of rows) {
      this.#file.run("INSERT INTO object VALUES (?, ?, ?, ?)", row, brief, at, large);
    }
  }

  async get(uid: string): Promise<ArchivedWorkflow | undefined> {
    const row = this.#file.get(`SELECT ${ENTRY_COLUMNS} FROM archived WHERE uid = ?`, uid);
    return row && await this.#load(row, entryOf(row), {});
  }

  async findByName(namespace: string, name: string): Promise<ArchivedWorkflow | undefined> {
    const { items: [item] } = await this.list({
      namespace,
      name: { value: name, match: "exact" },
      limit: 1,
    });
    return item;
  }

  async list(query: ArchiveQuery): Promise<ArchivePage> {
    checkQuery(query, this.#indexedParameters);
    const items: ArchivedWorkflow[] = [];
    let [examined, size] = [0, 0];
    const after = beginningOf(query);
    for await (const { found, ...slice } of new ListWalk(this.#file, query).slices(after)) {
      for (const { row, entry } of found) {
        const last = items.at(-1);
        if (
          last !== undefined &&
          (items.length === query.limit || size >= (query.maxSize ?? Infinity))
        ) {
          return { items, next: positionOf(last) };
        }
        const item = await this.#load(row, entry, query) ?? await this.#reload(entry, query);
        if (item === undefined) continue;
        items.push(item);
        size += item.object.length;
      }
      examined += slice.examined;
      if (slice.last !== undefined && examined >= (query.maxScan ?? Infinity)) {
        return { items, next: slice.last };
      }
    }
    return { items };
  }

  /** A row of a list, as it is now; undefined if it is not of the list any more. */
  async #reload(entry: ArchivedEntry, query: ArchiveQuery): Promise<ArchivedWorkflow | undefined> {
    const row = this.#file.get(`SELECT ${ENTRY_COLUMNS} FROM archived WHERE uid = ?`, entry.uid);
    const now = row && entryOf(row);
    if (now === undefined || !matchesEntry(now, query)) return undefined;
    return comparePositions(positionOf(now), positionOf(entry)) === 0
      ? await this.#load(row ?? {}, now, query)
      : undefined;
  }

  /** A row with its object; undefined if it has been removed or replaced since it was read. */
  async #load(
    row: { row?: unknown; edition?: unknown },
    entry: ArchivedEntry,
    { withoutObjects, withoutNodes }: Pick<ArchiveQuery, "withoutObjects" | "withoutNodes">,
  ): Promise<ArchivedWorkflow | undefined> {
    const workflow = { ...entry, edition: Number(row.edition), object: "" };
    if (withoutObjects === true) return workflow;
    const stored = this.#file.get(
      `SELECT brief, at, ${
        withoutNodes === true ? "'' AS large" : "large"
      } FROM object WHERE row = ?`,
      Number(row.row),
    ) as unknown as StoredObject | undefined;
    if (stored === undefined) return undefined;
    return { ...workflow, object: await unpackObject(stored, withoutNodes === true) };
  }

  async editions(uids: readonly string[]): Promise<Map<string, number>> {
    checkCount("uids", uids.length, MAX_UIDS);
    const rows = this.#file.all(
      "SELECT uid, edition FROM archived WHERE uid IN (SELECT value FROM json_each(?))",
      JSON.stringify(uids),
    );
    return new Map(rows.map(({ uid, edition }) => [String(uid), Number(edition)]));
  }

  async remove(uids: readonly string[]): Promise<void> {
    checkCount("uids", uids.length, MAX_UIDS);
    for (let first = 0; first < uids.length; first += REMOVED_AT_ONCE) {
      await this.#inTurn(() => {
        this.#file.transaction(() => {
          const writer = new RowWriter(this.#file);
          for (const uid of uids.slice(first, first + REMOVED_AT_ONCE)) writer.remove(uid);
          writer.finish();
        });
      });
      await nextTurn();
    }
  }

  async expired(rule: RetentionRule, limit: number, after?: ExpiryPosition): Promise<ExpiredPage> {
    checkCount("rows", limit, MAX_LIMIT);
    const phase = rule.phases?.length === 1 ? rule.phases[0] : undefined;
    const rows = this.#file.all(
      `SELECT ${ENTRY_COLUMNS} FROM archived
       WHERE ${
        phase === undefined ? "true" : "phase = ?"
      } AND (finished_at, uid) > (?, ?) AND finished_at < ?
       ORDER BY finished_at, uid LIMIT ?`,
      ...(phase === undefined ? [] : [phase]),
      after?.finishedAt ?? -8.64e15,
      after?.uid ?? "",
      rule.finishedBefore,
      MAX_EXAMINED,
    );
    const items: ArchivedEntry[] = [];
    for (const row of rows) {
      const entry = entryOf(row);
      if (isExpired(entry, rule)) items.push(entry);
      if (items.length === limit) return { items, next: expiryOf(entry) };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < MAX_EXAMINED) return { items };
    return { items, next: expiryOf(entryOf(last)) };
  }

  async labelKeys(namespace: string | undefined, limit: number): Promise<string[]> {
    // From key to key, however many values each has.
    const next = "SELECT min(key) FROM term WHERE kind = 'l' AND namespace = ?1 AND key >";
    return this.#file.all(
      `WITH RECURSIVE known (key) AS (
         SELECT (${next}= '') UNION ALL SELECT (${next} known.key) FROM known WHERE key IS NOT NULL
       ) SELECT key FROM known WHERE key IS NOT NULL LIMIT ?2`,
      namespace ?? "",
      limit,
    ).map(({ key }) => String(key));
  }

  async labelValues(namespace: string | undefined, key: string, limit: number): Promise<string[]> {
    return this.#file.all(
      "SELECT value FROM term WHERE kind = 'l' AND namespace = ? AND key = ? ORDER BY value LIMIT ?",
      namespace ?? "",
      key,
      limit,
    ).map(({ value }) => String(value));
  }

  async dayCounts(
    from: string,
    to: string,
    namespace?: string,
    limit = MOST_DAY_COUNTS,
  ): Promise<DayCount[]> {
    beginOfDay(from, "from");
    beginOfDay(to, "to");
    return this.#file.all(
      `SELECT * FROM day_count WHERE day BETWEEN ? AND ? AND ${
        namespace === undefined ? "true" : "namespace = ?"
      } ORDER BY day DESC, namespace, phase, template LIMIT ?`,
      from,
      to,
      ...(namespace === undefined ? [] : [namespace]),
      limit,
    ).map((row) => ({
      day: String(row["day"]),
      namespace: String(row["namespace"]),
      phase: String(row["phase"]),
      template: String(row["template"]),
      count: Number(row["count"]),
      durationMs: Number(row["duration"]),
    }));
  }

  async createdCounts(bounds: readonly number[], namespace = ""): Promise<CreatedCounts> {
    const phases: Record<string, number[]> = {};
    const spans = bounds.length - 1;
    for (let span = 0; span < spans; span++) {
      for (const { unit, from, to } of rangesOf(bounds[span] ?? 0, bounds[span + 1] ?? 0)) {
        const rows = this.#file.all(
          `SELECT phase, sum(count) AS count FROM created
           WHERE namespace = ? AND unit = ? AND at >= ? AND at < ? GROUP BY phase`,
          namespace,
          unit,
          from,
          to,
        );
        for (const { phase, count } of rows) {
          const counts = phases[String(phase)] ??= Array(spans).fill(0);
          counts[span] = (counts[span] ?? 0) + Number(count);
        }
      }
    }
    const sql = namespace === ""
      ? "SELECT min(created_at) AS oldest FROM archived"
      : "SELECT min(created_at) AS oldest FROM archived WHERE namespace = ?";
    const oldest = this.#file.get(sql, ...(namespace === "" ? [] : [namespace]))?.["oldest"];
    return { phases, ...(typeof oldest === "number" && { oldest }) };
  }

  async noteBack(uids: readonly string[]): Promise<void> {
    await this.#note(uids, "INSERT OR REPLACE INTO live SELECT uid, 1 FROM archived WHERE uid IN");
  }

  async noteLeft(uids: readonly string[], isCertain = false): Promise<void> {
    await this.#note(uids, `DELETE FROM live WHERE ${isCertain ? "true" : "back = 0"} AND uid IN`);
  }

  async #note(uids: readonly string[], statement: string): Promise<void> {
    checkCount("uids", uids.length, MAX_UIDS);
    const sql = `${statement} (SELECT value FROM json_each(?))`;
    await this.#inTurn(() => {
      this.#file.transaction(() => this.#file.run(sql, JSON.stringify(uids)));
    });
  }

  async notedLive(limit: number, after = ""): Promise<ArchivedEntry[]> {
    checkCount("rows", limit, MAX_LIMIT);
    return this.#file.all(
      `SELECT ${ENTRY_COLUMNS} FROM archived WHERE uid IN (SELECT uid FROM live WHERE uid > ? ORDER BY uid LIMIT ?)
       ORDER BY uid`,
      after,
      limit,
    ).map(entryOf);
  }

  async ping(): Promise<void> {
    this.#file.get("SELECT 1");
  }

  async close(): Promise<void> {
    await this.#writes;
    this.#file.close();
  }

  /** Writes in its turn; resolves when that is durable. */
  #inTurn(write: () => void | Promise<void>): Promise<void> {
    const done = this.#writes.then(write).then(() => this.#file.settle());
    this.#writes = done.then(() => this.#file.tidy()).catch(() => {});
    return done;
  }
}
