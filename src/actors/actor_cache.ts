/**
 * The actors of one replica that are in memory. Bounded: beyond the limit those that were not touched for longest leave
 * (passivation); they are hydrated again when a command comes. Pinned ones (in a batch) stay. An entry belongs to the
 * lease under which it was hydrated: after the shard was lost and taken again, it is not found any more.
 */
import type { ActorId, Lease } from "../store/port.ts";
import type { HotEntry } from "./hot_actor.ts";

interface Slot {
  entry: HotEntry;
  lease: Lease;
  weight: number;
  pins: number;
}

export class ActorCache {
  /** In order of use, oldest first. */
  readonly #slots = new Map<ActorId, Slot>();
  readonly #limit: number;
  #weight = 0;

  /** @param limit total weight, in units of a small workflow */
  constructor(limit: number) {
    this.#limit = limit;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The actor, moved to the young end, and pinned until `unpin`. */
  pin(id: ActorId, lease: Lease): HotEntry | undefined {
    const slot = this.#find(id, lease);
    if (!slot) return undefined;
    this.#slots.delete(id);
    this.#slots.set(id, slot);
    slot.pins++;
    return slot.entry;
  }

  /** Puts an actor in, pinned. */
  add(id: ActorId, lease: Lease, entry: HotEntry): void {
    this.#remove(id);
    this.#slots.set(id, { entry, lease, weight: 0, pins: 1 });
  }

  /** Weighs the actor again and lets it be evicted; removes it when it no longer exists. */
  unpin(id: ActorId, lease: Lease): void {
    const slot = this.#find(id, lease);
    if (!slot) return;
    slot.pins--;
    if (!slot.entry.actor.exists()) return this.#remove(id);
    const weight = slot.entry.actor.weight();
    this.#weight += weight - slot.weight;
    slot.weight = weight;
    this.#evict();
  }

  drop(id: ActorId, lease: Lease): void {
    if (this.#find(id, lease)) this.#remove(id);
  }

  /** Forgets all actors of a lease that is gone. */
  dropLease(lease: Lease): void {
    for (const [id, slot] of this.#slots) if (slot.lease === lease) this.#remove(id);
  }

  #find(id: ActorId, lease: Lease): Slot | undefined {
    const slot = this.#slots.get(id);
    return slot?.lease === lease ? slot : undefined;
  }

  #remove(id: ActorId): void {
    const slot = this.#slots.get(id);
    if (!slot) return;
    this.#weight -= slot.weight;
    this.#slots.delete(id);
  }

  #evict(): void {
    if (this.#weight <= this.#limit) return;
    for (const [id, slot] of this.#slots) {
      if (slot.pins > 0) continue;
      this.#remove(id);
      if (this.#weight <= this.#limit) return;
    }
  }
}
