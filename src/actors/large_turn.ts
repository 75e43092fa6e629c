/**
 * Large actors are brought into memory one at a time on each replica: decoded, one takes several times its stored text, and
 * commands to many at once could use up the heap. The batch that loads one holds the turn until it is committed.
 */
import type { FairLimiter } from "../platform/fair_limiter.ts";
import type { ActorId, LoadBounds } from "../store/port.ts";
import { namespaceOf } from "./actor_ids.ts";

/** What needs no turn. */
export const SMALL_ACTOR: LoadBounds = { maxNodes: 2_000, maxSize: 2 ** 21 };

/** A batch has commands for several large actors: it must be cut, so that each comes in a batch of its own. */
export class SeveralLarge extends Error {
  readonly actors: readonly [ActorId, ActorId];
  constructor(first: ActorId, second: ActorId) {
    super("several large actors in one batch");
    this.actors = [first, second];
  }
}

/** The place of a shard among those that work at once. */
interface Slot {
  leave(): void;
  enter(): Promise<void> | void;
}

/** The turn of one batch. */
export class LargeTurn {
  readonly #places: FairLimiter;
  readonly #slot: Slot;
  #actor: ActorId | undefined;
  #held: string | undefined;

  /**
   * @param places one, shared by all batches of the replica
   * @param slot what this batch gives to others while it waits
   */
  constructor(places: FairLimiter, slot: Slot) {
    this.#places = places;
    this.#slot = slot;
  }

  /**
   * Waits until this actor may be loaded.
   * @throws {SeveralLarge} when the batch has loaded another one
   */
  async take(actor: ActorId): Promise<void> {
    if (this.#actor === actor) return;
    if (this.#actor !== undefined) throw new SeveralLarge(this.#actor, actor);
    this.#actor = actor;
    const name = namespaceOf(actor);
    const waiting = this.#places.enter(name);
    if (waiting !== undefined) {
      this.#slot.leave();
      await waiting;
      await this.#slot.enter();
    }
    this.#held = name;
  }

  /** Gives the turn to the next batch. */
  release(): void {
    if (this.#held !== undefined) this.#places.leave(this.#held);
    this.#held = undefined;
    this.#actor = undefined;
  }
}
