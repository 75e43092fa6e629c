/**
 * The deliveries of one subscription on this replica: in order where they belong together, several at a time otherwise. A
 * receiver that fails again and again is left alone for a while (its circuit is open); then one delivery is tried.
 */
import { errorText } from "../../base/error_text.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Ids } from "../../platform/ids.ts";
import type { WebhookDelivery } from "./delivery.ts";

/** Deliveries under way at once. */
const MAX_AT_ONCE = 8;
/** Failures in a row that open the circuit. */
const MAX_FAILURES = 5;
const FIRST_WAIT_MS = 500;
const MAX_WAIT_MS = 60_000;

/** A delivery that waits or is under way. */
export interface Entry {
  delivery: WebhookDelivery;
  /** Characters of what it holds. */
  size: number;
  attempts: number;
  /** When this replica took it, epoch ms. */
  takenAt: number;
  /** Why the last attempt failed. */
  reason: string;
  /** False when another replica has it: it is forgotten here. */
  isHeld(): boolean;
}

/** What an attempt came to. */
export type AttemptResult =
  | { type: "done" }
  /** It is not tried again: it has gone elsewhere. */
  | { type: "over" }
  | { type: "failed"; reason: string; retryAfterMs?: number };

export interface TargetDeps {
  clock: Pick<Clock, "now" | "after">;
  ids: Pick<Ids, "fraction">;
  attempt(entry: Entry): Promise<AttemptResult>;
  /** Tells whether an entry has been tried for so long that it is given up. */
  isOverdue(entry: Entry): boolean;
  /** Gives an entry up. Resolves when that is durable; never rejects. */
  bury(entry: Entry): Promise<void>;
  /** The receiver has failed so often that it is left alone for a while. Called once until it is back. */
  onOpen(reason: string): void;
  /** The receiver is back. */
  onClose(): void;
  /** Nothing is left. */
  onEmpty(): void;
}

/** Deliveries that arrive one after the other. */
interface Lane {
  order: string;
  entries: Entry[];
  /** One of them is under way, or its turn has not come again. */
  isBusy: boolean;
  cancelWait: (() => void) | undefined;
}

export class Target {
  readonly #deps: TargetDeps;
  readonly #lanes = new Map<string, Lane>();
  /** Lanes whose first entry may be tried. */
  #ready: Lane[] = [];
  #underWay = 0;
  #failures = 0;
  /** How often in a row the circuit was opened. */
  #opened = 0;
  /** Cancels the end of the pause. */
  #cancelPause: (() => void) | undefined;
  /** The pause is over, and one delivery shows whether the receiver is back. */
  #isProbing = false;
  #isStopped = false;
  #count = 0;
  #size = 0;

  constructor(deps: TargetDeps) {
    this.#deps = deps;
  }

  /** Deliveries that wait or are under way. */
  get count(): number {
    return this.#count;
  }

  /** Characters of what they hold. */
  get size(): number {
    return this.#size;
  }

  get isOpen(): boolean {
    return this.#cancelPause !== undefined || this.#isProbing;
  }

  add(entry: Entry): void {
    const { order } = entry.delivery;
    let lane = this.#lanes.get(order);
    if (lane === undefined) {
      this.#lanes.set(order, lane = { order, entries: [], isBusy: false, cancelWait: undefined });
    }
    lane.entries.push(entry);
    this.#count++;
    this.#size += entry.size;
    if (lane.entries.length === 1 && !lane.isBusy) this.#ready.push(lane);
    this.#pump();
  }

  /** Forgets everything that waits. */
  stop(): void {
    this.#isStopped = true;
    this.#cancelPause?.();
    for (const { cancelWait } of this.#lanes.values()) cancelWait?.();
    this.#lanes.clear();
    this.#ready = [];
  }

  #pump(): void {
    if (this.#isStopped) return;
    while (this.#ready.length > 0 && this.#mayBegin()) {
      const lane = this.#ready.shift();
      if (lane !== undefined) this.#begin(lane);
    }
    if (this.#count === 0 && this.#underWay === 0) this.#deps.onEmpty();
  }

  #mayBegin(): boolean {
    if (this.#cancelPause !== undefined) return false;
    return this.#underWay < (this.#isProbing ? 1 : MAX_AT_ONCE);
  }

  #begin(lane: Lane): void {
    // It may stand among the ready ones twice.
    if (lane.isBusy || lane.cancelWait !== undefined) return;
    const [entry] = lane.entries;
    if (entry === undefined) return this.#remove(lane);
    if (!entry.isHeld()) {
      this.#shift(lane, entry);
      this.#next(lane);
      return;
    }
    lane.isBusy = true;
    this.#underWay++;
    entry.attempts++;
    void this.#deps.attempt(entry).catch((cause: unknown): AttemptResult => {
      // A defect of ours: the others must not wait for ever.
      return { type: "failed", reason: errorText(cause) };
    }).then(async (result) => {
      // The rows stay with the shard, for its next owner.
      if (this.#isStopped) return;
      const isLast = result.type === "failed" && this.#fails(entry, result.reason);
      // What is given up goes before what comes after it.
      if (isLast) await this.#deps.bury(entry);
      this.#underWay--;
      lane.isBusy = false;
      if (result.type !== "failed") this.#succeeded();
      else this.#failed(result);
      if (result.type === "failed" && !isLast) this.#wait(lane, entry, result.retryAfterMs);
      else {
        this.#shift(lane, entry);
        this.#next(lane);
      }
      this.#pump();
    });
  }

  /** Notes a failure; true when it was the last one. */
  #fails(entry: Entry, reason: string): boolean {
    entry.reason = reason;
    return this.#deps.isOverdue(entry);
  }

  #succeeded(): void {
    const wasOpened = this.#opened > 0;
    this.#failures = 0;
    this.#opened = 0;
    this.#isProbing = false;
    if (!wasOpened) return;
    this.#deps.onClose();
    // It is back, so nobody waits any longer.
    for (const lane of this.#lanes.values()) if (lane.cancelWait !== undefined) this.#wake(lane);
  }

  #failed({ reason, retryAfterMs = 0 }: Extract<AttemptResult, { type: "failed" }>): void {
    this.#failures++;
    if (this.#failures < MAX_FAILURES || this.#cancelPause !== undefined) return;
    if (this.#opened === 0) this.#deps.onOpen(reason);
    this.#isProbing = false;
    const waitMs = Math.max(this.#backoff(this.#opened++ + 1), Math.min(retryAfterMs, MAX_WAIT_MS));
    this.#cancelPause = this.#deps.clock.after(waitMs, () => {
      this.#cancelPause = undefined;
      this.#isProbing = true;
      for (const lane of this.#lanes.values()) if (lane.cancelWait !== undefined) this.#wake(lane);
      void this.#sweep().then(() => this.#pump());
    });
  }

  /** Gives up what has waited too long, and forgets what others have. */
  async #sweep(): Promise<void> {
    for (const lane of [...this.#lanes.values()]) {
      while (!lane.isBusy) {
        const [entry] = lane.entries;
        if (entry === undefined) break;
        if (entry.isHeld()) {
          if (!this.#deps.isOverdue(entry)) break;
          lane.isBusy = true;
          await this.#deps.bury(entry);
          lane.isBusy = false;
        }
        this.#shift(lane, entry);
        // Its turn may have come and gone while it was busy.
        this.#next(lane);
      }
    }
  }

  #wait(lane: Lane, entry: Entry, retryAfterMs = 0): void {
    const waitMs = Math.max(this.#backoff(entry.attempts), Math.min(retryAfterMs, MAX_WAIT_MS));
    lane.cancelWait = this.#deps.clock.after(waitMs, () => {
      this.#wake(lane);
      this.#pump();
    });
  }

  #wake(lane: Lane): void {
    lane.cancelWait?.();
    lane.cancelWait = undefined;
    this.#ready.push(lane);
  }

  #backoff(attempts: number): number {
    const { ids } = this.#deps;
    const most = Math.min(MAX_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempts - 1, 20));
    return most * (0.5 + ids.fraction() / 2);
  }

  #shift(lane: Lane, entry: Entry): void {
    if (lane.entries[0] !== entry) return;
    lane.entries.shift();
    this.#count--;
    this.#size -= entry.size;
  }

  #next(lane: Lane): void {
    if (lane.entries.length > 0) this.#ready.push(lane);
    else this.#remove(lane);
  }

  #remove(lane: Lane): void {
    if (this.#lanes.get(lane.order) === lane) this.#lanes.delete(lane.order);
  }
}
