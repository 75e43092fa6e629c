/**
 * A steady stream of events, each of which makes a workflow that waits and is then resumed; and its ledger: what was
 * sent, what was answered, which workflows resulted, how often each was resumed, and how they ended.
 */
import {
  call,
  callOnce,
  type EventWorkflow,
  listEventWorkflows,
  prepare,
  submits,
  type Told,
} from "../support/event_ledger.ts";
import { type ChaosRun, type Outcome, wait } from "./scenario.ts";

const EVENTS = "/api/v1/events/default/load";
const WORKFLOWS = "/api/v1/workflows/default";
/** Posts in flight at once. */
const MAX_POSTS = 1_000;
/** Resumes in flight at once. Those of a shard with a dead owner wait, and must not delay the others. */
const MAX_RESUMES = 200;
/** Waiting workflows checked in one round. */
const MAX_LISTED = 300;
/** The workflows that wait to be resumed. */
const WAITING = "workflows.argoproj.io/phase=Running";
/** How long an answer that was sent before a loss may take to be heard, ms. Until then nothing new may be acknowledged. */
export const LATE_MS = 300;
/** The share of events that carry an Idempotency-Key and are repeated until the answer is 200. */
const KEYED = 2;

export interface EventLoadOptions {
  /** Returns the address for each request. */
  url(): string;
  /** Returns the address for reads and resumes. @default `url` */
  reliableUrl?(): string;
  perSecond: number;
  /**
   * Each post is sent once, on a connection of its own: where another process answers on the same port, one that the client
   * sends again by itself is another event. @default {false}
   */
  connectsAnew?: boolean;
  /** @default true; false leaves the workflows waiting */
  isResuming?: boolean;
  /** A `noteLoss` covers what was answered within this time before its beginning, ms. @default {0} */
  lossWindowMs?: number;
}

export class EventLoad {
  readonly #run: ChaosRun;
  readonly #options: EventLoadOptions;
  /** Number → last status, 0 for none. */
  readonly told: Told = new Map();
  /** Status → number of answers. */
  readonly statuses = new Map<number, number>();
  /** Workflow → number of answers 200 to its resume. */
  readonly #resumed = new Map<string, number>();
  /** Workflows whose resume was answered with 200. Only a second request would show a second resume. */
  readonly #settled = new Set<string>();
  readonly #violations: string[] = [];
  /** When each number was answered with 200, and when each workflow's resume was; monotonic ms. */
  readonly #acceptedAt = new Map<number, number>();
  readonly #resumedAt = new Map<string, number>();
  /** Spans of time of which data may have been lost. */
  readonly #losses: { from: number; to: number }[] = [];
  /** Workflows whose first resume may have been lost. */
  readonly #resumedTwice = new Set<string>();
  #lost = 0;
  #isPosting = false;
  #posts = 0;
  #posting: Promise<void> = Promise.resolve();
  #isEnding = false;
  #resuming: Promise<void> = Promise.resolve();

  constructor(run: ChaosRun, options: EventLoadOptions) {
    this.#run = run;
    this.#options = options;
  }

  /** Stores the binding and begins to post. */
  async start(): Promise<void> {
    await prepare(this.#options.url(), { every: submits('discriminator == "load"') });
    this.#isPosting = true;
    this.#posting = this.#postAll();
    if (this.#options.isResuming ?? true) this.#resuming = this.#resumeAll();
  }

  /**
   * Records that what was answered just before may have been lost, and since then.
   * @param from when the loss began, monotonic ms: on a busy machine, what causes one takes its time
   */
  noteLoss(from = performance.now()): void {
    this.#losses.push({ from, to: performance.now() });
    // They are resumed again in case the resume was undone.
    for (const [name, at] of this.#resumedAt) if (this.#mayBeLost(at)) this.#settled.delete(name);
  }

  #mayBeLost(answeredAt = -Infinity): boolean {
    const { lossWindowMs = 0 } = this.#options;
    if (lossWindowMs === 0) return false;
    return this.#losses.some(({ from, to }) =>
      answeredAt <= to + LATE_MS && answeredAt > from - lossWindowMs
    );
  }

  /** Events answered with 200 so far. */
  get accepted(): number {
    return this.statuses.get(200) ?? 0;
  }

  /** Stops posting; resolves when every post is answered or given up. */
  async stopPosting(): Promise<void> {
    this.#isPosting = false;
    await this.#posting;
  }

  /**
   * Waits until the workflow of every accepted event exists and is complete, then compares the ledger with the service.
   */
  async verdict(timeoutMs: number): Promise<Outcome> {
    await this.stopPosting();
    const deadline = performance.now() + timeoutMs;
    const url = this.#options.reliableUrl ?? this.#options.url;
    const isResuming = this.#options.isResuming ?? true;
    const wanted = () => [...this.told].filter(([, status]) => status === 200).length;
    for (let round = 1;; round++) {
      const open = await this.#openEvents(url()).catch(() => -1);
      const waiting = open === 0
        ? await listEventWorkflows(url(), WAITING).catch(() => undefined)
        : undefined;
      const done = open === 0 && waiting !== undefined && (!isResuming || waiting.length === 0);
      if (done) break;
      if (round % 30 === 0) {
        this.#run.say(`${open} events queued, ${waiting?.length} workflows wait`);
      }
      if (performance.now() > deadline) {
        this.#violations.push(`not done in time: ${open} events, ${waiting?.length} workflows`);
        break;
      }
      await wait(300);
    }
    this.#isEnding = true;
    await this.#resuming;
    const made = await listEventWorkflows(url());
    this.#compare(made);
    const posted = this.told.size;
    const unknown = [...this.told.values()].filter((status) => status === 0).length;
    return {
      violations: this.#violations,
      alive: { done: wanted(), wanted: Math.ceil(posted / 2) },
      figures: {
        posted,
        accepted: wanted(),
        unanswered: unknown,
        ...(this.#options.lossWindowMs === undefined ? {} : { lost: this.#lost }),
        workflows: made.length,
        resumed: this.#resumed.size,
        statuses: JSON.stringify(Object.fromEntries(this.statuses)),
      },
    };
  }

  async #openEvents(url: string): Promise<number> {
    const path = "/api/v1/event-deliveries/default?state=queued&limit=1";
    const { status, body } = await call(url, "GET", path);
    return status === 200 ? (body["items"] as unknown[]).length : -1;
  }

  #compare(made: EventWorkflow[]): void {
    const counts = new Map<string, number>();
    const wanted = (this.#options.isResuming ?? true) ? "Succeeded" : "Running";
    const wrong: string[] = [];
    for (const { key, name, phase } of made) {
      counts.set(key, (counts.get(key) ?? 0) + 1);
      if (phase !== wanted) wrong.push(`${name} (${key}) is ${phase}`);
    }
    if (wrong.length > 0) {
      this.#violations.push(`${wrong.length} workflows are not ${wanted}, for example ${wrong[0]}`);
    }
    for (const [n, status] of this.told) {
      const count = counts.get(`every ${n}`) ?? 0;
      counts.delete(`every ${n}`);
      if (status === 200 ? count === 1 : count <= 1) continue;
      if (count === 0 && this.#mayBeLost(this.#acceptedAt.get(n))) {
        this.#lost++;
        continue;
      }
      this.#violations.push(`event ${n}: answered ${status}, ${count} workflows`);
    }
    for (const key of counts.keys()) this.#violations.push(`a workflow for ${key}, never sent`);
    for (const [name, times] of this.#resumed) {
      const isTwice = times > 1 && !this.#resumedTwice.has(name);
      if (isTwice) this.#violations.push(`${name}: ${times} resumes were answered 200`);
    }
  }

  async #postAll(): Promise<void> {
    const startedAt = performance.now();
    const posts = new Set<Promise<void>>();
    let next = 0;
    while (this.#isPosting) {
      const due = (performance.now() - startedAt) / 1_000 * this.#options.perSecond;
      while (next < due && this.#posts < MAX_POSTS) {
        const post = this.#post(next++).finally(() => {
          this.#posts--;
          posts.delete(post);
        });
        this.#posts++;
        posts.add(post);
      }
      await wait(5);
    }
    await Promise.all(posts);
  }

  async #post(n: number): Promise<void> {
    const isKeyed = n % KEYED === 0;
    const headers: Record<string, string> = isKeyed ? { "idempotency-key": `load-${n}` } : {};
    this.told.set(n, 0);
    for (let attempt = 0;; attempt++) {
      const status = await this.#postOnce(n, headers);
      this.statuses.set(status, (this.statuses.get(status) ?? 0) + 1);
      this.told.set(n, status);
      if (status === 200) this.#acceptedAt.set(n, performance.now());
      // Nothing without a key is sent twice: a 503 may also mean that the outcome is unknown.
      if (status === 200 || !isKeyed || attempt >= 60) return;
      await wait(200 + 300 * this.#run.random());
    }
  }

  async #postOnce(n: number, headers: Record<string, string>): Promise<number> {
    const send = this.#options.connectsAnew === true ? callOnce : call;
    try {
      const { status, headers: answer } = await send(
        this.#options.url(),
        "POST",
        EVENTS,
        { n },
        headers,
        10_000,
      );
      if (status === 503 && answer.get("retry-after") === null) {
        this.#violations.push(`event ${n}: 503 without Retry-After`);
      }
      return status;
    } catch {
      return 0;
    }
  }

  async #resumeAll(): Promise<void> {
    const url = this.#options.reliableUrl ?? this.#options.url;
    const underWay = new Map<string, Promise<void>>();
    while (!this.#isEnding) {
      const waiting = await listEventWorkflows(url(), WAITING, MAX_LISTED, 1).catch(() => []);
      for (const { name } of waiting) {
        if (underWay.size >= MAX_RESUMES) break;
        if (this.#settled.has(name) || underWay.has(name)) continue;
        underWay.set(name, this.#resume(url(), name).finally(() => underWay.delete(name)));
      }
      await wait(200);
    }
    await Promise.all(underWay.values());
  }

  async #resume(url: string, name: string): Promise<void> {
    const body = { namespace: "default", name, nodeFieldSelector: "templateName=main" };
    try {
      const { status, body: answer } = await call(
        url,
        "PUT",
        `${WORKFLOWS}/${name}/resume`,
        body,
        {},
        10_000,
      );
      if (status === 200) {
        if (this.#mayBeLost(this.#resumedAt.get(name))) this.#resumedTwice.add(name);
        const now = performance.now();
        this.#resumedAt.set(name, now);
        this.#resumed.set(name, (this.#resumed.get(name) ?? 0) + 1);
        if (!this.#mayBeLost(now)) this.#settled.add(name);
      } else if (status >= 500 && status !== 503 && status !== 504) {
        this.#violations.push(`resume of ${name}: ${status} ${JSON.stringify(answer)}`);
      }
    } catch {
      // No answer: the load tries again when the next list shows the workflow waiting.
    }
  }
}
