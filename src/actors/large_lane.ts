/**
 * Large workflows that are growing take the lane one after the other, so that the memory of a replica holds one of them at a
 * time and not all. While other actors are at work, the one that has the lane rests after each turn as long as the turn took:
 * it leaves them half of the thread, of the processors and of the store. Small ones never wait here; nor does anything but
 * growing: commands and outcomes are always taken in.
 */
import type { Clock } from "../platform/clock.ts";
import type { ActorId, Lease } from "../store/port.ts";

/** Weight from which a workflow is large: 10,000 nodes, or 8 MB. */
const LARGE = 1_000;
/** How long one that has the lane may be silent before another gets it, ms. */
const SILENCE_MS = 10_000;
/** How long those without the lane wait before they ask again, ms. */
const LANE_WAIT_MS = 250;
/** For how long after its last turn an actor counts as at work, ms. */
const AT_WORK_MS = 1_000;
/** Longest rest, ms. */
const MAX_REST_MS = 1_000;

export class LargeLane {
  readonly #clock: Clock;
  /** Large workflows that are growing. */
  readonly #large = new Map<ActorId, Lease>();
  #holder: ActorId | undefined;
  #heardAt = 0;
  /** When the holder's turn began. */
  #begunAt = 0;
  /** Until when the holder rests. */
  #restsUntil = 0;
  /** When another actor had its last turn. */
  #othersAt = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** How long an actor has to wait before it may grow, ms: 0 when its turn begins now. It has the lane then, if it is large. */
  waitOf(actor: ActorId): number {
    if (!this.#large.has(actor)) return 0;
    const now = this.#clock.monotonic();
    if (this.#holder !== actor) {
      if (this.#holder !== undefined && now - this.#heardAt < SILENCE_MS) return LANE_WAIT_MS;
      this.#holder = actor;
      this.#heardAt = now;
    } else if (now < this.#restsUntil) return this.#restsUntil - now;
    this.#begunAt = now;
    return 0;
  }

  /** Whether it is the one that grows: it has its next turn soon, and is costly to load. */
  holds(actor: ActorId): boolean {
    return this.#holder === actor;
  }

  /** Notes what became of an actor in its turn: call it when the turn is committed. */
  note(
    actor: ActorId,
    lease: Lease,
    weight: number,
    isGrowing: boolean,
    now = this.#clock.monotonic(),
  ): void {
    if (!isGrowing || weight < LARGE) {
      if (!this.#large.has(actor)) this.#othersAt = now;
      else this.#forget(actor);
      return;
    }
    if (!this.#large.has(actor)) this.#large.set(actor, lease);
    if (this.#holder === undefined) {
      this.#holder = actor;
      this.#begunAt = now;
    }
    if (this.#holder !== actor) return;
    this.#heardAt = now;
    const areOthersAtWork = now - this.#othersAt < AT_WORK_MS;
    this.#restsUntil = now + (areOthersAtWork ? Math.min(now - this.#begunAt, MAX_REST_MS) : 0);
    this.#begunAt = now;
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
