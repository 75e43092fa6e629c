/**
 * The connection of the embedded store: it opens the folder for this process alone, and writes in batches. All
 * writes of one turn of the event loop, and those that come while the disk is busy with the transaction before, form one
 * transaction, so that they share one wait for the disk. Each write is atomic: a job refuses before it writes anything, and
 * if one fails in another way, the batch is rolled back and each job runs in a transaction of its own.
 */
import { Problem } from "../../base/problem.ts";
import { SqliteFile, type SqliteFileOptions } from "../../platform/sqlite/sqlite_file.ts";
import { ActorExists, StaleEpoch } from "../port.ts";
import { MIGRATIONS } from "./schema.ts";

export type { Row } from "../../platform/sqlite/sqlite_file.ts";

/** Name of the file with the store in its folder. */
export const STORE_FILE = "sluice.db";

export interface SqliteOptions extends SqliteFileOptions {
  /** Name of the file in the folder. @default {"sluice.db"} */
  file?: string;
}

interface Job {
  run: () => unknown;
  done: (value: unknown) => void;
  failed: (error: unknown) => void;
}

/** What a job is told once its transaction is durable, or that nobody knows whether it is. */
interface Outcome {
  tell: () => void;
  failed: (error: unknown) => void;
}

/** Most jobs in one transaction; this bounds how long the event loop is blocked. */
const MAX_BATCH = 1_000;

/** Numbers that grow with every use, kept in the table `counter`. */
export type Counter = "version" | "seq" | "floor" | "feed" | "shards";

export class SqliteDatabase extends SqliteFile {
  readonly #counters = new Map<string, number>();
  readonly #changedCounters = new Set<string>();
  #jobs: Job[] = [];
  #isWriting = false;
  #unsettled: Promise<void> | undefined;

  /**
   * @throws {Problem} FailedPrecondition when another process has the folder open, or a newer version wrote it;
   * Unavailable when it can't be opened
   */
  constructor(options: SqliteOptions) {
    super(options, { file: options.file ?? STORE_FILE, what: "store", migrations: MIGRATIONS });
    try {
      for (const row of this.all("SELECT name, value FROM counter")) {
        this.#counters.set(String(row["name"]), Number(row["value"]));
      }
    } catch (error) {
      super.close();
      throw error;
    }
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

  /**
   * Ends when all that can be read is durable; undefined when it is. Whoever reads in the turn in which it ends reads nothing
   * else.
   */
  get unsettled(): Promise<void> | undefined {
    return this.#unsettled;
  }

  /** Queues a write for the next transaction; resolves when it is durable. */
  write<T>(run: () => T): Promise<T> {
    if (this.isClosed) return Promise.reject(this.closedProblem());
    return new Promise((resolve, reject) => {
      this.#jobs.push({ run, done: resolve as (value: unknown) => void, failed: reject });
      this.#goOn();
    });
  }

  /** Writes what is queued, then releases the folder. */
  override close(): void {
    if (this.isClosed) return;
    const outcomes: Outcome[] = [];
    try {
      // The log may just be emptied, and until that is durable nothing may be written.
      this.settleNow();
      while (this.#jobs.length > 0) outcomes.push(...this.#writeSome());
      this.settleNow();
      for (const { tell } of outcomes) tell();
    } catch (error) {
      for (const { failed } of [...outcomes, ...this.#jobs.splice(0)]) failed(error);
    } finally {
      super.close();
    }
  }

  #goOn(): void {
    if (this.#isWriting || this.#jobs.length === 0) return;
    this.#isWriting = true;
    setImmediate(() => void this.#flush());
  }

  async #flush(): Promise<void> {
    if (this.isClosed) return;
    const outcomes = this.#writeSome();
    try {
      this.#unsettled = this.settle();
      await this.#unsettled;
      for (const { tell } of outcomes.splice(0)) tell();
      this.#unsettled = undefined;
      await this.tidy();
    } catch (error) {
      for (const { failed } of outcomes) failed(error);
    }
    this.#isWriting = false;
    this.#goOn();
  }

  #writeSome(): Outcome[] {
    const jobs = this.#jobs.splice(0, MAX_BATCH);
    return this.#runTogether(jobs) ?? jobs.flatMap((job) => this.#runTogether([job]) ?? []);
  }

  /** Undefined when one of several jobs failed: nothing was written, and no job has its answer yet. */
  #runTogether(jobs: Job[]): Outcome[] | undefined {
    if (jobs.length === 0) return [];
    const outcomes: Outcome[] = [];
    const counters = new Map(this.#counters);
    this.#changedCounters.clear();
    try {
      this.assertUsable();
      this.database.exec("BEGIN IMMEDIATE");
      for (const { run, done, failed } of jobs) {
        try {
          const value = run();
          outcomes.push({ tell: () => done(value), failed });
        } catch (error) {
          if (!isRefusal(error)) throw error;
          outcomes.push({ tell: () => failed(error), failed });
        }
      }
      for (const name of this.#changedCounters) {
        this.run(
          "INSERT OR REPLACE INTO counter VALUES (?, ?)",
          name,
          this.counter(name as Counter),
        );
      }
      this.database.exec("COMMIT");
      return outcomes;
    } catch (error) {
      for (const [name, value] of counters) this.#counters.set(name, value);
      for (const name of this.#changedCounters) {
        if (!counters.has(name)) this.#counters.delete(name);
      }
      this.rollBack();
      if (jobs.length > 1) return undefined;
      jobs[0]?.failed(this.problemOf(error));
      return [];
    }
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof StaleEpoch || error instanceof ActorExists || error instanceof Problem;
}
