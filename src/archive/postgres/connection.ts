/**
 * Connections to PostgreSQL: a bounded number, each statement within a time. Whatever breaks a connection is a Problem of
 * code Unavailable, and the next call connects again.
 */
import postgres from "postgres";
import { errorText } from "../../base/error_text.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { Gate, Silent } from "./gate.ts";
import { storableText } from "./reference_form.ts";

export interface ConnectionOptions {
  /** `postgres://USER:PASSWORD@HOST:PORT/DATABASE`; what PostgreSQL's own programs take from it, as `sslmode`, counts. */
  url: string;
  /** Most connections. @default {8} */
  connections?: number;
  /** How long a statement may take, ms. @default {15_000} */
  statementMs?: number;
}

export type Row = Readonly<Record<string, string | null>>;

/** Runs a statement with `$1` … for its values. Every column must be asked for as text. */
export type Query = (text: string, values?: readonly (string | null)[]) => Promise<Row[]>;

/** A transaction that has met another one, and begins again. */
export class Conflict extends Error {
  override readonly name = "Conflict";
}

/** How long a connection may take to come about, seconds. */
const CONNECT_SECONDS = 5;
/** How often a transaction begins again. */
const MAX_TRIES = 40;
/** Longest pause before it does, about, ms. */
const MAX_PAUSE_MS = 256;
/** SQL states after which a transaction begins again: it met another one. */
const MEETINGS = new Set(["40001", "40P01"]);
/** SQL states, or the beginnings of theirs, that tell of a defect, not of trouble with the server. */
const DEFECTS = ["21", "22", "23", "42", "54", "0A"];
/** Of these, the beginnings of those that come from what was to be stored: its texts, its size. */
const REFUSED = ["22", "54"];
/** The user lacks a right. */
export const MISSING_RIGHT = "42501";

export class Connections {
  readonly #options: Required<ConnectionOptions>;
  #pool: postgres.Sql | undefined;
  #isClosed = false;
  readonly #gate: Gate;

  constructor(options: ConnectionOptions) {
    this.#options = { connections: 8, statementMs: 15_000, ...options };
    const ping = () => this.#onPool((pool) => this.#bounded(pool, () => pool.unsafe("select 1")));
    this.#gate = new Gate(this.#options.connections, ping);
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** Runs one statement. @throws {Problem} Unavailable */
  query: Query = (text, values = []) =>
    this.#turn((pool) => this.#bounded(pool, () => pool.unsafe(text, storable(values))));

  /**
   * Runs work in a transaction, again if it met another one. @throws {Problem} Unavailable, and what the work throws
   */
  async transaction<T>(work: (query: Query) => Promise<T>): Promise<T> {
    for (let tries = 1;; tries++) {
      try {
        return await this.#turn((pool) =>
          pool.begin((tx) =>
            work((text, values = []) =>
              this.#bounded(pool, () => tx.unsafe(text, storable(values)))
            )
          ) as Promise<T>
        );
      } catch (error) {
        if (!isMeeting(error)) throw error;
        if (tries === MAX_TRIES) {
          throw unavailable(`The archive is busy: ${errorText(error)}`);
        }
        const pause = Math.min(MAX_PAUSE_MS, 2 ** tries) * (0.5 + Math.random());
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#gate.open();
    await this.#pool?.end({ timeout: 2 });
  }

  #turn<T>(work: (pool: postgres.Sql) => Promise<T>): Promise<T> {
    return this.#gate.run(() => this.#onPool(work));
  }

  async #onPool<T>(work: (pool: postgres.Sql) => Promise<T>): Promise<T> {
    if (this.#isClosed) throw unavailable("The archive is closed");
    try {
      return await work(this.#pool ??= this.#open());
    } catch (error) {
      throw problemOf(error);
    }
  }

  /** A statement's rows. When not even an error comes back in time, all connections are given up. */
  async #bounded(pool: postgres.Sql, start: () => Promise<unknown>): Promise<Row[]> {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#giveUp(pool);
        reject(away("PostgreSQL does not answer"));
      }, this.#options.statementMs + CONNECT_SECONDS * 1_000);
    });
    try {
      return withoutHoles(await Promise.race([start(), late]) as Row[]);
    } finally {
      clearTimeout(timer);
    }
  }

  #giveUp(pool: postgres.Sql): void {
    if (this.#pool === pool) this.#pool = undefined;
    pool.end({ timeout: 0 }).catch(() => {});
  }

  #open(): postgres.Sql {
    return postgres(this.#options.url, {
      max: this.#options.connections,
      connect_timeout: CONNECT_SECONDS,
      idle_timeout: 60,
      max_lifetime: 3_600,
      // A server that is back is found at once.
      backoff: () => 0.1,
      // Named statements do not go with poolers that share connections.
      prepare: false,
      fetch_types: false,
      onnotice: () => {},
      connection: {
        application_name: "sluice",
        statement_timeout: this.#options.statementMs,
        lock_timeout: this.#options.statementMs,
        idle_in_transaction_session_timeout: 60_000,
      },
    });
  }
}

/**
 * After a statement that failed when it had given some rows, as when its time is over, the driver leaves as many places empty at
 * the beginning of the next result on the same connection.
 */
function withoutHoles(rows: Row[]): Row[] {
  return rows.length === 0 || 0 in rows ? rows : rows.filter(() => true);
}

/** A caller may ask for any text, also for one that no row can have. */
function storable(values: readonly (string | null)[]): (string | null)[] {
  return values.map((value) => value?.includes("\0") === true ? storableText(value) : value);
}

function isMeeting(error: unknown): boolean {
  return error instanceof Conflict || MEETINGS.has(stateOf(error));
}

/** The SQL state of an error, or the code of a broken connection. */
export function stateOf(error: unknown): string {
  const code = typeof error === "object" && error !== null && "code" in error ? error.code : "";
  return typeof code === "string" ? code : "";
}

/** For `catch` of a write. @throws {Problem} InvalidArgument when PostgreSQL does not take the rows; others as they are */
export function tellRefused(error: unknown): never {
  const state = stateOf(error);
  if (!REFUSED.some((begin) => state.startsWith(begin)) || state.length !== 5) throw error;
  throw new Problem(
    ProblemCode.InvalidArgument,
    `The archive does not take this: ${errorText(error)}`,
    { cause: error },
  );
}

function away(why: string, cause?: unknown, Kind: typeof Problem = Silent): Problem {
  const { code, message } = unavailable(`The archive cannot be used: ${why}`);
  return new Kind(code, message, { retryAfterSeconds: 1, cause });
}

/** An error as a caller is told of it. */
function problemOf(error: unknown): unknown {
  if (error instanceof Problem || isMeeting(error)) return error;
  const state = stateOf(error);
  if (state === MISSING_RIGHT) {
    return new Problem(
      ProblemCode.FailedPrecondition,
      `The archive's database refuses: ${errorText(error)}`,
      { cause: error },
    );
  }
  const isSqlState = /^[0-9A-Z]{5}$/.test(state);
  // Names of connection errors are longer; what else has no code is a defect of ours.
  if (state === "" || (isSqlState && DEFECTS.some((begin) => state.startsWith(begin)))) {
    return error;
  }
  return away(errorText(error), error, isSqlState ? Problem : Silent);
}
