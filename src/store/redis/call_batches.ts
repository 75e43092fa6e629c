/**
 * Carries out the requests of many callers in batches: those that come in one turn of the event loop, or during a call,
 * go together. The busier it is, the larger the batches.
 */
import { setImmediate } from "node:timers";

interface Waiting<T, R> {
  request: T;
  resolve: (result: R) => void;
  reject: (error: unknown) => void;
}

export class CallBatches<T, R> {
  readonly #max: number;
  readonly #call: (requests: T[]) => Promise<R[]>;
  #waiting: Waiting<T, R>[] = [];
  #isCalling = false;

  /**
   * @param max most requests in one call
   * @param call carries them out; its results are in the order of the requests
   */
  constructor(max: number, call: (requests: T[]) => Promise<R[]>) {
    this.#max = max;
    this.#call = call;
  }

  /** Fails if the call fails. The requests that wait for the next call then fail with it. */
  add(request: T): Promise<R> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ request, resolve, reject });
      if (this.#isCalling) return;
      this.#isCalling = true;
      void this.#run();
    });
  }

  async #run(): Promise<void> {
    while (this.#waiting.length > 0) {
      // Whoever got an answer may ask for more at once, and so may others in this turn.
      await new Promise((resolve) => setImmediate(resolve));
      const batch = this.#waiting.splice(0, this.#max);
      try {
        const results = await this.#call(batch.map(({ request }) => request));
        batch.forEach(({ resolve }, index) => resolve(results[index] as R));
      } catch (error) {
        // Those that wait would only wait as long again.
        for (const { reject } of [...batch, ...this.#waiting.splice(0)]) reject(error);
      }
    }
    this.#isCalling = false;
  }
}
