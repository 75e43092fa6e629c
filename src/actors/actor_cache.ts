/**
 * The actors of one replica that are in memory. Bounded: beyond the limit those that were not touched for longest leave
 * (passivation); they are hydrated again when a command comes. Pinned ones (in a batch) stay.
 */
import type { ActorId } from "../store/port.ts";
import type { HotEntry } from "./hot_actor.ts";

interface Slot {
  entry: HotEntry;
  shard: number;
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
  pin(id: ActorId): HotEntry | undefined {
    const slot = this.#slots.get(id);
    if (!slot) return undefined;
    this.#slots.delete(id);
    this.#slots.set(id, slot);
    slot.pins++;
    return slot.entry;
  }

  /** Puts an actor in, pinned. */
  add(id: ActorId, shard: number, entry: HotEntry): void {
    this.drop(id);
    this.#slots.set(id, { entry, shard, weight: 0, pins: 1 });
  }

  /** Weighs the actor again and lets it be evicted; removes it when it no longer exists. */
  unpin(id: ActorId): void {
    const slot = this.#slots.get(id);
    if (!slot) return;
    slot.pins--;
    if (!slot.entry.actor.exists()) return this.drop(id);
    const weight = slot.entry.actor.weight();
    this.#weight += weight - slot.weight;
    slot.weight = weight;
    this.#evict();
  }

  drop(id: ActorId): void {
    const slot = this.#slots.get(id);
    if (!slot) return;
    this.#weight -= slot.weight;
    this.#slots.delete(id);
  }

  /** Forgets all actors of a shard that is no longer ours. */
  dropShard(shard: number): void {
    for (const [id, slot] of this.#slots) if (slot.shard === shard) this.drop(id);
  }

  #evict(): void {
    if (this.#weight <= this.#limit) return;
    for (const [id, slot] of this.#slots) {
      if (slot.pins > 0) continue;
      this.drop(id);
      if (this.#weight <= this.#limit) return;
    }
  }
}
