/**
 * A thread for computations that may take long: one job after the other, so that the event loop stays free whatever a job
 * costs. It is started when it is needed, ended when nothing was asked of it for a while, and cut off when a job takes
 * too long.
 */
import { Worker } from "node:worker_threads";
import type { Clock } from "./clock.ts";

/** What a job may hold, MiB, where the runtime bounds it for a thread: on Node. */
const HEAP_MB = 1_024;

/** A job took longer than it may. */
export class JobTooLong extends Error {
  override name = "JobTooLong";
}

/** Too many jobs wait already. */
export class TooManyJobs extends Error {
  override name = "TooManyJobs";
}

export interface WorkThreadOptions {
  /** How long one job may take, ms. */
  jobMs: number;
  /** After how long without a job the thread is ended, ms. */
  idleMs: number;
  /** Jobs that may wait at most. */
  maxWaiting: number;
}

interface Job {
  text: string;
  resolve: (answer: string) => void;
  reject: (cause: unknown) => void;
}

export class WorkThread {
  readonly #module: URL;
  readonly #options: WorkThreadOptions;
  readonly #clock: Pick<Clock, "after">;
  #worker: Worker | undefined;
  #running: Job | undefined;
  readonly #waiting: Job[] = [];
  #cancelTimer = () => {};

  /** @param module answers each message, a text, with one message, a text */
  constructor(module: URL, options: WorkThreadOptions, clock: Pick<Clock, "after">) {
    this.#module = module;
    this.#options = options;
    this.#clock = clock;
  }

  /**
   * Gives the thread a text to work on; resolves with its answer.
   * @throws {JobTooLong} the thread was cut off
   * @throws {TooManyJobs} nothing was begun
   */
  run(text: string): Promise<string> {
    if (this.#waiting.length >= this.#options.maxWaiting) return Promise.reject(new TooManyJobs());
    return new Promise((resolve, reject) => {
      this.#waiting.push({ text, resolve, reject });
      this.#next();
    });
  }

  /** Ends the thread; jobs that are not done fail. */
  close(): void {
    const jobs = [...this.#running === undefined ? [] : [this.#running], ...this.#waiting];
    this.#waiting.length = 0;
    this.#running = undefined;
    this.#end();
    for (const { reject } of jobs) reject(new Error("the server stops"));
  }

  #next(): void {
    if (this.#running !== undefined) return;
    const job = this.#waiting.shift();
    this.#cancelTimer();
    if (job === undefined) {
      this.#cancelTimer = this.#clock.after(this.#options.idleMs, () => this.#end());
      return;
    }
    this.#running = job;
    this.#cancelTimer = this.#clock.after(this.#options.jobMs, () => {
      this.#end();
      this.#settle((ended) => ended.reject(new JobTooLong()));
    });
    (this.#worker ??= this.#start()).postMessage(job.text);
  }

  #start(): Worker {
    const worker = new Worker(this.#module, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MB },
    });
    // It keeps no process alive.
    worker.unref();
    const isOurs = () => this.#worker === worker;
    worker.on("message", (answer: string) => {
      if (isOurs()) this.#settle(({ resolve }) => resolve(answer));
    });
    const lost = (cause: unknown) => {
      if (!isOurs()) return;
      this.#worker = undefined;
      this.#settle(({ reject }) => reject(cause));
    };
    worker.on("error", lost);
    worker.on("exit", () => lost(new Error("the thread has ended")));
    return worker;
  }

  #settle(how: (job: Job) => void): void {
    const job = this.#running;
    this.#running = undefined;
    if (job !== undefined) how(job);
    this.#next();
  }

  #end(): void {
    this.#cancelTimer();
    const worker = this.#worker;
    // First, since on Deno it ends at once.
    this.#worker = undefined;
    void worker?.terminate();
  }
}
