/**
 * Room in memory for what requests read and answer. A workflow of 64 MB takes several times that while it is decoded, shown
 * and sent, and what a client does not read stays in memory, so a few clients could use up the heap. Each request that reads
 * or answers much takes room for it, and holds it until its answer is sent; the others wait. Meanwhile, whoever takes nothing
 * of their answer is cut off. Small reads and answers never wait and cost nothing here.
 */
import { Chain, type Link } from "../../base/chain.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { SMALL_ACTOR } from "../../actors/large_turn.ts";
import type { LoadBounds, StoredActor } from "../../store/port.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import type { Clock } from "../../platform/clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import { Turns } from "../../platform/turns.ts";

/** What needs no room, characters. */
export const SMALL_READ = 2 ** 17;
/** Characters of stored text for which there is room at once; one that is larger has it alone. */
const ROOM = 2 ** 25;
/** Characters of answers that may wait for room, because they were not read but made. */
const MAX_WAITING = 2 ** 25;
/** Texts of large workflows that are loaded at once, or wait for room. */
const LOADS = 2;
/** Reads of small ones, and of pages of lists, at once: nobody knows how large they are before. */
const READS = 48;
const PAGES = 8;
/** How long a request waits for room, ms. */
const PATIENCE_MS = 30_000;
/** Whoever takes nothing of their answer for so long is cut off if others wait for room, ms. */
const STALE_MS = 5_000;

/** An answer on its way. */
interface Sending {
  cut: () => void;
  /** When something of it was last taken, monotonic ms. */
  takenAt: number;
}

/** What a request holds. */
export class Hold {
  readonly #large: LargeReads;
  #size = 0;
  #isReleased = false;
  #sending: Link<Sending> | undefined;
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

  /** Gives a part of it back. */
  give(size: number): void {
    const given = Math.min(size, this.#size);
    this.#size -= given;
    if (this.#size === 0) this.#end();
    if (given > 0) this.#large.leave(given);
  }

  /**
   * Takes room for an answer that was made without any, and is in memory already.
   * @throws {Problem} DeadlineExceeded when there is none for a long time, or when too much waits for it
   */
  async enter(size: number): Promise<void> {
    await this.#large.enterMade(size, this);
  }

  /** The answer is being sent from now on, as long as it has room. @param cut ends that; it is called if others need its room */
  begin(cut: () => void): void {
    if (!this.#isReleased) this.#sending ??= this.#large.begin(cut);
  }

  /** Something of the answer was taken. */
  taken(): void {
    if (this.#sending !== undefined) this.#large.taken(this.#sending);
  }

  /** Gives everything back; a second call has no effect. */
  readonly release = (): void => {
    const size = this.#size;
    this.#isReleased = true;
    this.#size = 0;
    this.#end();
    if (size > 0) this.#large.leave(size);
  };

  #end(): void {
    if (this.#sending !== undefined) this.#large.end(this.#sending);
    this.#sending = undefined;
  }
}

export class LargeReads {
  readonly #loads = new FairLimiter(LOADS);
  readonly #reads = new FairLimiter(READS);
  readonly #pages = new FairLimiter(PAGES);
  readonly #clock: Clock;
  readonly #patience: Deadlines;
  readonly #waiting: { size: number; begin: () => void }[] = [];
  /** Those who hold room for an answer, from the one that has taken nothing for longest. */
  readonly #sending = new Chain<Sending>();
  #used = 0;
  /** Characters of made answers that wait. */
  #made = 0;
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
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
    const small = await this.loadSmall(namespace, () => load(SMALL_ACTOR), hold, sizeIfWhole);
    if (small?.withoutNodes !== true) return small;
    return await this.#loads.run(namespace, async () => {
      const stored = await load();
      if (stored !== undefined) await this.enter(sizeOfParts(stored.parts), hold);
      return stored;
    });
  }

  /**
   * Loads an actor within bounds, and takes room for what it gets.
   *
   * @param hold see {@link enter}
   * @param sizeOf for how much of it there has to be room
   * @throws {Problem} as `enter`
   */
  async loadSmall(
    namespace: string,
    load: () => Promise<StoredActor | undefined>,
    hold?: Hold,
    sizeOf = sizeOfActor,
  ): Promise<StoredActor | undefined> {
    if (hold === undefined) return await load();
    return await this.#readInRoom(() => this.#reads.run(namespace, load), sizeOf, hold);
  }

  /**
   * Takes room for what was read.
   *
   * @param hold of the request at work. One that already holds some goes on at once, because it could wait for itself. Absent:
   * outside of requests nothing is held
   * @throws {Problem} Unavailable when there is none for a long time
   */
  async enter(size: number, hold?: Hold): Promise<void> {
    if (hold === undefined || size <= SMALL_READ) return;
    if (hold.size === 0) await this.#wait(size, tooManyReads);
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
    if (hold === undefined) return await load();
    return await this.#readInRoom(() => this.#pages.run("", load), sizeOf, hold);
  }

  async #readInRoom<Page>(
    load: () => Promise<Page>,
    sizeOf: (page: Page) => number,
    hold: Hold,
  ): Promise<Page> {
    const found = await this.#orSize(load, sizeOf, hold);
    if (typeof found === "object" && found.isSmall) return found.page;
    // To read and to show it takes a while, and others may have begun at the same moment.
    await new Turns().pause();
    if (typeof found === "object") return found.page;
    await this.enter(found, hold);
    return await load();
  }

  /**
   * A page that has its room, or its size when it must wait for that. A method of its own: what waits would still refer to
   * the page.
   */
  async #orSize<Page>(
    load: () => Promise<Page>,
    sizeOf: (page: Page) => number,
    hold: Hold,
  ): Promise<{ page: Page; isSmall: boolean } | number> {
    const page = await load();
    const size = sizeOf(page);
    if (size <= SMALL_READ) return { page, isSmall: true };
    if (hold.size === 0 && !this.#isFree(size)) return size;
    this.#used += size;
    hold.add(size);
    return { page, isSmall: false };
  }

  /** See {@link Hold.enter}. */
  async enterMade(size: number, hold: Hold): Promise<void> {
    if (hold.size > 0 || this.#isFree(size)) {
      this.#used += size;
      return hold.add(size);
    }
    if (this.#made > 0 && this.#made + size > MAX_WAITING) throw tooManyAnswers();
    this.#made += size;
    try {
      await this.#wait(size, tooManyAnswers);
    } finally {
      this.#made -= size;
    }
    hold.add(size);
  }

  /** See {@link Hold.begin}. */
  begin(cut: () => void): Link<Sending> {
    return this.#sending.add({ cut, takenAt: this.#clock.monotonic() });
  }

  /** See {@link Hold.taken}. */
  taken(sending: Link<Sending>): void {
    sending.value.takenAt = this.#clock.monotonic();
    this.#sending.moveToEnd(sending);
  }

  end(sending: Link<Sending>): void {
    this.#sending.remove(sending);
  }

  /** Cuts off who has taken nothing for long, as long as others wait; looks again when the next one has. */
  readonly #cutStale = (): void => {
    this.#isLooking = false;
    while (this.#waiting.length > 0) {
      const first = this.#sending.first;
      if (first === undefined) return this.#look(STALE_MS);
      const left = first.value.takenAt + STALE_MS - this.#clock.monotonic();
      if (left > 0) return this.#look(left);
      this.#sending.remove(first);
      first.value.cut();
    }
  };

  #look(ms: number): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#clock.after(ms, this.#cutStale, true);
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

  /** @param tooLate what it fails with in the end */
  #wait(size: number, tooLate: () => Problem): Promise<void> | void {
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
        reject(tooLate());
      });
      this.#waiting.push(entry);
      if (!this.#isLooking) this.#cutStale();
    });
  }
}

function sizeOfActor(stored: StoredActor | undefined): number {
  return stored === undefined ? 0 : sizeOfParts(stored.parts);
}

/** One that comes without its nodes is loaded again: it takes its room then, all at once. */
function sizeIfWhole(stored: StoredActor | undefined): number {
  return stored?.withoutNodes === true ? 0 : sizeOfActor(stored);
}

function tooManyReads(): Problem {
  return unavailable("Too many large workflows are being read; try again");
}

function tooManyAnswers(): Problem {
  return new Problem(
    ProblemCode.DeadlineExceeded,
    "Too many large answers are being sent, so there is no room for this one; what was asked for may have been done",
  );
}
