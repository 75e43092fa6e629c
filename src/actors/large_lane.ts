/**
 * Large workflows that are growing take the lane one after the other, so that the memory of a replica holds one of them at a
 * time and not all. Small ones never wait here; nor does anything but growing: commands and outcomes are always taken in.
 */
import type { Clock } from "../platform/clock.ts";
import type { ActorId, Lease } from "../store/port.ts";

/** Weight from which a workflow is large: 10,000 nodes, or 8 MB. */
const LARGE = 1_000;
/** How long one that has the lane may be silent before another gets it, ms. */
const SILENCE_MS = 10_000;
/** How long those that wait do so before they ask again, ms. */
export const LANE_WAIT_MS = 250;

export class LargeLane {
  readonly #clock: Clock;
  /** Large workflows that are growing. */
  readonly #large = new Map<ActorId, Lease>();
  #holder: ActorId | undefined;
  #heardAt = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** May it grow now? One that may has the lane, if it is large. */
  mayGrow(actor: ActorId): boolean {
    if (!this.#large.has(actor) || this.#holder === actor) return true;
    const now = this.#clock.monotonic();
    if (this.#holder !== undefined && now - this.#heardAt < SILENCE_MS) return false;
    this.#holder = actor;
    this.#heardAt = now;
    return true;
  }

  /** Notes what became of an actor in its turn. */
  note(actor: ActorId, lease: Lease, weight: number, isGrowing: boolean): void {
    if (!isGrowing || weight < LARGE) {
      if (this.#large.size > 0) this.#forget(actor);
      return;
    }
    this.#large.set(actor, lease);
    this.#holder ??= actor;
    if (this.#holder === actor) this.#heardAt = this.#clock.monotonic();
  }

  /** Forgets the actors of a lease that is gone. */
  dropLease(lease: Lease): void {
    for (const [actor, own] of this.#large) if (own === lease) this.#forget(actor);
  }

  #forget(actor: ActorId): void {
    this.#large.delete(actor);
    if (this.#holder === actor) this.#holder = undefined;
  }
}
