/**
 * What the parent of several server processes decides: whom to start again, after which pause, and when to give up. Pure:
 * no clock, no processes.
 */

/** Pause before a process that ended is started again, and how far the pause grows, ms. */
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;
/** A process that lived this long was well: the next pause is the first one again, ms. */
const WELL_MS = 10_000;

/** What follows from the end of a process. */
export type Decision =
  /** Start it again after a pause. */
  | { type: "restart"; pauseMs: number }
  /** No process ever became ready: stop the others, it would end them too. */
  | { type: "give-up" }
  /** Wait for the others to end. */
  | { type: "wait" }
  /** All are gone: end with this status. */
  | { type: "end"; status: number };

export class Supervision {
  /** Numbers of the processes that run. */
  readonly #running = new Set<number>();
  /** Numbers that were started. */
  readonly #known = new Set<number>();
  /** Those that are on their way for the first time: they listen already, and refuse requests. */
  readonly #starting = new Set<number>();
  /** How often in a row each process ended before it was well. */
  readonly #failures = new Map<number, number>();
  #wasReady = false;
  #isStopping = false;
  #status = 0;

  /** True from a stop on, and from the moment of giving up. */
  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** True when one serves, and no request comes to one that is still starting. */
  get areReady(): boolean {
    return this.#wasReady && this.#starting.size === 0;
  }

  started(number: number): void {
    this.#running.add(number);
    if (!this.#known.has(number)) this.#starting.add(number);
    this.#known.add(number);
  }

  /** A process serves requests. */
  ready(number: number): void {
    this.#wasReady = true;
    this.#starting.delete(number);
  }

  /** Nothing is started again. True when no process runs. */
  stop(): boolean {
    this.#isStopping = true;
    return this.#running.size === 0;
  }

  /**
   * A process ended.
   *
   * @param status its exit status; 128 and more: the number of a signal above that
   * @param livedMs how long it ran
   */
  ended(number: number, status: number, livedMs: number): Decision {
    this.#running.delete(number);
    this.#starting.delete(number);
    if (!this.#isStopping && this.#wasReady) return this.#restart(number, livedMs);
    const givesUp = !this.#isStopping;
    this.#isStopping = true;
    this.#status ||= status;
    if (this.#running.size === 0) return { type: "end", status: this.#status };
    return { type: givesUp ? "give-up" : "wait" };
  }

  #restart(number: number, livedMs: number): Decision {
    const failures = livedMs >= WELL_MS ? 0 : this.#failures.get(number) ?? 0;
    this.#failures.set(number, failures + 1);
    const pauseMs = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** failures);
    return { type: "restart", pauseMs };
  }
}
