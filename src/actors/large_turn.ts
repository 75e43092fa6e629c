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

/** Another batch has the turn: the commands for this actor must wait, and those for others need not. */
export class TurnTaken extends Error {
  readonly actor: ActorId;
  constructor(actor: ActorId) {
    super("another large actor is at work");
    this.actor = actor;
  }
}

/** The turn of the batches of one shard. */
export class LargeTurn {
  readonly #places: FairLimiter;
  #actor: ActorId | undefined;
  #held: string | undefined;
  /** Asked for and granted, for the next batch. */
  #next: ActorId | undefined;

  /** @param places one, shared by all shards of the replica */
  constructor(places: FairLimiter) {
    this.#places = places;
  }

  /** A batch begins: it has what was asked for before. */
  begin(): void {
    if (this.#next === undefined) return;
    this.#actor = this.#next;
    this.#held = namespaceOf(this.#next);
    this.#next = undefined;
  }

  /**
   * This actor is to be loaded.
   * @throws {SeveralLarge} when the batch has loaded another one
   * @throws {TurnTaken} when its turn has not come: `ask` for it
   */
  take(actor: ActorId): void {
    if (this.#actor === actor) return;
    if (this.#actor !== undefined) throw new SeveralLarge(this.#actor, actor);
    const name = namespaceOf(actor);
    if (this.#places.isFull(name)) throw new TurnTaken(actor);
    void this.#places.enter(name);
    this.#actor = actor;
    this.#held = name;
  }

  /** Waits until this actor may be loaded by the next batch. @throws {unknown} the reason of the signal */
  async ask(actor: ActorId, signal: AbortSignal): Promise<void> {
    const name = namespaceOf(actor);
    await this.#places.enter(name, signal);
    // It may have been granted just before.
    if (signal.aborted) this.#places.leave(name);
    signal.throwIfAborted();
    this.#next = actor;
  }

  /** Gives the turn to the next batch. */
  release(): void {
    if (this.#held !== undefined) this.#places.leave(this.#held);
    this.#held = undefined;
    this.#actor = undefined;
  }

  /** Gives up what was granted, too: there is no next batch. */
  drop(): void {
    this.release();
    this.begin();
    this.release();
  }
}
