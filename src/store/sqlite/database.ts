/**
 * The SQLite connection: it opens the folder for this process alone, migrates the schema, and writes in batches. All
 * writes of one turn of the event loop form one transaction, so that they share one fsync. Each write is atomic: a job
 * refuses before it writes anything, and if one fails in another way, the batch is rolled back and each job runs in a
 * transaction of its own.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import {
  DatabaseSync,
  type SQLInputValue,
  type SQLOutputValue,
  type StatementSync,
} from "node:sqlite";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { ActorExists, StaleEpoch } from "../port.ts";
import { MIGRATIONS } from "./schema.ts";

export type Row = Record<string, SQLOutputValue>;

export interface SqliteOptions {
  /** Folder of the store; made when missing. */
  folder: string;
  /** Name of the file in it. @default {"sluice.db"} */
  file?: string;
  /** FULL: an answered request survives a power cut. NORMAL: the last moments before one may be lost. @default {"FULL"} */
  synchronous?: "FULL" | "NORMAL";
  /** How long to wait for another process to release the folder, in milliseconds. @default {2_000} */
  lockTimeoutMs?: number;
}

interface Job {
  run: () => unknown;
  done: (value: unknown) => void;
  failed: (error: unknown) => void;
}

/** Most jobs in one transaction; this bounds how long the event loop is blocked. */
const MAX_BATCH = 1_000;

/** Numbers that grow with every use, kept in the table `counter`. */
export type Counter = "version" | "seq" | "floor" | "feed" | "shards";

export class SqliteDatabase {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, StatementSync>();
  readonly #counters = new Map<string, number>();
  readonly #changedCounters = new Set<string>();
  #jobs: Job[] = [];
  #isClosed = false;

  /**
   * @throws {Problem} FailedPrecondition when another process has the folder open, or a newer version wrote it;
   * Unavailable when it can't be opened
   */
  constructor(options: SqliteOptions) {
    this.#database = openExclusively(options);
    try {
      migrate(this.#database, options.folder);
      for (const row of this.all("SELECT name, value FROM counter")) {
        this.#counters.set(String(row["name"]), Number(row["value"]));
      }
    } catch (error) {
      this.#database.close();
      throw error;
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
    return Number(this.#statement(sql).run(...values).changes);
  }

  /** Rows one by one; several may be open at the same time. */
  *iterate(sql: string, ...values: SQLInputValue[]): Generator<Row> {
    this.#assertOpen();
    yield* this.#database.prepare(sql).iterate(...values);
  }

  /** Current value of a counter, 0 at the beginning. */
  counter(name: Counter): number {
    return this.#counters.get(name) ?? 0;
  }

  /** Raises a counter inside a write. */
  next(name: Counter): number {
    return this.setCounter(name, this.counter(name) + 1);
  }

  /** Sets a counter inside a write. */
  setCounter(name: Counter, value: number): number {
    this.#counters.set(name, value);
    this.#changedCounters.add(name);
    return value;
  }

  /** Queues a write for the transaction at the end of this turn; resolves when it is durable. */
  write<T>(run: () => T): Promise<T> {
    if (this.#isClosed) return Promise.reject(closedProblem());
    return new Promise((resolve, reject) => {
      if (this.#jobs.length === 0) setImmediate(() => this.#flush());
      this.#jobs.push({ run, done: resolve as (value: unknown) => void, failed: reject });
    });
  }

  /** Writes what is queued, then releases the folder. */
  close(): void {
    if (this.#isClosed) return;
    while (this.#jobs.length > 0) this.#flush();
    this.#isClosed = true;
    this.#statements.clear();
    this.#database.close();
  }

  #flush(): void {
    const jobs = this.#jobs.splice(0, MAX_BATCH);
    if (jobs.length === 0) return;
    if (this.#jobs.length > 0) setImmediate(() => this.#flush());
    if (this.#runTogether(jobs) || jobs.length === 1) return;
    for (const job of jobs) this.#runTogether([job]);
  }

  /** False when one of several jobs failed: nothing was written, and no job has its answer yet. */
  #runTogether(jobs: Job[]): boolean {
    const answers: (() => void)[] = [];
    const counters = new Map(this.#counters);
    this.#changedCounters.clear();
    try {
      this.#database.exec("BEGIN IMMEDIATE");
      for (const { run, done, failed } of jobs) {
        try {
          const value = run();
          answers.push(() => done(value));
        } catch (error) {
          if (!isRefusal(error)) throw error;
          answers.push(() => failed(error));
        }
      }
      for (const name of this.#changedCounters) {
        this.run(
          "INSERT OR REPLACE INTO counter VALUES (?, ?)",
          name,
          this.counter(name as Counter),
        );
      }
      this.#database.exec("COMMIT");
    } catch (error) {
      for (const [name, value] of counters) this.#counters.set(name, value);
      for (const name of this.#changedCounters) {
        if (!counters.has(name)) this.#counters.delete(name);
      }
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
      if (jobs.length > 1) return false;
      jobs[0]?.failed(problemOf(error));
      return true;
    }
    for (const answer of answers) answer();
    return true;
  }

  #statement(sql: string): StatementSync {
    this.#assertOpen();
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#database.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #guard<T>(read: () => T): T {
    try {
      return read();
    } catch (error) {
      throw problemOf(error);
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw closedProblem();
  }
}

/** Name of the file with the store in its folder. */
export const STORE_FILE = "sluice.db";

function openExclusively(
  { folder, file = STORE_FILE, synchronous = "FULL", lockTimeoutMs = 2_000 }: SqliteOptions,
) {
  let database: DatabaseSync | undefined;
  try {
    mkdirSync(folder, { recursive: true });
    database = new DatabaseSync(join(folder, file), { timeout: lockTimeoutMs });
    // The operating system holds the lock, and drops it when the process ends, however it ends.
    database.exec("PRAGMA locking_mode = EXCLUSIVE");
    database.exec("PRAGMA journal_mode = WAL");
    database.exec(`PRAGMA synchronous = ${synchronous}`);
    // In KiB. A commit that has split a page looks at every page in the cache, so a larger one costs more than it saves.
    database.exec("PRAGMA cache_size = -8192");
    database.exec("BEGIN EXCLUSIVE; COMMIT");
    return database;
  } catch (error) {
    database?.close();
    if (/database is locked/.test(String(error))) {
      throw new Problem(
        ProblemCode.FailedPrecondition,
        `The store in ${folder} is in use by another process: stop that one, or use another folder`,
      );
    }
    throw unavailable(`Cannot open the store in ${folder}: ${errorText(error)}`);
  }
}

function migrate(database: DatabaseSync, folder: string): void {
  database.exec(
    "CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL)",
  );
  const row = database.prepare("SELECT max(version) AS version FROM migration").get();
  const version = Number(row?.["version"] ?? 0);
  if (version > MIGRATIONS.length) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `The store in ${folder} was written by a newer version of Sluice (schema ${version}, this one knows ${MIGRATIONS.length})`,
    );
  }
  MIGRATIONS.slice(version).forEach((sql, index) => {
    database.exec("BEGIN IMMEDIATE");
    database.exec(sql);
    database.prepare("INSERT INTO migration VALUES (?, datetime('now'))").run(version + index + 1);
    database.exec("COMMIT");
  });
}

function isRefusal(error: unknown): boolean {
  return error instanceof StaleEpoch || error instanceof ActorExists || error instanceof Problem;
}

/** Error texts of SQLite that mean trouble with the disk or memory, not a defect. */
const TROUBLE =
  /locked|out of memory|readonly|disk I\/O|full|unable to open|malformed|not a database/i;

function problemOf(error: unknown): unknown {
  if (error instanceof Problem || !TROUBLE.test(errorText(error))) return error;
  const { code, message } = unavailable(`The store cannot be used: ${errorText(error)}`);
  return new Problem(code, message, { retryAfterSeconds: 1, cause: error });
}

function closedProblem(): Problem {
  return unavailable("The store is closed");
}
