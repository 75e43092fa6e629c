/**
 * Who may use a connection, and when. Only as many callers work at a time as there are connections; the others wait, not for
 * ever. Once the server was silent, a caller waits a moment for a ping, which all share, and is refused if there is no answer.
 */
import { Problem, unavailable } from "../../base/problem.ts";

/** Most callers that wait for a connection. */
const MAX_WAITING = 1_000;
/** How long a caller waits for a connection, ms. */
const PLACE_MS = 5_000;
/** How long after its begin callers wait for that ping, ms. */
const PROBE_MS = 1_000;

/** The server does not answer: the next caller meets the same. */
export class Silent extends Problem {}

export class Gate {
  #free: number;
  readonly #waiting = new Set<() => void>();
  readonly #ping: () => Promise<unknown>;
  /** Why the last caller had no answer; undefined while there are answers. */
  #silence: Silent | undefined;
  /** While it is found out whether the server answers again: ends with that, or when all have waited long enough for it. */
  #probed: Promise<void> | undefined;

  /** @param ping resolves when the server answers */
  constructor(places: number, ping: () => Promise<unknown>) {
    this.#free = places;
    this.#ping = ping;
  }

  /** Does work in a place. @throws {Problem} Unavailable, and what the work throws */
  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#silence !== undefined) {
      await (this.#probed ??= endsWithin(this.#findOut(), PROBE_MS));
      if (this.#silence !== undefined) throw this.#silence;
    }
    await this.#takePlace();
    try {
      if (this.#silence !== undefined) throw this.#silence;
      return await work();
    } catch (error) {
      if (error instanceof Silent) this.#silence = error;
      throw error;
    } finally {
      this.#leavePlace();
    }
  }

  /** Lets all go on that wait. */
  open(): void {
    for (const go of this.#waiting) go();
  }

  async #findOut(): Promise<void> {
    try {
      await this.#ping();
      this.#silence = undefined;
    } catch (error) {
      if (error instanceof Silent) this.#silence = error;
    } finally {
      this.#probed = undefined;
    }
  }

  async #takePlace(): Promise<void> {
    if (this.#free > 0) {
      this.#free--;
      return;
    }
    const busy = () => unavailable("The archive is busy");
    if (this.#waiting.size >= MAX_WAITING) throw busy();
    await new Promise<void>((resolve, reject) => {
      const go = () => {
        clearTimeout(timer);
        this.#waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(() => {
        this.#waiting.delete(go);
        reject(busy());
      }, PLACE_MS);
      this.#waiting.add(go);
    });
  }

  /** Gives the place to the one that waits for longest. */
  #leavePlace(): void {
    const [next] = this.#waiting;
    if (next === undefined) this.#free++;
    else next();
  }
}

/** Waits for the end of something, or for a time. */
async function endsWithin(end: Promise<void>, ms: number): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const over = new Promise<void>((resolve) => timer = setTimeout(resolve, ms));
  await Promise.race([end, over]);
  clearTimeout(timer);
}
