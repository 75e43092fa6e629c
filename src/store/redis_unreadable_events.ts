/**
 * Events of the Redis queue that can't be read. They are found among what a worker has taken, by their bytes, and end as
 * dead letters of the namespace under which they are filed. Nothing of this is called for queues in order.
 */
import { createHash } from "node:crypto";
import type { Delivery, QueuedEvent } from "./port.ts";
import { unreadableEvent } from "./queued_event.ts";
import { textOf } from "./raw_bytes.ts";
import type { RedisContext } from "./redis_context.ts";
import { factsOf, isGivenUp, readContent } from "./redis_event_content.ts";
import { BURY, TAKEN, WHOSE } from "./redis_event_scripts.ts";
import { listOf, textsOf } from "./redis_replies.ts";

/** Events that were given out as unreadable and are not ended; more of them come back later. */
const MAX_KNOWN = 10_000;

/** An event as it lies in the queue. */
interface Lying {
  entry: string;
  field: Buffer;
  content: Buffer;
  claims: number;
  isFiled: boolean;
}

/** Where an unreadable event lies. */
type Grave = Pick<Lying, "entry" | "field">;

export interface UnreadableEvents {
  /**
   * Looks again at contents that were taken and could not be read, or not safely.
   * @returns those that can be read after all, and events that stand for the others
   */
  lookAt(worker: string, suspects: ReadonlySet<string>): Promise<QueuedEvent[]>;
  /** Ends those that were given out as unreadable; returns the others. */
  bury(deliveries: Delivery[]): Promise<Delivery[]>;
}

export function createUnreadableEvents({ link, keys }: RedisContext): UnreadableEvents {
  const base = keys.events;
  const graves = new Map<string, Grave>();

  async function takenBy(worker: string): Promise<Lying[]> {
    const reply = listOf(await link.runForBytes(TAKEN, base, [worker])) as Buffer[];
    const none = Buffer.of();
    const all: Lying[] = [];
    for (let at = 0; at + 4 < reply.length; at += 5) {
      const [entry = none, field = none, content = none, claims = none, isFiled = none] = reply
        .slice(at, at + 5);
      all.push({
        entry: String(entry),
        field,
        content,
        claims: Number(claims),
        isFiled: isFiled.length > 0,
      });
    }
    return all;
  }

  /** Why an event can't be read; else the event. */
  function read({ field, content, claims, isFiled }: Lying): QueuedEvent | string {
    const text = textOf(content);
    if (text === undefined) return "it is not UTF-8";
    const event = readContent(text, claims);
    if (typeof event === "string") return event;
    if (!field.equals(Buffer.from(event.id))) return "it lies under another id";
    return isGivenUp(isFiled, claims) ? "it is not filed as queued" : event;
  }

  async function standIns(all: (Lying & { reason: string })[]): Promise<QueuedEvent[]> {
    if (all.length === 0) return [];
    const whose = textsOf(await link.run(WHOSE, base, all.map(({ field }) => field)));
    return all.map(({ entry, field, content, claims, isFiled, reason }, index) => {
      const namespace = whose[2 * index];
      const time = whose[2 * index + 1];
      const facts = factsOf(content.toString("utf8"));
      const event = unreadableEvent({
        reason,
        raw: content,
        place: `${entry}-${createHash("sha256").update(field).digest("hex").slice(0, 8)}`,
        facts: {
          ...facts,
          // What is filed nowhere has no id that anybody knows; there may be several of the same one.
          id: isFiled ? textOf(field) : undefined,
          ...(isFiled && namespace !== undefined && { namespace }),
        },
        receivedAt: Number(time ?? entry.split("-")[0]),
        attempts: claims,
      });
      if (graves.size >= MAX_KNOWN) graves.clear();
      graves.set(event.id, { entry, field });
      return event;
    });
  }

  return {
    async lookAt(worker, suspects) {
      const readable: QueuedEvent[] = [];
      const unreadable: (Lying & { reason: string })[] = [];
      for (const one of await takenBy(worker)) {
        const event = read(one);
        if (typeof event === "string") unreadable.push({ ...one, reason: event });
        else if (suspects.has(one.content.toString("utf8"))) readable.push(event);
      }
      return [...readable, ...await standIns(unreadable)];
    },

    async bury(deliveries) {
      const others: Delivery[] = [];
      for (const delivery of deliveries) {
        const grave = delivery.unreadable && graves.get(delivery.id);
        if (grave === undefined) {
          others.push(delivery);
          continue;
        }
        const { id, namespace, receivedAt } = delivery;
        const record = [namespace, id, String(receivedAt), JSON.stringify(delivery)];
        await link.run(BURY, base, [grave.entry, grave.field, ...record]);
        graves.delete(id);
      }
      return others;
    },
  };
}
