/**
 * The actors of one replica that are in memory. Bounded: beyond the limit those that were not touched for longest leave
 * (passivation); they are hydrated again when a command comes. Those that rest - nothing of them is under way, they wait
 * for the world outside or are done - have a tenth of the room, so that memory follows what runs and not what waits. Small
 * ones that wait count for that after a while: many are resumed soon, and to hydrate one costs as much as to resume it. So do
 * those that wait for a lock, whatever they weigh: most locks are granted at once, or when a neighbour is done. Pinned
 * ones (in a batch) stay, and so does the last one that was touched. The large one that is growing stays beside the others
 * and takes no room from them. An entry belongs to the lease under which it was hydrated: after the shard was lost and
 * taken again, it is not found any more.
 */
import { Chain, type Link } from "../base/chain.ts";
import type { Clock } from "../platform/clock.ts";
import type { ActorId, Lease } from "../store/port.ts";
import type { HotEntry } from "./hot_actor.ts";

/** Share of the room that resting actors may take for long. */
const RESTING_SHARE = 0.1;
/** A small one, and one that waits for a lock, counts for that only after this time, ms. */
const PAUSE_MS = 15_000;
const SMALL_WEIGHT = 10;

interface Slot {
  id: ActorId;
  entry: HotEntry;
  lease: Lease;
  weight: number;
  pins: number;
  group: Group;
  /** Its place in the group. */
  link: Link<Slot> | undefined;
  /** When it was touched last; monotonic, ms. */
  touchedAt: number;
}

/** Slots in order of use, oldest first, and their weight. */
interface Group {
  slots: Chain<Slot>;
  weight: number;
}

export class ActorCache {
  readonly #busy: Group = { slots: new Chain(), weight: 0 };
  readonly #resting: Group = { slots: new Chain(), weight: 0 };
  /** Small ones that began to wait a short while ago, and those that began to wait for a lock. */
  readonly #pausing: Group = { slots: new Chain(), weight: 0 };
  readonly #kept: Group = { slots: new Chain(), weight: 0 };
  /** Those of all groups. */
  readonly #slots = new Map<ActorId, Slot>();
  readonly #limit: number;
  readonly #clock: Pick<Clock, "monotonic" | "after">;
  readonly #mustStay: (id: ActorId) => boolean;
  #cancelLook: (() => void) | undefined;

  /**
   * @param limit total weight, in units of a small workflow
   * @param mustStay which actors stay beside the others, whatever they weigh: few at a time
   */
  constructor(
    limit: number,
    clock: Pick<Clock, "monotonic" | "after">,
    mustStay: (id: ActorId) => boolean = () => false,
  ) {
    this.#limit = limit;
    this.#clock = clock;
    this.#mustStay = mustStay;
  }

  get size(): number {
    return this.#slots.size;
  }

  /** The actor, moved to the young end, and pinned until `unpin`. */
  pin(id: ActorId, lease: Lease): HotEntry | undefined {
    const slot = this.#find(id, lease);
    if (!slot) return undefined;
    if (slot.link !== undefined) slot.group.slots.moveToEnd(slot.link);
    slot.pins++;
    return slot.entry;
  }

  /** Puts an actor in, pinned. */
  add(id: ActorId, lease: Lease, entry: HotEntry): void {
    this.#remove(id);
    const group = this.#busy;
    const slot = { id, entry, lease, weight: 0, pins: 1, group, link: undefined, touchedAt: 0 };
    this.#slots.set(id, slot);
    this.#join(slot, group);
  }

  /** Weighs the actor again and lets it be evicted; removes it when it no longer exists. */
  unpin(id: ActorId, lease: Lease, now = this.#clock.monotonic()): void {
    const slot = this.#find(id, lease);
    if (!slot) return;
    slot.pins--;
    const { actor } = slot.entry;
    if (!actor.exists() || actor.isBare === true) return this.#remove(id);
    this.#leave(slot);
    slot.weight = actor.weight();
    slot.touchedAt = now;
    this.#join(slot, this.#mustStay(id) ? this.#kept : this.#groupOf(slot));
    this.#evict(now, slot);
  }

  #groupOf({ entry: { actor }, weight }: Slot): Group {
    if (!actor.rests()) return this.#busy;
    if (actor.isOver?.() === true) return this.#resting;
    const mayPause = weight <= SMALL_WEIGHT || actor.awaitsLock?.() === true;
    return mayPause ? this.#pausing : this.#resting;
  }

  drop(id: ActorId, lease: Lease): void {
    if (this.#find(id, lease)) this.#remove(id);
  }

  /** Forgets all actors of a lease that is gone. */
  dropLease(lease: Lease): void {
    for (const [id, slot] of this.#slots) if (slot.lease === lease) this.#remove(id);
  }

  /** Looks no more for those that rest too long. */
  stop(): void {
    this.#cancelLook?.();
  }

  #find(id: ActorId, lease: Lease): Slot | undefined {
    const slot = this.#slots.get(id);
    return slot?.lease === lease ? slot : undefined;
  }

  #join(slot: Slot, group: Group): void {
    slot.group = group;
    if (slot.link === undefined) slot.link = group.slots.add(slot);
    else group.slots.moveToEnd(slot.link);
    group.weight += slot.weight;
  }

  #leave({ group, link, weight }: Slot): void {
    if (link !== undefined) group.slots.remove(link);
    group.weight -= weight;
  }

  #remove(id: ActorId): void {
    const slot = this.#slots.get(id);
    if (!slot) return;
    this.#slots.delete(id);
    this.#leave(slot);
  }

  /** @param last stays whatever it weighs: the next command is likely to be for it */
  #evict(now: number, last?: Slot): void {
    const pausing = this.#pausing;
    const resting = this.#resting;
    const busy = this.#busy;
    if (this.#kept.slots.first !== undefined) {
      for (const slot of this.#kept.slots) if (!this.#mustStay(slot.id)) this.#move(slot, busy);
    }
    const before = now - PAUSE_MS;
    // Nearly always the first one stays, and nothing more is to be done.
    if ((pausing.slots.first?.value.touchedAt ?? Infinity) <= before) {
      for (const slot of pausing.slots) {
        if (slot.pins > 0) continue;
        if (slot.touchedAt > before) break;
        this.#move(slot, resting);
      }
    }
    const mostResting = this.#limit * RESTING_SHARE;
    if (resting.weight > mostResting) {
      this.#shrink(resting, last, () => resting.weight - mostResting);
    }
    if (pausing.weight + resting.weight + busy.weight > this.#limit) {
      const excess = () => pausing.weight + resting.weight + busy.weight - this.#limit;
      for (const group of [resting, pausing, busy]) this.#shrink(group, last, excess);
    }
    if (pausing.slots.first === undefined) return;
    this.#cancelLook ??= this.#clock.after(PAUSE_MS, () => {
      this.#cancelLook = undefined;
      this.#evict(this.#clock.monotonic());
    });
  }

  #move(slot: Slot, group: Group): void {
    this.#leave(slot);
    this.#join(slot, group);
  }

  #shrink(group: Group, last: Slot | undefined, excess: () => number): void {
    if (excess() <= 0) return;
    for (const slot of group.slots) {
      if (slot.pins > 0 || slot === last) continue;
      this.#remove(slot.id);
      if (excess() <= 0) return;
    }
  }
}
