/** Clients that run workflows of the async-job kind one after the other, steps as processes included. */
import { emptyLedger, runJob } from "../support/async_jobs.ts";
import type { Outcome } from "./scenario.ts";

export class JobLoad {
  readonly #ledger = emptyLedger();
  readonly #clients: Promise<void>[];
  #isRunning = true;
  #next = 0;
  #done = 0;

  /** @param url where to send: one address for each request */
  constructor(url: () => string, clients: number) {
    this.#clients = Array.from({ length: clients }, async () => {
      while (this.#isRunning) {
        await runJob(url, `job-${this.#next++}`, this.#ledger);
        this.#done++;
      }
    });
  }

  /** Workflows seen through so far. */
  get done(): number {
    return this.#done;
  }

  /** Begins no more workflows; resolves when those under way have ended. */
  async verdict(): Promise<Outcome> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
    const { violations, resumed, finished } = this.#ledger;
    return {
      violations,
      // A resume whose answer got lost is not counted.
      alive: { done: resumed.size, wanted: Math.max(5, Math.ceil(this.#done / 2)) },
      figures: { jobs: this.#done, resumed: resumed.size, finishedNodes: finished.size },
    };
  }
}
