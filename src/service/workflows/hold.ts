/** What a request holds of the room for large reads and answers. */
import type { Link } from "../../base/chain.ts";
import type { LargeReads, Sending } from "./large_reads.ts";

/** What one request holds; see {@link LargeReads}. */
export class Hold {
  readonly #large: LargeReads;
  /** To whose share it counts. */
  readonly party: string;
  readonly #goneSignal: (() => AbortSignal) | undefined;
  #size = 0;
  /** What of the room it has: no more than one caller may have. */
  #room = 0;
  #isReleased = false;
  #sending: Link<Sending> | undefined;
  /** The answer is still being sent: whoever sends it releases. */
  isKept = false;

  /** @param goneSignal aborts when nobody waits for the answer any more; called only when it is waited for something */
  constructor(large: LargeReads, party: string, goneSignal?: () => AbortSignal) {
    this.#large = large;
    this.party = party;
    this.#goneSignal = goneSignal;
  }

  /** Aborts when nobody waits for the answer any more; undefined: nobody can tell. */
  get gone(): AbortSignal | undefined {
    return this.#goneSignal?.();
  }

  get size(): number {
    return this.#size;
  }

  get room(): number {
    return this.#room;
  }

  /**
   * A read that ends after its request, because another part of it failed, holds nothing.
   * @param room was taken for it
   */
  add(size: number, room: number): void {
    if (this.#isReleased) return this.#large.leave(this.party, room);
    this.#size += size;
    this.#room += room;
  }

  /** Gives a part of it back. */
  give(size: number): void {
    this.#size -= Math.min(size, this.#size);
    if (this.#size === 0) this.#end();
    this.#leave(Math.max(0, this.#room - this.#size));
  }

  /**
   * Takes room for an answer that was made without any, and is in memory already.
   * @param hasBrief something else can be answered, so it does not wait long
   * @throws {Problem} DeadlineExceeded when there is none for a long time, or when too much waits for it
   */
  async enter(size: number, hasBrief = false): Promise<void> {
    await this.#large.enterMade(size, this, hasBrief);
  }

  /** The answer is being sent from now on, as long as it has room. @param cut ends that; it is called if others need its room */
  begin(cut: () => void): void {
    if (!this.#isReleased) this.#sending ??= this.#large.begin(this.party, cut);
  }

  /** Something of the answer was taken. */
  taken(): void {
    if (this.#sending !== undefined) this.#large.taken(this.#sending);
  }

  /** Gives everything back; a second call has no effect. */
  readonly release = (): void => {
    this.#isReleased = true;
    this.#size = 0;
    this.#end();
    this.#leave(this.#room);
  };

  #leave(room: number): void {
    this.#room -= room;
    this.#large.leave(this.party, room);
  }

  #end(): void {
    if (this.#sending !== undefined) this.#large.end(this.#sending);
    this.#sending = undefined;
  }
}
