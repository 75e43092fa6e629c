/** A SQLite database file that this process alone has open: its schema is brought up to date, its statements are kept. */
import { closeSync, mkdirSync, openSync, rmSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { SqliteLog, type SyncFile } from "./sqlite_log.ts";

export type Row = Record<string, SQLOutputValue>;

export interface SqliteFileOptions {
  /** Folder of the file; made when missing. */
  folder: string;
  /** always: an answered request survives a power cut. everysec: the last moments before one may be lost. @default {"always"} */
  durability?: "always" | "everysec";
  /** How long to wait for another process to release the folder, in milliseconds. @default {2_000} */
  lockTimeoutMs?: number;
  /** Waits for the disk, for tests. @default that of the runtime */
  sync?: SyncFile;
}

export interface SqliteContent {
  /** Name of the file in its folder. */
  file: string;
  /** What it holds, for messages: `store`. */
  what: string;
  /** SQL of each schema version; the first one makes version 1. A released step never changes. */
  migrations: readonly string[];
}

export class SqliteFile {
  protected readonly database: DatabaseSync;
  readonly #what: string;
  readonly #statements = new Map<string, StatementSync>();
  readonly #log: SqliteLog;
  readonly #isDurable: boolean;
  #isClosed = false;
  /** Why the file can't be used any more. */
  #fault: Problem | undefined;

  /**
   * @throws {Problem} FailedPrecondition when another process has the file open, a newer version wrote it, or only its log is
   * there; Unavailable when it can't be opened
   */
  constructor(options: SqliteFileOptions, content: SqliteContent) {
    this.#what = content.what;
    this.#isDurable = options.durability !== "everysec";
    this.database = openExclusively(options, content);
    try {
      migrate(this.database, options.folder, content);
      this.#log = new SqliteLog(this.database, join(options.folder, content.file), options.sync);
    } catch (error) {
      this.database.close();
      throw error instanceof Problem ? error : cannotOpen(options, content, error);
    }
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  all(sql: string, ...values: SQLInputValue[]): Row[] {
    return this.#guard(() => this.#statement(sql).all(...values));
  }

  get(sql: string, ...values: SQLInputValue[]): Row | undefined {
    return this.#guard(() => this.#statement(sql).get(...values));
  }

  /** Runs a statement inside a write; returns the number of rows it changed. */
  run(sql: string, ...values: SQLInputValue[]): number {
    const changes = Number(this.#statement(sql).run(...values).changes);
    let bytes = 0;
    for (const value of values) {
      if (typeof value === "string" || value instanceof Uint8Array) bytes += value.length;
    }
    this.#log.note(changes, bytes);
    return changes;
  }

  /** Does work in one transaction: all of it is done afterwards, or none of it, and after `settle` it is durable. */
  transaction<T>(work: () => T): T {
    return this.#guard(() => {
      this.assertUsable();
      this.database.exec("BEGIN IMMEDIATE");
      try {
        const value = work();
        this.database.exec("COMMIT");
        return value;
      } catch (error) {
        this.rollBack();
        throw error;
      }
    });
  }

  /** Ends a transaction that has failed. Why it has failed is what callers are told, so this never throws. */
  protected rollBack(): void {
    try {
      if (this.database.isTransaction) this.database.exec("ROLLBACK");
    } catch {
      // The next transaction fails, too, and tries this again.
    }
  }

  /**
   * Resolves when what was committed before is durable.
   * @throws {Problem} Unavailable when the disk does not say so: then nobody knows what it has, and the file can't be used any
   * more. To ask the disk again would not help: it says only once that it has failed.
   */
  async settle(): Promise<void> {
    if (this.#isDurable) await this.#orFail(() => this.#log.sync());
  }

  /**
   * Keeps the log short. Nothing may be committed from the call until it has resolved.
   * @throws {Problem} as `settle`
   */
  async tidy(): Promise<void> {
    if (this.#log.isLong && !this.#isClosed) await this.#orFail(() => this.#log.empty());
  }

  async #orFail(wait: () => Promise<void>): Promise<void> {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      await wait();
    } catch (error) {
      const told = `its disk has failed (${
        errorText(error)
      }); restart the server when it works again`;
      throw this.#fault ??= new Problem(
        ProblemCode.Unavailable,
        `The ${this.#what} cannot be used: ${told}`,
        { retryAfterSeconds: 1, mayBeDone: true, cause: error },
      );
    }
  }

  /** Makes durable what was committed, and waits for it on this thread: for the end only. */
  protected settleNow(): void {
    if (this.#fault === undefined) this.#guard(() => this.#log.syncNow());
  }

  /** Releases the folder. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#statements.clear();
    // Closing empties the log into the database. After a fault nobody knows what is in the log, so it stays as it is.
    if (this.#fault !== undefined) return;
    this.database.close();
    this.#log.close();
  }

  /** An error of SQLite as a caller is told of it: trouble with the disk or memory is Unavailable. */
  protected problemOf(error: unknown): unknown {
    if (error instanceof Problem || !TROUBLE.test(errorText(error))) return error;
    const { code, message } = unavailable(`The ${this.#what} cannot be used: ${errorText(error)}`);
    return new Problem(code, message, { retryAfterSeconds: 1, cause: error });
  }

  protected closedProblem(): Problem {
    return unavailable(`The ${this.#what} is closed`);
  }

  #statement(sql: string): StatementSync {
    this.assertUsable();
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.problemOf(error);
    }
  }

  /** @throws {Problem} Unavailable */
  protected assertUsable(): void {
    if (this.#isClosed) throw this.closedProblem();
    if (this.#fault !== undefined) throw this.#fault;
  }
}

/**
 * Rows in some order, read in portions. Intentionally not with `iterate` of a statement: on Deno, a walk that meets a page
 * that can't be read looks as if it had come to its end.
 *
 * @param size most rows of a portion
 * @param read gives the rows after the last one, at most `size`; without one the first ones
 */
export function* inPortions(
  size: number,
  read: (last: Row | undefined) => Row[],
): Generator<Row> {
  let last: Row | undefined;
  for (;;) {
    const rows = read(last);
    yield* rows;
    if (rows.length < size) return;
    last = rows.at(-1);
  }
}

/** Error texts of SQLite that mean trouble with the disk or memory, not a defect. */
const TROUBLE =
  /locked|out of memory|readonly|disk I\/O|full|unable to open|malformed|not a database/i;

function openExclusively(options: SqliteFileOptions, content: SqliteContent): DatabaseSync {
  const { folder, lockTimeoutMs = 2_000 } = options;
  const { file, what } = content;
  let database: DatabaseSync | undefined;
  try {
    makeFolder(folder);
    if (hasLoneLog(folder, file)) throw loneLog(folder, content);
    database = new DatabaseSync(join(folder, file), { timeout: lockTimeoutMs });
    // The operating system holds the lock, and drops it when the process ends, however it ends.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    // In KiB. A commit that has split a page looks at every page in the cache, so a larger one costs more than it saves.
    database.exec("PRAGMA cache_size = -8192");
    database.exec("BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    database?.close();
    if (error instanceof Problem) throw error;
    if (/database is locked/.test(String(error))) {
      throw new Problem(
        ProblemCode.FailedPrecondition,
        `The ${what} in ${folder} is in use by another process: stop that one, or use another folder`,
      );
    }
    throw cannotOpen(options, content, error);
  }
}

/**
 * Tells whether the log of a file is there without the file. SQLite would delete it and begin an empty file; beside another
 * file, it would write the pages of the log into that one.
 */
export function hasLoneLog(folder: string, file: string): boolean {
  const isFilled = (name: string) =>
    (statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0) > 0;
  // In this order: another process that is just making both makes the file first.
  return isFilled(logOf(file)) && !isFilled(file);
}

function logOf(file: string): string {
  return `${file}-wal`;
}

function loneLog(folder: string, { file, what }: SqliteContent): Problem {
  return new Problem(
    ProblemCode.FailedPrecondition,
    `The ${what} in ${folder} lacks its file ${file}, but ${logOf(file)} is there, and may hold ` +
      `what was written last: put ${file} back beside it, or move ${
        logOf(file)
      } away to begin anew`,
  );
}

/** Makes a folder and those above it. Node's own way tries for ever where the one above takes none, as /proc. */
function makeFolder(folder: string): void {
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return;
  const above = dirname(folder);
  if (above !== folder) makeFolder(above);
  try {
    mkdirSync(folder);
  } catch (error) {
    const there = statSync(folder, { throwIfNoEntry: false });
    if (there?.isFile()) {
      throw new Error(`${folder} is a file; name a folder`, { cause: error });
    }
    // Another process may have made it meanwhile.
    if (!there?.isDirectory()) throw error;
  }
}

function cannotOpen(
  { folder }: SqliteFileOptions,
  { file, what }: SqliteContent,
  error: unknown,
): Problem {
  return unavailable(`Cannot open the ${what} in ${folder}: ${openingFault(error, folder, file)}`);
}

/** Why a file can't be opened and, where its text alone doesn't say, what to do. */
function openingFault(error: unknown, folder: string, file: string): string {
  const text = errorText(error);
  if (/malformed|not a database/.test(text)) {
    return `${file} is damaged (${text}); put a backup in its place, or use another folder`;
  }
  const refusal = /disk I\/O|readonly|unable to open/.test(text)
    ? refusedAccess(folder, file)
    : undefined;
  if (refusal === undefined) return text;
  return `${refusal}; the user of the server must be able to write this folder and its files`;
}

/** What the operating system does not let us do with a file: SQLite calls all of that an error of the disk, or says only that it fails. */
function refusedAccess(folder: string, file: string): string | undefined {
  const probe = `${file}-${process.pid}`;
  try {
    for (const name of [file, logOf(file)]) {
      const path = join(folder, name);
      if (statSync(path, { throwIfNoEntry: false })) closeSync(openSync(path, "r+"));
    }
    closeSync(openSync(join(folder, probe), "wx"));
    rmSync(join(folder, probe));
    return undefined;
  } catch (error) {
    return errorText(error);
  }
}

function migrate(
  database: DatabaseSync,
  folder: string,
  { file, what, migrations }: SqliteContent,
): void {
  const tables = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'table'").all();
  if (tables.length > 0 && !tables.some(({ name }) => name === "migration")) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `${file} in ${folder} is the database of another program: use another folder`,
    );
  }
  const version = tables.length === 0 ? 0 : latestMigration(database);
  if (version > migrations.length) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `The ${what} in ${folder} was written by a newer version of Sluice (schema ${version}, this one knows ${migrations.length}); run that one again, or put back a backup from before`,
    );
  }
  if (version === migrations.length) return;
  database.exec("BEGIN IMMEDIATE");
  if (tables.length === 0) {
    database.exec(
      "CREATE TABLE migration (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
    );
  }
  const note = database.prepare("INSERT INTO migration VALUES (?, datetime('now'))");
  migrations.slice(version).forEach((sql, index) => {
    database.exec(sql);
    note.run(version + index + 1);
  });
  database.exec("COMMIT");
}

function latestMigration(database: DatabaseSync): number {
  const row = database.prepare("SELECT max(version) AS version FROM migration").get();
  return Number(row?.["version"] ?? 0);
}
