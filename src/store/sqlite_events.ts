/** The event queue and the delivery records of the SQLite adapter. */
import { continueAfter, parseContinue } from "./list_query.ts";
import { deliveryPosition, queuedDelivery } from "./delivery_record.ts";
import type { Delivery, EventStore, QueuedEvent } from "./port.ts";
import type { Row, SqliteDatabase } from "./sqlite_database.ts";
import type { Wakeups } from "./wakeups.ts";

/** Every so many offers, expired deduplication keys are removed. */
const SWEEP_EVERY = 256;
const FAR_MS = 1e15;

export function createSqliteEvents(
  database: SqliteDatabase,
  wakeups: Wakeups,
  now: () => number,
): EventStore {
  let offers = 0;

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
      "SELECT * FROM event WHERE touched_at <= ? ORDER BY seq LIMIT ?",
      now() - claimAfterMs,
      max,
    );
    const ready = database.all(
      "SELECT * FROM event WHERE touched_at IS NULL AND (at IS NULL OR at <= ?) ORDER BY seq LIMIT ?",
      now(),
      max - silent.length,
    );
    return [...silent, ...ready];
  }

  function takeNow(worker: string, max: number, claimAfterMs: number): QueuedEvent[] {
    return takeable(max, claimAfterMs).map((row) => {
      const attempts = Number(row["attempts"]) + (row["touched_at"] === null ? 0 : 1);
      database.run(
        "UPDATE event SET worker = ?, touched_at = ?, at = NULL, attempts = ? WHERE seq = ?",
        worker,
        now(),
        attempts,
        row["seq"] ?? null,
      );
      return {
        id: String(row["id"]),
        namespace: String(row["namespace"]),
        discriminator: String(row["discriminator"]),
        text: String(row["text"]),
        receivedAt: Number(row["received_at"]),
        attempts,
        ...(row["size"] !== null && { size: Number(row["size"]) }),
      };
    });
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
          const removed = database.run("DELETE FROM event WHERE id = ?", delivery.id);
          if (removed > 0) saveDelivery(delivery);
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
        `SELECT record FROM delivery
         WHERE namespace = ? ${state === undefined ? "" : "AND state = ?"}
           AND (received_at, id) < (?, ?)
         ORDER BY received_at DESC, id DESC LIMIT ?`,
        namespace,
        ...(state === undefined ? [] : [state]),
        after.createdAt,
        after.id,
        limit > 0 ? limit + 1 : -1,
      );
      const found = rows.map(({ record }) => JSON.parse(String(record)) as Delivery);
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
      const sql = "SELECT record FROM delivery WHERE id = ? AND namespace = ?";
      const row = database.get(sql, id, namespace);
      return row && JSON.parse(String(row["record"])) as Delivery;
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
