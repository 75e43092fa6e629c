/**
 * Large actors are brought into memory one at a time on each replica: decoded, one takes several times its stored text, and
 * commands to many at once could use up the heap. The batch that loads one holds the turn until it is committed.
 */
import type { FairLimiter } from "../platform/fair_limiter.ts";
import type { ActorId, LoadBounds } from "../store/port.ts";
import { namespaceOf } from "./actor_ids.ts";

/** What needs no turn. */
export const SMALL_ACTOR: LoadBounds = { maxNodes: 2_000, maxSize: 2 ** 21 };

/** Another large actor has the turn: the commands for this one must wait, and those for others need not. */
export class TurnTaken extends Error {
  constructor() {
    super("another large actor is at work");
  }
}

/** The turn of the batches of one shard. */
export class LargeTurn {
  readonly #places: FairLimiter;
  /** Has the turn. */
  #actor: ActorId | undefined;
  /** Has it in the next batch. */
  #next: ActorId | undefined;
  #refused = new Set<ActorId>();

  /** @param places one, shared by all shards of the replica */
  constructor(places: FairLimiter) {
    this.#places = places;
  }

  /** A batch begins: it has what was asked for before. */
  begin(): void {
    this.#actor = this.#next;
    this.#next = undefined;
  }

  /**
   * This actor is to be loaded.
   * @throws {TurnTaken} when another one has the turn, in this batch or elsewhere: `ask` for it
   */
  take(actor: ActorId): void {
    if (this.#actor === actor) return;
    const name = namespaceOf(actor);
    if (this.#actor !== undefined || this.#places.isFull(name)) {
      this.#refused.add(actor);
      throw new TurnTaken();
    }
    void this.#places.enter(name);
    this.#actor = actor;
  }

  /** The actors to which the turn was refused since this was asked. */
  takeRefused(): ReadonlySet<ActorId> {
    const refused = this.#refused;
    if (refused.size > 0) this.#refused = new Set();
    return refused;
  }

  /**
   * Waits until this actor may be loaded by the next batch.
   * @param granted called as soon as it may be
   * @throws {unknown} the reason of the signal
   */
  async ask(actor: ActorId, signal: AbortSignal, granted: () => void): Promise<void> {
    const name = namespaceOf(actor);
    await this.#places.enter(name, signal);
    // It may have been granted just before.
    if (signal.aborted) this.#places.leave(name);
    signal.throwIfAborted();
    this.#next = actor;
    granted();
  }

  /**
   * Keeps the turn while a batch is tried again, if it still has commands for its actor. Given back each time, it would be
   * lost to others each time.
   */
  keepFor(commands: readonly { actor: ActorId }[]): void {
    if (!commands.some(({ actor }) => actor === this.#actor)) this.release();
  }

  /** Gives the turn to another batch. */
  release(): void {
    if (this.#actor !== undefined) this.#places.leave(namespaceOf(this.#actor));
    this.#actor = undefined;
  }

  /** Gives up what was granted, too: there is no next batch. */
  drop(): void {
    this.release();
    this.begin();
    this.release();
  }
}
