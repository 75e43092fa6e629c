/**
 * Room in memory for reads of large workflows. A workflow of 64 MB takes several times that while it is decoded, shown and
 * sent, so a few readers at once could use up the heap. Each request that reads one takes room for it, and holds it until
 * its answer is sent; the others wait. Small workflows, and the many requests that read nothing large, never wait.
 */
import { unavailable } from "../../base/problem.ts";
import { SMALL_ACTOR } from "../../actors/large_turn.ts";
import type { LoadBounds, StoredActor } from "../../store/port.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import type { Clock } from "../../platform/clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";

/** Characters of stored text for which there is room at once; one that is larger has it alone. */
const ROOM = 2 ** 25;
/** Texts of large workflows that are loaded at once, or wait for room. */
const LOADS = 2;
/** How long a request waits for room, ms. */
const PATIENCE_MS = 30_000;

/** What a request holds. */
export class Hold {
  readonly #large: LargeReads;
  #size = 0;
  #isReleased = false;
  /** The answer is still being sent: whoever sends it releases. */
  isKept = false;

  constructor(large: LargeReads) {
    this.#large = large;
  }

  get size(): number {
    return this.#size;
  }

  /** A read that ends after its request, because another part of it failed, holds nothing. */
  add(size: number): void {
    if (this.#isReleased) this.#large.leave(size);
    else this.#size += size;
  }

  /** Gives everything back; a second call has no effect. */
  readonly release = (): void => {
    const size = this.#size;
    this.#isReleased = true;
    this.#size = 0;
    if (size > 0) this.#large.leave(size);
  };
}

export class LargeReads {
  readonly #loads = new FairLimiter(LOADS);
  readonly #patience: Deadlines;
  readonly #waiting: { size: number; begin: () => void }[] = [];
  #used = 0;

  constructor(clock: Clock) {
    this.#patience = new Deadlines(clock, PATIENCE_MS);
  }

  /**
   * Loads an actor; of a large one, once there is room for it.
   *
   * @param load loads it within bounds, or all of it
   * @param hold see {@link enter}
   * @throws {Problem} Unavailable when there is no room for a long time
   */
  async load(
    namespace: string,
    load: (bounds?: LoadBounds) => Promise<StoredActor | undefined>,
    hold?: Hold,
  ): Promise<StoredActor | undefined> {
    const small = await load(SMALL_ACTOR);
    if (small?.withoutNodes !== true) return small;
    return await this.#loads.run(namespace, async () => {
      const stored = await load();
      if (stored !== undefined) await this.enter(sizeOfParts(stored.parts), hold);
      return stored;
    });
  }

  /**
   * Takes room for what was read.
   *
   * @param hold of the request at work. One that already holds some goes on at once, because it could wait for itself. Absent:
   * outside of requests nothing is held
   * @throws {Problem} Unavailable when there is none for a long time
   */
  async enter(size: number, hold?: Hold): Promise<void> {
    if (hold === undefined || size <= SMALL_ACTOR.maxSize) return;
    if (hold.size === 0) await this.#wait(size);
    else this.#used += size;
    hold.add(size);
  }

  /**
   * Loads a page of a list and takes room for it. Where it must wait for room it is loaded again afterwards: the pages of all
   * those who wait would use up the heap.
   *
   * @param sizeOf characters of a page
   * @param hold see {@link enter}
   * @throws {Problem} as `enter`
   */
  async page<Page>(
    load: () => Promise<Page>,
    sizeOf: (page: Page) => number,
    hold?: Hold,
  ): Promise<Page> {
    let page: Page | undefined = await load();
    const size = sizeOf(page);
    const waits = hold?.size === 0 && size > SMALL_ACTOR.maxSize && !this.#isFree(size);
    if (waits) page = undefined;
    await this.enter(size, hold);
    return page ?? await load();
  }

  #isFree(size: number): boolean {
    return this.#waiting.length === 0 && this.#hasRoom(size);
  }

  leave(size: number): void {
    this.#used -= size;
    this.#admit();
  }

  #admit(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      if (!this.#hasRoom(next.size)) return;
      this.#waiting.shift();
      this.#used += next.size;
      next.begin();
    }
  }

  #hasRoom(size: number): boolean {
    return this.#used === 0 || this.#used + size <= ROOM;
  }

  #wait(size: number): Promise<void> | void {
    if (this.#isFree(size)) {
      this.#used += size;
      return;
    }
    return new Promise((resolve, reject) => {
      const entry = {
        size,
        begin: () => {
          over();
          resolve();
        },
      };
      const over = this.#patience.add(() => {
        this.#waiting.splice(this.#waiting.indexOf(entry), 1);
        // Those behind it may need less.
        this.#admit();
        reject(unavailable("Too many large workflows are being read; try again"));
      });
      this.#waiting.push(entry);
    });
  }
}
