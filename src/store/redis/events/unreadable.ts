/**
 * Events of the Redis queue that can't be read. They are found by their bytes, among what a worker has taken, and end
 * as dead letters in the namespace under which they are filed. As long as everything can be read, none of this runs.
 */
import { createHash } from "node:crypto";
import { BoundedCache } from "../../../base/bounded_cache.ts";
import type { Delivery, QueuedEvent } from "../../event_port.ts";
import { unreadableEvent } from "../../queued_event.ts";
import { textOf } from "../../raw_bytes.ts";
import type { RedisContext } from "../context.ts";
import { factsOf, isGivenUp, readContent } from "./content.ts";
import { FIND_FILED, FINISH_UNREADABLE, READ_TAKEN } from "./scripts.ts";
import { listOf, textsOf } from "../replies.ts";

/** Most events that were handed out as unreadable and have not ended; forgotten ones come back later. */
const MAX_KNOWN = 10_000;

/** An event as the queue has it. */
interface StoredEvent {
  /** Id of the stream entry. */
  entry: string;
  /** Its field in the entry: the id of the event. */
  field: Buffer;
  content: Buffer;
  claims: number;
  isFiled: boolean;
}

/** An event that can't be read, and why. */
interface UnreadableEvent extends StoredEvent {
  reason: string;
}

export class UnreadableEvents {
  readonly #context: RedisContext;
  /** The places of those that were handed out. */
  readonly #places = new BoundedCache<string, Pick<StoredEvent, "entry" | "field">>(MAX_KNOWN);

  constructor(context: RedisContext) {
    this.#context = context;
  }

  /**
   * Inspects contents that were taken and could not be read reliably.
   * @returns those that can be read after all, and stand-ins for the others
   */
  async inspect(worker: string, suspects: ReadonlySet<string>): Promise<QueuedEvent[]> {
    const readable: QueuedEvent[] = [];
    const unreadable: UnreadableEvent[] = [];
    for (const stored of await this.#takenBy(worker)) {
      const event = readStored(stored);
      if (typeof event === "string") unreadable.push({ ...stored, reason: event });
      else if (suspects.has(stored.content.toString("utf8"))) readable.push(event);
    }
    return [...readable, ...await this.#standIns(unreadable)];
  }

  /** Ends the events that were handed out as unreadable; returns the other deliveries. */
  async finish(deliveries: Delivery[]): Promise<Delivery[]> {
    const { link, keys } = this.#context;
    const others: Delivery[] = [];
    for (const delivery of deliveries) {
      const place = delivery.unreadable && this.#places.get(delivery.id);
      if (place === undefined) {
        others.push(delivery);
        continue;
      }
      const { id, namespace, receivedAt } = delivery;
      const record = [namespace, id, String(receivedAt), JSON.stringify(delivery)];
      await link.run(FINISH_UNREADABLE, keys.events, [place.entry, place.field, ...record]);
      this.#places.delete(id);
    }
    return others;
  }

  async #takenBy(worker: string): Promise<StoredEvent[]> {
    const { link, keys } = this.#context;
    const reply = listOf(await link.runForBytes(READ_TAKEN, keys.events, [worker])) as Buffer[];
    const none = Buffer.of();
    const all: StoredEvent[] = [];
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

  /** Stand-ins for events that can't be read. */
  async #standIns(all: UnreadableEvent[]): Promise<QueuedEvent[]> {
    if (all.length === 0) return [];
    const { link, keys } = this.#context;
    const filed = textsOf(await link.run(FIND_FILED, keys.events, all.map(({ field }) => field)));
    return all.map((stored, index) => {
      const event = standIn(stored, filed[2 * index], filed[2 * index + 1]);
      this.#places.set(event.id, { entry: stored.entry, field: stored.field });
      return event;
    });
  }
}

/** The event; or why it can't be read. */
function readStored({ field, content, claims, isFiled }: StoredEvent): QueuedEvent | string {
  const text = textOf(content);
  if (text === undefined) return "it is not UTF-8";
  const event = readContent(text, claims);
  if (typeof event === "string") return event;
  if (!field.equals(Buffer.from(event.id))) return "it lies under another id";
  return isGivenUp(isFiled, claims) ? "it is not filed as queued" : event;
}

/** @param namespace under which it is filed; undefined, like the time, if it is filed nowhere */
function standIn(
  { entry, field, content, claims, isFiled, reason }: UnreadableEvent,
  namespace: string | undefined,
  time: string | undefined,
): QueuedEvent {
  return unreadableEvent({
    reason,
    raw: content,
    place: `${entry}-${createHash("sha256").update(field).digest("hex").slice(0, 8)}`,
    facts: {
      ...factsOf(content.toString("utf8")),
      // If it is filed nowhere, nobody knows its id, and several may have the same one.
      id: isFiled ? textOf(field) : undefined,
      ...(isFiled && namespace !== undefined && { namespace }),
    },
    receivedAt: Number(time ?? entry.split("-")[0]),
    attempts: claims,
  });
}
