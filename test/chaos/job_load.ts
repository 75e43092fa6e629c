/** Clients that run workflows of the async-job kind one after another, with steps that run as processes. */
import { emptyLedger, runJob } from "../support/async_jobs.ts";
import type { Outcome } from "./scenario.ts";

export class JobLoad {
  readonly #ledger = emptyLedger();
  readonly #clients: Promise<void>[];
  #isRunning = true;
  #next = 0;
  #done = 0;

  /** @param url returns the address for each request */
  constructor(url: () => string, clients: number) {
    this.#clients = Array.from({ length: clients }, async () => {
      while (this.#isRunning) {
        await runJob(url, `job-${this.#next++}`, this.#ledger);
        this.#done++;
      }
    });
  }

  /** Workflows completed so far. */
  get done(): number {
    return this.#done;
  }

  /** Starts no more workflows; resolves when the running ones have ended. */
  async verdict(): Promise<Outcome> {
    this.#isRunning = false;
    await Promise.all(this.#clients);
    const { violations, resumed, finished } = this.#ledger;
    return {
      violations,
      // A resume whose answer was lost is not counted.
      alive: { done: resumed.size, wanted: Math.max(5, Math.ceil(this.#done / 2)) },
      figures: { jobs: this.#done, resumed: resumed.size, finishedNodes: finished.size },
    };
  }
}
