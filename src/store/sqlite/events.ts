// deno-lint-ignore-file require-await -- so that trouble and refusals are rejections
/** The event queue and the delivery records of the SQLite adapter. */
import {
  comparePositions,
  continueAfter,
  type ListPosition,
  parseContinue,
} from "../list_query.ts";
import { queuedDelivery, readDelivery } from "../delivery_record.ts";
import type { Delivery, EventStore, QueuedEvent } from "../event_port.ts";
import { eventProblem, unreadableEvent } from "../queued_event.ts";
import { textOf } from "../raw_bytes.ts";
import type { Row, SqliteDatabase } from "./database.ts";
import type { Wakeups } from "../wakeups.ts";

type OfferedEvent = Parameters<EventStore["offer"]>[0];
type Dedupe = NonNullable<Parameters<EventStore["offer"]>[2]>;
type Offered = Awaited<ReturnType<EventStore["offer"]>>;

/** Expired deduplication keys are removed each time this many events were offered. */
const SWEEP_EVERY = 256;
const FAR_MS = 1e15;
/** Most delivery records that one write removes. */
const SLICE = 500;
/** Removes the oldest records of a namespace that are too old or too many, but none of an event that is in the queue. */
const trim = (which: string) =>
  `DELETE FROM delivery WHERE id IN (
    SELECT id FROM delivery WHERE namespace = ?1 AND ${which} AND (
      received_at < ?2 OR (received_at, id) <= (
        SELECT received_at, id FROM delivery WHERE namespace = ?1 AND ${which}
        ORDER BY received_at DESC, id DESC LIMIT 1 OFFSET ?3
      )
    ) AND NOT EXISTS (SELECT 1 FROM event WHERE event.id = delivery.id)
      AND id NOT IN (SELECT value FROM json_each(?5))
    ORDER BY received_at, id LIMIT ?4
  )`;
/** Dead letters have a bound of their own. */
const TRIMS = ["state = 'dead'", "state <> 'dead'"].map(trim);

/** Columns of safe integers; anything else in them is read as NULL. */
const NUMBERS = ["received_at", "size", "attempts"].map((name) =>
  `CASE WHEN typeof(${name}) = 'integer' AND abs(${name}) < 9e15 THEN ${name} END AS ${name}`
).join(", ");
const TAKEABLE =
  `SELECT seq, id, namespace, discriminator, text, ${NUMBERS}, touched_at IS NULL AS is_new FROM event`;
/** A row whose times can't be read is taken at once: nobody knows when it was touched. */
const IS_BROKEN = "typeof(touched_at) IN ('text', 'blob') OR typeof(at) IN ('text', 'blob')";

/** The methods are properties, so that a wrapper can replace some of them. */
export class SqliteEvents implements EventStore {
  readonly #database: SqliteDatabase;
  readonly #wakeups: Wakeups;
  readonly #now: () => number;
  #offers = 0;
  /** Events that were handed out as unreadable and have not ended yet, with their rows. */
  readonly #unreadable = new Map<string, number>();

  constructor(database: SqliteDatabase, wakeups: Wakeups, now: () => number) {
    this.#database = database;
    this.#wakeups = wakeups;
    this.#now = now;
  }

  readonly offer: EventStore["offer"] = async (event, bound, dedupe) => {
    const outcome = await this.#database.write(() => this.#offer(event, bound, dedupe));
    if (outcome.result === "accepted") this.#wakeups.wakeOne("events");
    return outcome;
  };

  #offer(event: OfferedEvent, bound: number, dedupe: Dedupe | undefined): Offered {
    const database = this.#database;
    const { id } = event;
    if (this.#offers++ % SWEEP_EVERY === 0) {
      // More than came, but not all at once: a day may have left a million.
      const expired = "SELECT key FROM dedupe WHERE expires_at <= ? ORDER BY expires_at LIMIT ?";
      const sql = `DELETE FROM dedupe WHERE key IN (${expired})`;
      database.run(sql, this.#now(), 2 * SWEEP_EVERY);
    }
    const known = dedupe && this.#offeredBefore(dedupe);
    if (known !== undefined) return known;
    if (database.get("SELECT 1 FROM event WHERE id = ?", id)) return { result: "duplicate", id };
    if (this.#depth() >= bound) return { result: "full", id };
    if (dedupe !== undefined) {
      const sql = "INSERT OR REPLACE INTO dedupe VALUES (?, ?, ?, ?)";
      database.run(sql, dedupe.key, id, dedupe.fingerprint, dedupe.expiresAt);
    }
    database.run(
      "INSERT INTO event VALUES (?, ?, ?, ?, ?, ?, ?, 0, NULL, NULL, NULL)",
      database.next("seq"),
      id,
      event.namespace,
      event.discriminator,
      event.text,
      event.receivedAt,
      event.size ?? null,
    );
    this.#saveDelivery(queuedDelivery(event));
    return { result: "accepted", id };
  }

  /** What was offered earlier with the same key, if anything. */
  #offeredBefore({ key, fingerprint }: Dedupe): Offered | undefined {
    const sql = "SELECT * FROM dedupe WHERE key = ? AND expires_at > ?";
    const marker = this.#database.get(sql, key, this.#now());
    if (marker === undefined) return undefined;
    const isSame = marker["fingerprint"] === fingerprint;
    return { result: isSame ? "duplicate" : "mismatch", id: String(marker["id"]) };
  }

  #depth(): number {
    return Number(this.#database.get("SELECT count(*) AS n FROM event")?.["n"]);
  }

  #saveDelivery(delivery: Delivery): void {
    const { id, namespace, receivedAt, state } = delivery;
    const sql = "INSERT OR REPLACE INTO delivery VALUES (?, ?, ?, ?, ?)";
    this.#database.run(sql, id, namespace, receivedAt, state, JSON.stringify(delivery));
  }

  readonly take: EventStore["take"] = async (worker, max, claimAfterMs, waitMs, signal) => {
    const database = this.#database;
    const deadline = performance.now() + waitMs;
    while (!signal.aborted && !database.isClosed) {
      if (this.#takeable(1, claimAfterMs).length > 0) {
        const taken = await database.write(() => this.#takeNow(worker, max, claimAfterMs));
        if (taken.length === max) this.#wakeups.wakeOne("events");
        if (taken.length > 0) return taken;
      }
      const leftMs = deadline - performance.now();
      if (leftMs <= 0 || database.isClosed) break;
      await this.#wakeups.wait(["events"], Math.min(leftMs, this.#nextDueMs(claimAfterMs)), signal);
    }
    return [];
  };

  /** Those that may be taken now: first those of silent workers, then the others, oldest first. */
  #takeable(max: number, claimAfterMs: number): Row[] {
    const silent = this.#database.all(
      `${TAKEABLE} WHERE touched_at <= ? OR ${IS_BROKEN} ORDER BY seq LIMIT ?`,
      this.#now() - claimAfterMs,
      max,
    );
    const ready = this.#database.all(
      `${TAKEABLE} WHERE touched_at IS NULL AND (at IS NULL OR at <= ?) ORDER BY seq LIMIT ?`,
      this.#now(),
      max - silent.length,
    );
    return [...silent, ...ready];
  }

  #takeNow(worker: string, max: number, claimAfterMs: number): QueuedEvent[] {
    const sql =
      "UPDATE event SET worker = ?, touched_at = ?, at = NULL, attempts = ? WHERE seq = ?";
    return this.#takeable(max, claimAfterMs).map((row) => {
      const attempts = Number(row["attempts"]) + (row["is_new"] === 1 ? 0 : 1);
      this.#database.run(sql, worker, this.#now(), attempts, row["seq"] ?? null);
      return this.#eventOf(row, attempts);
    });
  }

  /** The event of a row, or a stand-in if it can't be read. */
  #eventOf(row: Row, attempts: number): QueuedEvent {
    const { seq, id, namespace, discriminator, text, received_at: receivedAt, size } = row;
    const known = { id, namespace, discriminator, text, receivedAt, attempts };
    const facts = { ...known, ...(size !== null && { size }) };
    const isSuspect = typeof text === "string" && text.includes("\uFFFD");
    const problem = eventProblem(facts);
    if (problem === undefined && !isSuspect) return facts as QueuedEvent;
    const sql = "SELECT CAST(text AS BLOB) AS raw FROM event WHERE seq = ?";
    const raw = this.#database.get(sql, seq ?? null)?.["raw"];
    const bytes = raw instanceof Uint8Array ? raw : new Uint8Array();
    if (problem === undefined && textOf(bytes) !== undefined) return facts as QueuedEvent;
    const event = unreadableEvent({
      reason: problem ?? "it is not UTF-8",
      raw: bytes,
      place: String(seq),
      facts,
      receivedAt: this.#now(),
      attempts,
    });
    this.#unreadable.set(event.id, Number(seq));
    return event;
  }

  /** Milliseconds until some event may be taken. */
  #nextDueMs(claimAfterMs: number): number {
    const sql =
      "SELECT min(coalesce(at, touched_at + ?, 0)) AS due FROM event WHERE at > 0 OR touched_at > 0";
    const due = this.#database.get(sql, claimAfterMs)?.["due"];
    return typeof due === "number" ? Math.max(1, due - this.#now()) : FAR_MS;
  }

  readonly touch: EventStore["touch"] = async (worker, ids) => {
    const sql = "UPDATE event SET touched_at = ? WHERE id = ? AND worker = ?";
    await this.#database.write(() => {
      for (const id of ids) this.#database.run(sql, this.#now(), id, worker);
    });
  };

  readonly finish: EventStore["finish"] = async (deliveries) => {
    await this.#database.write(() => {
      for (const delivery of deliveries) {
        if (this.#removeEvent(delivery)) this.#saveDelivery(delivery);
      }
    });
  };

  /** Takes an event out of the queue; false when it is not there. */
  #removeEvent({ id, unreadable }: Delivery): boolean {
    const row = unreadable && this.#unreadable.get(id);
    this.#unreadable.delete(id);
    return row === undefined
      ? this.#database.run("DELETE FROM event WHERE id = ?", id) > 0
      : this.#database.run("DELETE FROM event WHERE seq = ?", row) > 0;
  }

  readonly retryLater: EventStore["retryLater"] = async (delivery, afterMs) => {
    await this.#database.write(() => {
      const changed = this.#database.run(
        `UPDATE event SET worker = NULL, touched_at = NULL, at = ?, attempts = attempts + 1, seq = ?
         WHERE id = ?`,
        this.#now() + afterMs,
        this.#database.next("seq"),
        delivery.id,
      );
      if (changed > 0) this.#saveDelivery(delivery);
    });
    this.#wakeups.wakeOne("events");
  };

  readonly amend: EventStore["amend"] = async (delivery) => {
    const isQueued = "SELECT 1 FROM event WHERE id = ?";
    const isKnown = "SELECT 1 FROM delivery WHERE id = ?";
    await this.#database.write(() => {
      if (this.#database.get(isKnown, delivery.id) && !this.#database.get(isQueued, delivery.id)) {
        this.#saveDelivery(delivery);
      }
    });
  };

  readonly depth: EventStore["depth"] = async () => this.#depth();

  readonly oldest: EventStore["oldest"] = async () => {
    // Along the index of records: a row of the queue holds the text of its event before the time.
    const sql =
      "SELECT min(received_at) AS oldest FROM delivery WHERE namespace = ? AND state = 'queued'";
    const times = this.#namespaces()
      .map((namespace) => this.#database.get(sql, namespace)?.["oldest"])
      .filter((time) => typeof time === "number");
    return times.length === 0 ? undefined : Math.min(...times);
  };

  readonly deliveries: EventStore["deliveries"] = async ({ namespace, state, limit, ...query }) => {
    const after = parseContinue(query.continue);
    // An index of all namespaces would cost every event something.
    const namespaces = namespace === undefined ? this.#namespaces() : [namespace];
    let found: ListPosition[] = [];
    for (const one of namespaces) {
      const some = this.#places(one, state, after, limit > 0 ? limit + 1 : -1);
      found = found.length === 0 ? some : [...found, ...some].sort(comparePositions);
      if (limit > 0) found.length = Math.min(found.length, limit + 1);
    }
    const page = limit > 0 ? found.slice(0, limit) : found;
    const last = page.at(-1);
    return {
      items: page.map(({ id }) => this.#record(id)).filter((record) => record !== undefined),
      ...(last !== undefined && found.length > page.length && { continue: continueAfter(last) }),
    };
  };

  #places(
    namespace: string,
    state: Delivery["state"] | undefined,
    after: ListPosition = { createdAt: FAR_MS, id: "" },
    limit: number,
  ): ListPosition[] {
    const rows = this.#database.all(
      `SELECT id, received_at FROM delivery
       WHERE namespace = ? ${state === undefined ? "" : "AND state = ?"}
         AND (received_at, id) < (?, ?)
       ORDER BY received_at DESC, id DESC LIMIT ?`,
      namespace,
      ...(state === undefined ? [] : [state]),
      after.createdAt,
      after.id,
      limit,
    );
    return rows.map((row) => ({ id: String(row["id"]), createdAt: Number(row["received_at"]) }));
  }

  /** The namespaces that have records, found along the index. */
  #namespaces(): string[] {
    const rows = this.#database.all(
      `WITH RECURSIVE known(name) AS (
         SELECT min(namespace) FROM delivery
         UNION ALL
         SELECT (SELECT min(namespace) FROM delivery WHERE namespace > name) FROM known
         WHERE name IS NOT NULL
       ) SELECT name FROM known WHERE name IS NOT NULL`,
    );
    return rows.map(({ name }) => String(name));
  }

  #record(id: string): Delivery | undefined {
    const sql = "SELECT namespace, received_at, record FROM delivery WHERE id = ?";
    const row = this.#database.get(sql, id);
    const namespace = String(row?.["namespace"]);
    const receivedAt = Number(row?.["received_at"]);
    return row && readDelivery(String(row["record"]), { id, namespace, receivedAt });
  }

  readonly delivery: EventStore["delivery"] = async (namespace, id) => {
    const record = this.#record(id);
    return record?.namespace === namespace ? record : undefined;
  };

  readonly trimDeliveries: EventStore["trimDeliveries"] = async (
    maxCount,
    maxAgeMs,
    kept,
  ) => {
    const namespaces = this.#database.all("SELECT DISTINCT namespace FROM delivery");
    for (const { namespace = null } of namespaces) {
      const ids = JSON.stringify(kept?.get(String(namespace)) ?? []);
      for (const sql of TRIMS) {
        for (let removed = SLICE; removed === SLICE;) {
          removed = await this.#database.write(() =>
            this.#database.run(sql, namespace, this.#now() - maxAgeMs, maxCount, SLICE, ids)
          );
        }
      }
    }
  };
}
