/**
 * Counts the bytes that the bodies of all requests hold: for the whole process, and for each sender. A body counts from the
 * moment it is read until its request is answered, even while nothing of it arrives.
 */
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";

/** The share of all bytes that one sender may hold. */
const SENDER_SHARE = 1 / 2;
/** The share that all senders together may hold who have not proved who they are. */
const UNPROVED_SHARE = 1 / 4;
/** The share of that for one address. */
const ADDRESS_SHARE = 1 / 4;
/** When bytes may be free again, s. */
const RETRY_AFTER_SECONDS = 1;

/** To whom bytes count. */
export type BodySender =
  /** Has proved who it is. */
  | { type: "identity"; key: string }
  /** Has to prove who it is, and does so by the body itself. */
  | { type: "unproved"; address: string }
  /** Nobody has to prove anything here. */
  | { type: "anyone" };

/** The bytes of one body. */
export interface HeldBytes {
  /**
   * Counts more bytes.
   * @throws {Problem} ResourceExhausted (429) when the sender holds too much, Unavailable (503) when all senders together
   * do. Then nothing more is counted
   */
  add(bytes: number): void;
  /** Counts the bytes to another sender from now on. @throws {Problem} as `add`; then nothing is held any more */
  moveTo(sender: BodySender): void;
  /** Gives all bytes back. Bytes that are added later do not count. */
  release(): void;
}

/** A sum with a bound. */
interface Account {
  held: number;
  readonly most: number;
}

export interface LedgerOptions {
  /** Of all bodies together. */
  maxBytes: number;
  /** Of one body. The share of a sender is at least as large. */
  maxBodyBytes: number;
  /** Of one body that is read before its sender is proved. */
  maxEventBytes: number;
}

export class BodyLedger {
  readonly #all: Account;
  readonly #unproved: Account;
  /** Senders that hold something. */
  readonly #senders = new Map<string, Account>();
  readonly #senderMost: number;
  readonly #addressMost: number;

  constructor({ maxBytes, maxBodyBytes, maxEventBytes }: LedgerOptions) {
    const most = Math.max(maxBytes, maxBodyBytes, maxEventBytes);
    const unproved = Math.max(most * UNPROVED_SHARE, maxEventBytes);
    this.#all = { held: 0, most };
    this.#unproved = { held: 0, most: unproved };
    this.#senderMost = Math.max(most * SENDER_SHARE, maxBodyBytes, maxEventBytes);
    this.#addressMost = Math.max(unproved * ADDRESS_SHARE, maxEventBytes);
  }

  /** Bytes that are held now. */
  get held(): number {
    return this.#all.held;
  }

  /** Opens the account of one body, with nothing in it. */
  open(sender: BodySender): HeldBytes {
    return new Held(sender, this.#take);
  }

  readonly #take = (sender: BodySender, bytes: number): void => {
    const all = this.#all;
    if (bytes > 0 && all.held + bytes > all.most) {
      throw unavailable(
        `the bodies of other requests take all of --max-bodies-bytes (${all.most}); try again`,
        RETRY_AFTER_SECONDS,
      );
    }
    if (sender.type !== "anyone") {
      const isUnproved = sender.type === "unproved";
      const key = isUnproved ? `address ${sender.address}` : `identity ${sender.key}`;
      const most = isUnproved ? this.#addressMost : this.#senderMost;
      const own = this.#senders.get(key) ?? { held: 0, most };
      const group = isUnproved ? this.#unproved : own;
      for (const account of [own, group]) {
        if (bytes > 0 && account.held + bytes > account.most) throw tooMuch(account, isUnproved);
      }
      own.held += bytes;
      if (isUnproved) this.#unproved.held += bytes;
      if (own.held > 0) this.#senders.set(key, own);
      else this.#senders.delete(key);
    }
    all.held += bytes;
  };
}

class Held implements HeldBytes {
  #owner: BodySender;
  readonly #take: (sender: BodySender, bytes: number) => void;
  #bytes = 0;
  #isOver = false;

  constructor(owner: BodySender, take: (sender: BodySender, bytes: number) => void) {
    this.#owner = owner;
    this.#take = take;
  }

  add(bytes: number): void {
    if (this.#isOver) return;
    this.#take(this.#owner, bytes);
    this.#bytes += bytes;
  }

  moveTo(next: BodySender): void {
    const bytes = this.#bytes;
    this.#give();
    this.#owner = next;
    this.#take(next, bytes);
    this.#bytes = bytes;
  }

  release(): void {
    this.#give();
    this.#isOver = true;
  }

  #give(): void {
    if (this.#bytes > 0) this.#take(this.#owner, -this.#bytes);
    this.#bytes = 0;
  }
}

function tooMuch({ most }: Account, isUnproved: boolean): Problem {
  const whose = isUnproved ? "of senders without a credential" : "of your other requests";
  return new Problem(
    ProblemCode.ResourceExhausted,
    `the bodies ${whose} take all of the ${most} bytes that they may; try again when some are answered`,
    { retryAfterSeconds: RETRY_AFTER_SECONDS },
  );
}
