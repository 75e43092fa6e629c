/** The event queue and the delivery records of the SQLite adapter. */
import { continueAfter, parseContinue } from "./list_query.ts";
import { deliveryPosition, queuedDelivery, readDelivery } from "./delivery_record.ts";
import type { Delivery, EventStore, QueuedEvent } from "./port.ts";
import { eventProblem, unreadableEvent } from "./queued_event.ts";
import { textOf } from "./raw_bytes.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import type { Wakeups } from "./wakeups.ts";

/** Every so many offers, expired deduplication keys are removed. */
const SWEEP_EVERY = 256;
const FAR_MS = 1e15;

/** Numbers that JavaScript takes; any other one, as anything else that has no business there, is NULL. */
const NUMBERS = ["received_at", "size", "attempts"].map((name) =>
  `CASE WHEN typeof(${name}) = 'integer' AND abs(${name}) < 9e15 THEN ${name} END AS ${name}`
).join(", ");
const TAKEABLE =
  `SELECT seq, id, namespace, discriminator, text, ${NUMBERS}, touched_at IS NULL AS is_new FROM event`;
/** Of a row whose times can't be read nobody knows when it was touched: it is taken at once. */
const IS_BROKEN = "typeof(touched_at) IN ('text', 'blob') OR typeof(at) IN ('text', 'blob')";

export function createSqliteEvents(
  database: SqliteDatabase,
  wakeups: Wakeups,
  now: () => number,
): EventStore {
  let offers = 0;
  /** Events that were given out as unreadable and are not ended, and their rows. */
  const unreadable = new Map<string, number>();

  function depth(): number {
    return Number(database.get("SELECT count(*) AS n FROM event")?.["n"]);
  }

  function saveDelivery(delivery: Delivery): void {
    const { id, namespace, receivedAt, state } = delivery;
    const sql = "INSERT OR REPLACE INTO delivery VALUES (?, ?, ?, ?, ?)";
    database.run(sql, id, namespace, receivedAt, state, JSON.stringify(delivery));
  }

  function offer(
    event: Omit<QueuedEvent, "attempts">,
    bound: number,
    dedupe: { key: string; fingerprint: string; expiresAt: number } | undefined,
  ): { result: "accepted" | "full" | "duplicate" | "mismatch"; id: string } {
    if (offers++ % SWEEP_EVERY === 0) {
      database.run("DELETE FROM dedupe WHERE expires_at <= ?", now());
    }
    if (dedupe !== undefined) {
      const sql = "SELECT * FROM dedupe WHERE key = ? AND expires_at > ?";
      const marker = database.get(sql, dedupe.key, now());
      if (marker !== undefined) {
        const same = marker["fingerprint"] === dedupe.fingerprint;
        return { result: same ? "duplicate" : "mismatch", id: String(marker["id"]) };
      }
    }
    const { id } = event;
    if (database.get("SELECT 1 FROM event WHERE id = ?", id)) return { result: "duplicate", id };
    if (depth() >= bound) return { result: "full", id };
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
    saveDelivery(queuedDelivery(event));
    return { result: "accepted", id };
  }

  /** Those that may be taken now: silent workers' first, then oldest first. */
  function takeable(max: number, claimAfterMs: number): Row[] {
    const silent = database.all(
      `${TAKEABLE} WHERE touched_at <= ? OR ${IS_BROKEN} ORDER BY seq LIMIT ?`,
      now() - claimAfterMs,
      max,
    );
    const ready = database.all(
      `${TAKEABLE} WHERE touched_at IS NULL AND (at IS NULL OR at <= ?) ORDER BY seq LIMIT ?`,
      now(),
      max - silent.length,
    );
    return [...silent, ...ready];
  }

  function takeNow(worker: string, max: number, claimAfterMs: number): QueuedEvent[] {
    return takeable(max, claimAfterMs).map((row) => {
      const attempts = Number(row["attempts"]) + (row["is_new"] === 1 ? 0 : 1);
      database.run(
        "UPDATE event SET worker = ?, touched_at = ?, at = NULL, attempts = ? WHERE seq = ?",
        worker,
        now(),
        attempts,
        row["seq"] ?? null,
      );
      return eventOf(row, attempts);
    });
  }

  /** The event of a row; one that stands for it when it can't be read. */
  function eventOf(row: Row, attempts: number): QueuedEvent {
    const { seq, id, namespace, discriminator, text, received_at: receivedAt, size } = row;
    const facts = {
      id,
      namespace,
      discriminator,
      text,
      receivedAt,
      attempts,
      ...(size !== null && { size }),
    };
    const isSuspect = typeof text === "string" && text.includes("\uFFFD");
    const problem = eventProblem(facts);
    if (problem === undefined && !isSuspect) return facts as QueuedEvent;
    const sql = "SELECT CAST(text AS BLOB) AS raw FROM event WHERE seq = ?";
    const raw = database.get(sql, seq ?? null)?.["raw"];
    const bytes = raw instanceof Uint8Array ? raw : new Uint8Array();
    if (problem === undefined && textOf(bytes) !== undefined) return facts as QueuedEvent;
    const event = unreadableEvent({
      reason: problem ?? "it is not UTF-8",
      raw: bytes,
      place: String(seq),
      facts,
      receivedAt: now(),
      attempts,
    });
    unreadable.set(event.id, Number(seq));
    return event;
  }

  /** Takes an event out of the queue; false when it is not there. */
  function removeEvent({ id, unreadable: raw }: Delivery): boolean {
    const row = raw && unreadable.get(id);
    unreadable.delete(id);
    return row === undefined
      ? database.run("DELETE FROM event WHERE id = ?", id) > 0
      : database.run("DELETE FROM event WHERE seq = ?", row) > 0;
  }

  function nextDueMs(claimAfterMs: number): number {
    const sql =
      "SELECT min(coalesce(at, touched_at + ?, 0)) AS due FROM event WHERE at > 0 OR touched_at > 0";
    const due = database.get(sql, claimAfterMs)?.["due"];
    return typeof due === "number" ? Math.max(1, due - now()) : FAR_MS;
  }

  return {
    async offer(event, bound, dedupe) {
      const outcome = await database.write(() => offer(event, bound, dedupe));
      if (outcome.result === "accepted") wakeups.wakeOne("events");
      return outcome;
    },

    async take(worker, max, claimAfterMs, waitMs, signal) {
      const deadline = performance.now() + waitMs;
      while (!signal.aborted && !database.isClosed) {
        if (takeable(1, claimAfterMs).length > 0) {
          const taken = await database.write(() => takeNow(worker, max, claimAfterMs));
          if (taken.length === max) wakeups.wakeOne("events");
          if (taken.length > 0) return taken;
        }
        const leftMs = deadline - performance.now();
        if (leftMs <= 0 || database.isClosed) break;
        await wakeups.wait(["events"], Math.min(leftMs, nextDueMs(claimAfterMs)), signal);
      }
      return [];
    },

    async touch(worker, ids) {
      const sql = "UPDATE event SET touched_at = ? WHERE id = ? AND worker = ?";
      await database.write(() => {
        for (const id of ids) database.run(sql, now(), id, worker);
      });
    },

    async finish(deliveries) {
      await database.write(() => {
        for (const delivery of deliveries) {
          if (removeEvent(delivery)) saveDelivery(delivery);
        }
      });
    },

    async retryLater(delivery, afterMs) {
      await database.write(() => {
        const changed = database.run(
          `UPDATE event SET worker = NULL, touched_at = NULL, at = ?, attempts = attempts + 1, seq = ?
           WHERE id = ?`,
          now() + afterMs,
          database.next("seq"),
          delivery.id,
        );
        if (changed > 0) saveDelivery(delivery);
      });
      wakeups.wakeOne("events");
    },

    async amend(delivery) {
      const isQueued = "SELECT 1 FROM event WHERE id = ?";
      await database.write(() => {
        const isKnown = database.get("SELECT 1 FROM delivery WHERE id = ?", delivery.id);
        if (isKnown && !database.get(isQueued, delivery.id)) saveDelivery(delivery);
      });
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async depth() {
      return depth();
    },

    // deno-lint-ignore require-await -- so that refusals are rejections
    async deliveries({ namespace, state, limit, ...query }) {
      const after = parseContinue(query.continue) ?? { createdAt: FAR_MS, id: "" };
      const rows = database.all(
        `SELECT id, received_at, record FROM delivery
         WHERE namespace = ? ${state === undefined ? "" : "AND state = ?"}
           AND (received_at, id) < (?, ?)
         ORDER BY received_at DESC, id DESC LIMIT ?`,
        namespace,
        ...(state === undefined ? [] : [state]),
        after.createdAt,
        after.id,
        limit > 0 ? limit + 1 : -1,
      );
      const found = rows.map(({ id, received_at, record }) =>
        readDelivery(String(record), { id: String(id), namespace, receivedAt: Number(received_at) })
      );
      const items = limit > 0 ? found.slice(0, limit) : found;
      const last = items.at(-1);
      return {
        items,
        ...(last !== undefined && found.length > items.length &&
          { continue: continueAfter(deliveryPosition(last)) }),
      };
    },

    // deno-lint-ignore require-await -- so that trouble is a rejection
    async delivery(namespace, id) {
      const sql = "SELECT received_at, record FROM delivery WHERE id = ? AND namespace = ?";
      const row = database.get(sql, id, namespace);
      const receivedAt = Number(row?.["received_at"]);
      return row && readDelivery(String(row["record"]), { id, namespace, receivedAt });
    },

    async trimDeliveries(maxCount, maxAgeMs) {
      await database.write(() => {
        database.run(
          `DELETE FROM delivery WHERE id NOT IN (SELECT id FROM event) AND (
             received_at < ? OR id IN (
               SELECT id FROM (
                 SELECT id, row_number() OVER (
                   PARTITION BY namespace ORDER BY received_at DESC, id DESC
                 ) AS place FROM delivery
               ) WHERE place > ?
             )
           )`,
          now() - maxAgeMs,
          maxCount,
        );
      });
    },
  };
}
