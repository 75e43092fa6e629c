/** The durable queue of events and what became of them, as adapters keep them: a part of the store's port. */
import type { RawBytes } from "./raw_bytes.ts";
import type { Version } from "./version.ts";

export interface QueuedEvent {
  id: string;
  namespace: string;
  discriminator: string;
  /** Body, metadata and sender, as text. */
  text: string;
  receivedAt: number;
  /**
   * Attempts so far; 0 for a new one. It grows with `retryLater`, and each time the event is claimed from a silent
   * worker.
   */
  attempts: number;
  /** Body size in bytes, for the delivery record. @default the size of `text` */
  size?: number;
  /** Version of all manifests when the event was taken; absent if the store can't tell. */
  manifests?: Version;
  /**
   * The stored event can't be read: why, and its bytes. The other facts are what could be found out. End such an event
   * with `unreadableDelivery`.
   */
  unreadable?: RawBytes & { reason: string };
}

/** What became of an accepted event. */
export interface Delivery {
  id: string;
  namespace: string;
  discriminator: string;
  receivedAt: number;
  /** Body size in bytes. */
  size: number;
  state: "queued" | "done" | "dead";
  attempts: number;
  bindings: {
    binding: string;
    outcome: "not-matched" | "submitted" | "resumed" | "stopped" | "waiting" | "error";
    workflow?: string;
    message?: string;
    /** With outcome "error": the event is tried again for this binding. */
    transient?: true;
  }[];
  /** The event: kept for dead letters, so that they can be replayed, and for a sample of the others. */
  event?: string;
  /** Of a queued event that was tried: when it is tried again, epoch ms. */
  retryAt?: number;
  /**
   * The bytes of a stored event, or of this record itself, that can't be read. Such a dead letter can't be replayed.
   */
  unreadable?: RawBytes;
}

export interface EventStore {
  /**
   * Appends an event durably and checks the bound, in one atomic step; the bound counts events that are queued, in work
   * or waiting for a retry. Also writes the delivery record, in state "queued". With `dedupe`, a repeated key gives
   * "duplicate" and the first event's id, or "mismatch" if the fingerprint differs; both even when the queue is full.
   * An id that is already queued is a "duplicate".
   *
   * @param manifests a version that `ManifestStore.known` gave: if any manifest has changed since, the event is
   * "stale", and nothing is done
   */
  offer(
    event: Omit<QueuedEvent, "attempts" | "manifests">,
    bound: number,
    dedupe?: { key: string; fingerprint: string; expiresAt: number },
    manifests?: Version,
  ): Promise<{ result: "accepted" | "full" | "duplicate" | "mismatch" | "stale"; id: string }>;
  /**
   * About `max` events for this worker, oldest first; before them, events whose worker has not touched them for
   * `claimAfterMs`. Waits up to `waitMs` if there are none. Events that were offered at the same time may be taken and
   * touched together: then there may be a few more than `max`, and touching one touches all. An event that can't be
   * read is returned as `unreadable`; it never blocks others.
   */
  take(
    worker: string,
    max: number,
    claimAfterMs: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]>;
  /** Says that the worker still works on these events; no effect on events that another worker has claimed. */
  touch(worker: string, ids: string[]): Promise<void>;
  /**
   * Ends events: removes each from the queue and writes its delivery record in one step. No effect for an event that is
   * no longer in the queue, because another worker has ended it.
   */
  finish(deliveries: Delivery[]): Promise<void>;
  /**
   * Gives an event back, to be taken again later with one more attempt; the record shows why. No effect if it is no
   * longer in the queue.
   *
   * @param afterMs delay by the store's clock
   */
  retryLater(delivery: Delivery, afterMs: number): Promise<void>;
  /** Replaces the record of an event that has ended; no effect if there is none, or the event is in the queue. */
  amend(delivery: Delivery): Promise<void>;
  /** Events queued, in work or waiting for a retry. */
  depth(): Promise<number>;
  /** When the oldest event that is queued, in work or waiting for a retry was received, epoch ms; undefined: there is none. */
  oldest(): Promise<number | undefined>;
  /** Newest first. Without a namespace, those of all namespaces. */
  deliveries(
    query: { namespace?: string; state?: Delivery["state"]; limit: number; continue?: string },
  ): Promise<{ items: Delivery[]; continue?: string }>;
  delivery(namespace: string, id: string): Promise<Delivery | undefined>;
  /**
   * Drops records beyond `maxCount` in a namespace or older than `maxAgeMs`, but never those of events in the queue. Dead
   * letters have the same bound for themselves: events that come later do not displace them.
   *
   * @param kept ids of records that stay, by namespace
   */
  trimDeliveries(
    maxCount: number,
    maxAgeMs: number,
    kept?: ReadonlyMap<string, readonly string[]>,
  ): Promise<void>;
}
