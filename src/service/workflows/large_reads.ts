/**
 * Room in memory for what requests read and answer. A workflow of 64 MB takes several times that while it is decoded, shown
 * and sent, and what a client does not read stays in memory, so a few clients could use up the heap. Each request that reads
 * or answers much takes room for it, and holds it until its answer is sent; the others wait. Meanwhile, whoever takes nothing
 * of their answer is cut off. Each caller has a share of the room, so that whoever reads little finds some at once, however much
 * others read or leave unread. Small reads and answers never wait and cost nothing here.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import { Chain, type Link } from "../../base/chain.ts";
import { Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { SMALL_ACTOR } from "../../actors/large_turn.ts";
import type { LoadBounds, StoredActor } from "../../store/port.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import type { Clock } from "../../platform/clock.ts";
import { Deadlines } from "../../platform/deadlines.ts";
import { FairLimiter } from "../../platform/fair_limiter.ts";
import { FairRoom } from "../../platform/fair_room.ts";
import { Turns } from "../../platform/turns.ts";
import type { Hold } from "./hold.ts";

/** What needs no room, characters. */
export const SMALL_READ = 2 ** 17;
/** Characters of stored text for which there is room at once. */
const ROOM = 2 ** 25;
/** Characters of answers that may wait for room, because they were not read but made. */
const MAX_WAITING = 2 ** 25;
/** Texts of large workflows that are loaded at once. */
const LOADS = 2;
/** How many large workflows are remembered by their size. */
const MAX_SIZES = 1_000;
/** Reads of small ones, and of pages of lists, at once: nobody knows how large they are before. */
const READS = 16;
const PAGES = 8;
/** How long a request waits for room, ms. */
const PATIENCE_MS = 30_000;
/** The same for an answer that has a brief form. */
const BRIEF_PATIENCE_MS = 10_000;
/** Whoever takes nothing of their answer for so long is cut off if others wait for room, ms. */
const STALE_MS = 5_000;

/** An answer on its way. */
export interface Sending {
  party: string;
  cut: () => void;
  /** When something of it was last taken, monotonic ms. */
  takenAt: number;
}

export class LargeReads {
  readonly #loads = new FairLimiter(LOADS);
  readonly #reads = new FairLimiter(READS);
  readonly #pages = new FairLimiter(PAGES);
  readonly #turns = new Turns();
  readonly #clock: Clock;
  readonly #patience: Deadlines;
  readonly #briefPatience: Deadlines;
  readonly #room = new FairRoom(ROOM);
  /** Of made answers that wait. */
  readonly #made = new FairRoom(MAX_WAITING);
  /** Of large workflows that were read last, by id. */
  readonly #sizes = new BoundedCache<string, number>(MAX_SIZES);
  /** Those who hold room for an answer, from the one that has taken nothing for longest. */
  readonly #sending = new Chain<Sending>();
  #isLooking = false;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#patience = new Deadlines(clock, PATIENCE_MS);
    this.#briefPatience = new Deadlines(clock, BRIEF_PATIENCE_MS);
  }

  /**
   * Loads an actor; of a large one, once there is room for it.
   *
   * @param id of the actor
   * @param load loads it within bounds, or all of it
   * @param hold see {@link enter}
   * @throws {Problem} Unavailable when there is no room for a long time
   */
  async load(
    id: string,
    load: (bounds?: LoadBounds) => Promise<StoredActor | undefined>,
    hold?: Hold,
  ): Promise<StoredActor | undefined> {
    const small = await this.#ifSmall(load, hold);
    if (small !== "large") return small;
    const whole = () => inTurn(this.#loads, load, hold);
    if (hold === undefined) return await whole();
    // It would be read in vain if there were no room for it afterwards.
    const known = hold.size === 0 ? this.#sizes.get(id) ?? 0 : 0;
    await this.enter(known, hold);
    return await this.#readInRoom(whole, (stored) => {
      const size = sizeOfActor(stored);
      this.#sizes.set(id, size);
      return Math.max(0, size - known);
    }, hold);
  }

  /**
   * A method of its own: whoever waits for room would still refer to what was read, and a spec alone may have megabytes.
   */
  async #ifSmall(
    load: (bounds: LoadBounds) => Promise<StoredActor | undefined>,
    hold: Hold | undefined,
  ): Promise<StoredActor | "large" | undefined> {
    const small = await this.loadSmall(() => load(SMALL_ACTOR), hold, sizeIfWhole);
    return small?.withoutNodes === true ? "large" : small;
  }

  /**
   * Loads an actor within bounds, and takes room for what it gets.
   *
   * @param hold see {@link enter}
   * @param sizeOf for how much of it there has to be room
   * @throws {Problem} as `enter`
   */
  async loadSmall(
    load: () => Promise<StoredActor | undefined>,
    hold?: Hold,
    sizeOf = sizeOfActor,
  ): Promise<StoredActor | undefined> {
    if (hold === undefined) return await load();
    return await this.#readInRoom(() => inTurn(this.#reads, load, hold), sizeOf, hold);
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
    if (!this.#takeAtOnce(size, hold)) await this.#wait(size, hold, tooManyReads);
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
    return await this.#readInRoom(() => inTurn(this.#pages, load, hold), sizeOf, hold);
  }

  async #readInRoom<Page>(
    load: () => Promise<Page>,
    sizeOf: (page: Page) => number,
    hold: Hold,
  ): Promise<Page> {
    // A store on this machine answers without a pause, and many may begin to read at the same moment.
    const found = await this.#turns.do(() => this.#orSize(load, sizeOf, hold));
    if (typeof found === "object" && found.isSmall) return found.page;
    // To read and to show it takes a while, and others may have begun at the same moment.
    await this.#turns.pause();
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
    if (!this.#takeAtOnce(size, hold)) return size;
    return { page, isSmall: false };
  }

  /** See {@link Hold.enter}. */
  async enterMade(size: number, hold: Hold, hasBrief: boolean): Promise<void> {
    if (this.#takeAtOnce(size, hold)) return;
    const waiting = Math.min(size, this.#made.most);
    if (!this.#made.enter(hold.party, waiting)) throw tooManyAnswers();
    try {
      await this.#wait(size, hold, tooManyAnswers, hasBrief ? this.#briefPatience : undefined);
    } finally {
      this.#made.leave(hold.party, waiting);
    }
  }

  /** Takes room if there is some. One that holds some already gets it in any case, up to what one caller may have. */
  #takeAtOnce(size: number, hold: Hold): boolean {
    const room = Math.min(size, this.#room.most - hold.room);
    if (hold.size > 0) this.#room.take(hold.party, room);
    else if (!this.#room.enter(hold.party, room)) return false;
    hold.add(size, room);
    return true;
  }

  /** See {@link Hold.begin}. */
  begin(party: string, cut: () => void): Link<Sending> {
    return this.#sending.add({ party, cut, takenAt: this.#clock.monotonic() });
  }

  /** See {@link Hold.taken}. */
  taken(sending: Link<Sending>): void {
    sending.value.takenAt = this.#clock.monotonic();
    this.#sending.moveToEnd(sending);
  }

  end(sending: Link<Sending>): void {
    this.#sending.remove(sending);
  }

  /**
   * Cuts off who has taken nothing for long, as long as others wait; looks again when the next one has. Who waits because he
   * has his share cuts off only answers of his own.
   */
  #cutStale(): void {
    const now = this.#clock.monotonic();
    for (const sending of this.#sending) {
      if (!this.#room.isAwaited) return;
      const left = sending.takenAt + STALE_MS - now;
      if (left > 0) return this.#look(left);
      if (this.#room.isShort || this.#room.isAwaitedBy(sending.party)) sending.cut();
    }
    if (this.#room.isAwaited) this.#look(STALE_MS);
  }

  #look(ms: number): void {
    if (this.#isLooking) return;
    this.#isLooking = true;
    this.#clock.after(ms, () => {
      this.#isLooking = false;
      this.#cutStale();
    }, true);
  }

  leave(party: string, room: number): void {
    this.#room.leave(party, room);
  }

  /**
   * @param tooLate what it fails with in the end
   * @throws {Problem} Canceled when its client is gone: those who are still there come sooner
   */
  async #wait(
    size: number,
    hold: Hold,
    tooLate: () => Problem,
    patience = this.#patience,
  ): Promise<void> {
    const room = Math.min(size, this.#room.most);
    const { gone } = hold;
    if (gone?.aborted === true) throw clientGone();
    await new Promise<void>((resolve, reject) => {
      const end = () => {
        over();
        gone?.removeEventListener("abort", leave);
      };
      const wait = this.#room.wait(hold.party, room, () => {
        end();
        resolve();
      });
      const giveUp = (problem: Problem) => {
        end();
        this.#room.giveUp(wait);
        reject(problem);
      };
      const over = patience.add(() => giveUp(tooLate()));
      const leave = () => giveUp(clientGone());
      gone?.addEventListener("abort", leave);
      this.#cutStale();
    });
    hold.add(size, room);
  }
}

/** Reads when there is a place for it. @throws {Problem} Canceled when the client is gone before */
async function inTurn<T>(
  places: FairLimiter,
  read: () => Promise<T>,
  hold: Hold | undefined,
): Promise<T> {
  const party = hold?.party ?? "";
  if (!places.isFull(party)) return await places.run(party, read);
  const gone = hold?.gone;
  try {
    return await places.run(party, read, gone);
  } catch (error) {
    throw gone?.aborted === true && error === gone.reason ? clientGone() : error;
  }
}

function sizeOfActor(stored: StoredActor | undefined): number {
  return stored === undefined ? 0 : sizeOfParts(stored.parts);
}

/** One that comes without its nodes is loaded again: it takes its room then, all at once. */
function sizeIfWhole(stored: StoredActor | undefined): number {
  return stored?.withoutNodes === true ? 0 : sizeOfActor(stored);
}

function clientGone(): Problem {
  return new Problem(ProblemCode.Canceled, "the client is gone");
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
