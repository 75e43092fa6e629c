/**
 * The actors of one replica that are in memory. Bounded: beyond the limit those that were not touched for longest leave
 * (passivation); they are hydrated again when a command comes. Those that rest - nothing of them is under way, they wait
 * for the world outside or are done - have a tenth of the room, so that memory follows what runs and not what waits. Pinned
 * ones (in a batch) stay, and so does the last one that was touched. The large one that is growing stays beside the others
 * and takes no room from them. An entry belongs to the lease under which it was hydrated: after the shard was lost and
 * taken again, it is not found any more.
 */
import type { ActorId, Lease } from "../store/port.ts";
import type { HotEntry } from "./hot_actor.ts";

/** Share of the room that resting actors may take. */
const RESTING_SHARE = 0.1;

interface Slot {
  entry: HotEntry;
  lease: Lease;
  weight: number;
  pins: number;
  group: Group;
}

/** Slots in order of use, oldest first, and their weight. */
interface Group {
  slots: Map<ActorId, Slot>;
  weight: number;
}

export class ActorCache {
  readonly #busy: Group = { slots: new Map(), weight: 0 };
  readonly #resting: Group = { slots: new Map(), weight: 0 };
  readonly #kept: Group = { slots: new Map(), weight: 0 };
  readonly #limit: number;

  readonly #mustStay: (id: ActorId) => boolean;

  /**
   * @param limit total weight, in units of a small workflow
   * @param mustStay which actors stay beside the others, whatever they weigh: few at a time
   */
  constructor(limit: number, mustStay: (id: ActorId) => boolean = () => false) {
    this.#limit = limit;
    this.#mustStay = mustStay;
  }

  get size(): number {
    return this.#busy.slots.size + this.#resting.slots.size + this.#kept.slots.size;
  }

  /** The actor, moved to the young end, and pinned until `unpin`. */
  pin(id: ActorId, lease: Lease): HotEntry | undefined {
    const slot = this.#find(id, lease);
    if (!slot) return undefined;
    const { slots } = slot.group;
    slots.delete(id);
    slots.set(id, slot);
    slot.pins++;
    return slot.entry;
  }

  /** Puts an actor in, pinned. */
  add(id: ActorId, lease: Lease, entry: HotEntry): void {
    this.#remove(id);
    this.#busy.slots.set(id, { entry, lease, weight: 0, pins: 1, group: this.#busy });
  }

  /** Weighs the actor again and lets it be evicted; removes it when it no longer exists. */
  unpin(id: ActorId, lease: Lease): void {
    const slot = this.#find(id, lease);
    if (!slot) return;
    slot.pins--;
    this.#remove(id);
    const { actor } = slot.entry;
    if (!actor.exists() || actor.isBare === true) return;
    slot.weight = actor.weight();
    const others = actor.rests() ? this.#resting : this.#busy;
    this.#put(id, slot, this.#mustStay(id) ? this.#kept : others);
    this.#evict(slot);
  }

  drop(id: ActorId, lease: Lease): void {
    if (this.#find(id, lease)) this.#remove(id);
  }

  /** Forgets all actors of a lease that is gone. */
  dropLease(lease: Lease): void {
    for (const { slots } of [this.#busy, this.#resting, this.#kept]) {
      for (const [id, slot] of slots) if (slot.lease === lease) this.#remove(id);
    }
  }

  #slotOf(id: ActorId): Slot | undefined {
    return this.#busy.slots.get(id) ?? this.#resting.slots.get(id) ?? this.#kept.slots.get(id);
  }

  #find(id: ActorId, lease: Lease): Slot | undefined {
    const slot = this.#slotOf(id);
    return slot?.lease === lease ? slot : undefined;
  }

  #put(id: ActorId, slot: Slot, group: Group): void {
    slot.group = group;
    group.slots.set(id, slot);
    group.weight += slot.weight;
  }

  #remove(id: ActorId): void {
    const slot = this.#slotOf(id);
    if (!slot) return;
    slot.group.slots.delete(id);
    slot.group.weight -= slot.weight;
  }

  /** @param last stays whatever it weighs: the next command is likely to be for it */
  #evict(last: Slot): void {
    const [resting, busy] = [this.#resting, this.#busy];
    for (const [id, slot] of this.#kept.slots) {
      if (this.#mustStay(id)) continue;
      this.#remove(id);
      this.#put(id, slot, busy);
    }
    this.#shrink(resting, last, () => resting.weight - this.#limit * RESTING_SHARE);
    this.#shrink(resting, last, () => resting.weight + busy.weight - this.#limit);
    this.#shrink(busy, last, () => resting.weight + busy.weight - this.#limit);
  }

  #shrink(group: Group, last: Slot, excess: () => number): void {
    if (excess() <= 0) return;
    for (const [id, slot] of group.slots) {
      if (slot.pins > 0 || slot === last) continue;
      this.#remove(id);
      if (excess() <= 0) return;
    }
  }
}
