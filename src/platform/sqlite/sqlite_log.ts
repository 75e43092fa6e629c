/**
 * The write-ahead log of a SQLite file, made durable beside the event loop. By itself SQLite waits for the disk within a
 * commit, and a disk that takes 100 ms would stop everything else of the process for as long. So here SQLite only writes,
 * and a thread of the runtime waits.
 */
import { closeSync, fdatasync, fdatasyncSync, openSync } from "node:fs";
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { promisify } from "node:util";

/** Waits until the disk has what was written to a file. Tests put a slow or a broken disk in its place. */
export type SyncFile = (file: number) => Promise<void>;

/** Pages after which the log is emptied into the database; 4 MiB. */
const LONG_LOG = 1_000;
const PAGE_BYTES = 4_096;
/** So many changed rows share a page, roughly. */
const ROWS_OF_PAGE = 4;
/** Pages after which SQLite empties the log by itself, and waits for the disk: only one transaction of 64 MiB is so large. */
const TOO_LONG_LOG = 16_000;

const syncFile: SyncFile = promisify(fdatasync);

/**
 * Waits for the database itself, which is seldom. On Deno, whatever is done with a file beside the event loop opens and closes
 * a copy of its descriptor, and with the first closed one the operating system gives up the lock that SQLite has on the file:
 * another process could open it, and would remove the log that this one writes. So there this thread waits.
 */
const syncDatabase: SyncFile = "Deno" in globalThis
  ? (file) => Promise.resolve(fdatasyncSync(file))
  : syncFile;

export class SqliteLog {
  readonly #database: DatabaseSync;
  readonly #sync: { log: SyncFile; database: SyncFile };
  readonly #checkpoint: StatementSync;
  readonly #logFile: number;
  readonly #databaseFile: number;
  /** Pages that were written since the log was emptied, roughly. */
  #pages = 0;
  /** Waits for the disk that are under way; the files stay open for them. */
  #waits = 0;
  #isClosed = false;

  /**
   * @param database in journal mode WAL, with a log
   * @param path of its file
   */
  constructor(database: DatabaseSync, path: string, sync?: SyncFile) {
    this.#database = database;
    this.#sync = { log: sync ?? syncFile, database: sync ?? syncDatabase };
    this.#logFile = openSync(`${path}-wal`, "r+");
    this.#databaseFile = openSync(path, "r+");
    // What is in the log need not be durable for the order of writes: only an emptied log begins anew, after a wait of its own.
    database.exec("PRAGMA synchronous = NORMAL");
    database.exec(`PRAGMA wal_autocheckpoint = ${TOO_LONG_LOG}`);
    this.#checkpoint = database.prepare("PRAGMA wal_checkpoint(PASSIVE)");
  }

  /** Counts what a statement wrote. */
  note(changedRows: number, bytes: number): void {
    this.#pages += changedRows / ROWS_OF_PAGE + bytes / PAGE_BYTES;
  }

  /** The log is to be emptied. */
  get isLong(): boolean {
    return this.#pages >= LONG_LOG;
  }

  /** Resolves when all that was committed before the call is on the disk. */
  sync(): Promise<void> {
    return this.#wait(this.#sync.log, this.#logFile);
  }

  /**
   * Moves what is in the log into the database. Nothing may be committed from the call until it has resolved: a commit would
   * begin the log anew, from which a power cut could still have to be mended.
   */
  async empty(): Promise<void> {
    this.#pages = 0;
    await this.sync();
    if (this.#isClosed) return;
    this.#database.exec("PRAGMA synchronous = OFF");
    try {
      this.#checkpoint.get();
    } catch {
      // There is no room, for example. The log stays as it is, and the next commits say what is wrong.
      return;
    } finally {
      this.#database.exec("PRAGMA synchronous = NORMAL");
    }
    await this.#wait(this.#sync.database, this.#databaseFile);
  }

  /** Waits on this thread until everything is on the disk. */
  syncNow(): void {
    fdatasyncSync(this.#logFile);
    fdatasyncSync(this.#databaseFile);
  }

  /** To be called after the database was closed: the first closed descriptor of its file gives up the lock. */
  close(): void {
    this.#isClosed = true;
    if (this.#waits > 0) return;
    closeSync(this.#logFile);
    closeSync(this.#databaseFile);
  }

  async #wait(sync: SyncFile, file: number): Promise<void> {
    this.#waits++;
    try {
      await sync(file);
    } finally {
      this.#waits--;
      if (this.#isClosed) this.close();
    }
  }
}
