/**
 * A store on SQLite as the source or the target of a copy. A copy that is not finished lies beside the place of the store,
 * so that no server opens it; when it is complete, it gets the store's name.
 */
import { existsSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Problem, ProblemCode } from "../../../base/problem.ts";
import {
  type CopyPlan,
  inBatches,
  type SourceFacts,
  type StoreRecord,
  type StoreSource,
  type StoreTarget,
} from "../../dump.ts";
import { hasLoneLog } from "../../../platform/sqlite/sqlite_file.ts";
import type { Store } from "../../port.ts";
import { SqliteDatabase, STORE_FILE } from "../database.ts";
import { openSqliteStore } from "../store.ts";
import { readSqlite, sqliteFacts } from "./read.ts";
import { REWRITTEN_TABLES, SqliteRecordWriter } from "./write.ts";

const COPY_FILE = `${STORE_FILE}.copy`;

/** @throws {Problem} FailedPrecondition when there is no store, or a server has it open */
export async function openSqliteSource(folder: string): Promise<StoreSource> {
  const name = `sqlite:${folder}`;
  if (!existsSync(join(folder, STORE_FILE))) {
    throw refusal(`There is no store in ${folder}: it has no file ${STORE_FILE}`);
  }
  const database = new SqliteDatabase({ folder });
  const store = await openSqliteStore({ folder, database });
  return {
    name,
    facts(): Promise<SourceFacts> {
      const facts = sqliteFacts(database);
      if (facts.shards > 0) return Promise.resolve(facts);
      return Promise.reject(refusal(`No server has ever used the store in ${folder}`));
    },
    read: () => inBatches(readSqlite(database, store, Date.now)),
    close: () => store.close(),
  };
}

/** @param completedLabel the label that says whether a workflow has ended */
export function openSqliteTarget(folder: string, completedLabel: string): StoreTarget {
  return new SqliteTarget(folder, completedLabel);
}

class SqliteTarget implements StoreTarget {
  readonly name: string;
  readonly #folder: string;
  readonly #completedLabel: string;
  #database: SqliteDatabase | undefined;
  #store: Store | undefined;
  #writer: SqliteRecordWriter | undefined;

  constructor(folder: string, completedLabel: string) {
    this.name = `sqlite:${folder}`;
    this.#folder = folder;
    this.#completedLabel = completedLabel;
  }

  async begin(plan: CopyPlan): Promise<boolean> {
    this.#assertFree();
    let database = this.#open();
    const mark = database.get("SELECT source, state FROM copy");
    if (mark !== undefined && mark["source"] !== plan.from && !plan.restart) {
      throw refusal(
        `${this.name} has an unfinished copy of ${
          mark["source"]
        }: go on with that one, or remove it with --restart`,
      );
    }
    const goesOn = !plan.restart && mark?.["state"] === plan.state &&
      database.counter("shards") === plan.shards;
    if (mark !== undefined && !goesOn) {
      this.#drop();
      database = this.#open();
    }
    const version = Number(plan.version);
    await database.write(() => {
      if (!goesOn) database.run("INSERT INTO copy VALUES (?, ?)", plan.from, plan.state);
      else for (const table of REWRITTEN_TABLES) database.run(`DELETE FROM ${table}`);
      database.setCounter("shards", plan.shards);
      // Watches of the earlier store begin anew: its changes are not in this one's feed.
      database.setCounter("version", version);
      database.setCounter("floor", version);
    });
    this.#store = await openSqliteStore({ folder: this.#folder, database });
    this.#writer = new SqliteRecordWriter(database, plan.shardOf, this.#completedLabel);
    return goesOn;
  }

  async write(records: StoreRecord[]): Promise<void> {
    await this.#database?.write(() => {
      for (const record of records) this.#writer?.put(record);
    });
  }

  async *read(): AsyncGenerator<StoreRecord[]> {
    if (this.#database === undefined || this.#store === undefined) return;
    yield* inBatches(readSqlite(this.#database, this.#store, Date.now));
  }

  async discard(): Promise<void> {
    await this.#database?.write(() => this.#database?.run("UPDATE copy SET state = ''"));
  }

  async finish(): Promise<void> {
    // Closing does the same, but says nothing when the disk is full, and what is still in the log would be left behind.
    this.#database?.all("PRAGMA wal_checkpoint(TRUNCATE)");
    await this.close();
    this.#assertFree();
    renameSync(join(this.#folder, COPY_FILE), join(this.#folder, STORE_FILE));
  }

  close(): Promise<void> {
    this.#database?.close();
    this.#database = undefined;
    return Promise.resolve();
  }

  #open(): SqliteDatabase {
    const options = { folder: this.#folder, file: COPY_FILE, durability: "everysec" } as const;
    const database = this.#database = new SqliteDatabase(options);
    database.run("CREATE TABLE IF NOT EXISTS copy (source TEXT NOT NULL, state TEXT NOT NULL)");
    return database;
  }

  #drop(): void {
    this.#database?.close();
    this.#database = undefined;
    for (const end of ["", "-wal", "-shm"]) {
      rmSync(join(this.#folder, `${COPY_FILE}${end}`), { force: true });
    }
  }

  /** @throws {Problem} FailedPrecondition when the folder has a store already */
  #assertFree(): void {
    if (
      !existsSync(join(this.#folder, STORE_FILE)) && !hasLoneLog(this.#folder, STORE_FILE)
    ) return;
    throw refusal(
      `${this.name} holds a store already: choose another folder, or move ${STORE_FILE} and ${STORE_FILE}-wal away`,
    );
  }
}

function refusal(text: string): Problem {
  return new Problem(ProblemCode.FailedPrecondition, text);
}
