/**
 * Carries out the requests of many callers in batches: those that come in one turn of the event loop, or while no further
 * call may begin, go together. The busier it is, the larger the batches. Where several calls may be under way, a long turn
 * need not end before the first of them begins.
 */
import { setImmediate } from "node:timers";

interface Waiting<T, R> {
  request: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

function requestOf<T>({ request }: { request: T }): T {
  return request;
}

/** How many calls are made, and how large they are. */
export interface CallBounds {
  /** Most requests in one call. */
  max: number;
  /** Most calls at the same time. @default 1 */
  maxCalls?: number;
  /** So many requests do not wait for the end of the turn. @default all do */
  enough?: number;
}

export class CallBatches<T, R> {
  readonly #max: number;
  readonly #call: (requests: T[]) => Promise<R[]>;
  readonly #maxCalls: number;
  readonly #enough: number;
  readonly #waiting: Waiting<T, R>[] = [];
  /** Calls under way. */
  #calls = 0;
  #isPlanned = false;

  /** @param call carries requests out; its results are in their order */
  constructor(
    { max, maxCalls = 1, enough = Infinity }: CallBounds,
    call: (requests: T[]) => Promise<R[]>,
  ) {
    this.#max = max;
    this.#maxCalls = maxCalls;
    this.#enough = enough;
    this.#call = call;
  }

  /** Fails if the call fails. The requests that wait for the next call then fail with it. */
  add(request: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#waiting.length >= this.#enough && this.#calls < this.#maxCalls) this.#begin();
      else this.#plan();
    });
  }

  #plan(): void {
    if (this.#isPlanned || this.#calls === this.#maxCalls || this.#waiting.length === 0) return;
    this.#isPlanned = true;
    // Whoever got an answer may ask for more at once, and so may others in this turn.
    setImmediate(this.#next);
  }

  readonly #next = (): void => {
    this.#isPlanned = false;
    if (this.#calls < this.#maxCalls && this.#waiting.length > 0) this.#begin();
  };

  #begin(): void {
    this.#calls++;
    const batch = this.#waiting.splice(0, this.#max);
    this.#call(batch.map(requestOf)).then((results) => {
      let at = 0;
      for (const { resolve } of batch) resolve(results[at++] as R);
      this.#goOn();
    }, (error: unknown) => {
      // Those that wait would only wait as long again.
      for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
      this.#goOn();
    });
  }

  #goOn(): void {
    this.#calls--;
    this.#plan();
  }
}
