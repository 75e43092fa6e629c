/**
 * Runs one owned shard: takes commands in batches, applies them to the actors, commits everything in ONE atomic step,
 * and only then answers and lets effects out. While a commit is in flight, new commands gather for the next batch. A
 * stale epoch means that somebody else owns the shard: nothing is answered, nothing is done, all is forgotten.
 */
import { isJsonObject } from "../base/json.ts";
import { Problem, ProblemCode, unavailable } from "../base/problem.ts";
import type { TaskSpec } from "../engine/effect.ts";
import type { FairLimiter } from "../platform/fair_limiter.ts";
import type { Histogram } from "../platform/metrics.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";
import {
  ActorExists,
  type ActorId,
  type CommitResult,
  type Cursor,
  type Lease,
  type ShardCommit,
  type ShardState,
  StaleEpoch,
} from "../store/port.ts";
import {
  applyBatch,
  type BatchDeps,
  type Group,
  keyReused,
  type QueueItem,
  StoreTrouble,
} from "./batch.ts";
import { keptAnswer } from "./kinds.ts";
import { LANE_WAIT_MS, type LargeLane } from "./large_lane.ts";
import { type BatchPlan, planBatch } from "./batch_plan.ts";
import { COMMIT_MARK, decodeRows, encodeRow, OutboxIndex, type OutboxRow } from "./outbox.ts";
import { encodeResult, Moved, type Result } from "./result.ts";
import type { Timers } from "./timers.ts";

/** Most commands in one batch. */
const MAX_BATCH = 256;
/** Commands that may wait in one shard before callers are sent away. */
const MAX_QUEUE = 20_000;
/** How long callers wait while the store is in trouble before they are told. */
const PATIENCE_MS = 4_000;
/** How long changes of outbox rows may wait for a commit that takes them along. */
const ROW_DELAY_MS = 500;
/** How long a stored answer to an idempotency key is kept. */
const ANSWER_TTL_MS = 24 * 3_600_000;

export interface WorkerDeps extends BatchDeps {
  /** Name of this replica. */
  replica: string;
  /** Hears of what is stored and can't be read. */
  onUnreadable: ReportUnreadable;
  timers: Timers;
  /** Where this replica runs a task, see `Executor.placeOf`. */
  placeOf(task: TaskSpec): string | undefined;
  /** Does a committed effect; calls `rowDone` of the worker when it is done for good. */
  perform(worker: ShardWorker, rows: OutboxRow[]): void;
  /** Does the effects that the last owner left. */
  recover(worker: ShardWorker, rows: OutboxRow[]): void;
  /** Tells those who measure what a commit brought. */
  observe(samples: BatchPlan["samples"]): void;
  reply(
    replica: string,
    answers: { request: string; answer: ReturnType<typeof encodeResult> }[],
  ): void;
  /** The shard is gone: by another owner, or by a defect that only a fresh start cures. */
  onLost(worker: ShardWorker, cause: unknown): void;
  /** False when the lease may have run out: then even a refusal must be proved by a commit. */
  isLeaseFresh(shard: number): boolean;
  /** Who of the large workflows may grow. */
  lane: LargeLane;
  /** Bounds the shards that work at once. Under load, commands gather while their shard waits: fewer, larger commits. */
  slots: FairLimiter;
  commitSeconds: Histogram;
  batchSize: Histogram;
}

export class ShardWorker {
  readonly shard: number;
  readonly lease: Lease;
  /** Position of the last mailbox entry that was queued. */
  cursor: Cursor;
  readonly rows = new OutboxIndex();
  readonly #deps: WorkerDeps;
  #queue: QueueItem[] = [];
  readonly #drops = new Set<string>();
  /** Rows of tasks that this replica took over, to be stored with its name. */
  readonly #claims = new Map<string, OutboxRow>();
  #rowTimer: (() => void) | undefined;
  /** Changes of rows have waited long enough. */
  #areRowsDue = false;
  /** The next timers are to be loaded, before anything sets or clears one. */
  #areTimersDue = true;
  #state: "open" | "draining" | "gone" = "open";
  #busy = false;
  /** What was applied last may or may not have been written, as far as its senders must know. */
  #isDoubtful = false;
  #idle: (() => void)[] = [];
  /** What marks of this ownership begin with: an epoch alone may come again when the store has lost its end. */
  readonly #markBase: string;
  #sequence = 0;
  /** Mark of the last commit, which the next one must find. */
  #mark: string;
  #rowSeq = 0;
  readonly #abort = new AbortController();

  constructor(lease: Lease, state: ShardState, deps: WorkerDeps) {
    this.shard = lease.shard;
    this.lease = lease;
    this.cursor = state.cursor;
    this.#markBase = `${lease.epoch}.${deps.ids.suffix(5)}`;
    this.#mark = state.outbox[COMMIT_MARK] ?? "";
    this.#deps = deps;
  }

  /** Takes up what the last owner left: timers, and effects that may not have been done. */
  resume(state: ShardState): void {
    this.#kick();
    const { onUnreadable } = this.#deps;
    const rows = decodeRows(
      state.outbox,
      (row) => onUnreadable("outbox", `${this.shard}/${row}`),
    );
    for (const row of rows) this.rows.add(row.id, row.actor);
    this.#rowSeq = (rows.at(-1)?.seq ?? 0) + 1;
    if (rows.length > 0) this.#deps.recover(this, rows);
  }

  get replica(): string {
    return this.#deps.replica;
  }

  nextSeq(): number {
    return this.#rowSeq++;
  }

  /** False when the shard was lost. */
  get isHeld(): boolean {
    return this.#state !== "gone";
  }

  get isOpen(): boolean {
    return this.#state === "open";
  }

  /** Commands that wait or are being applied. */
  get backlog(): number {
    return this.#queue.length;
  }

  /** Queues a command; false when this worker no longer takes any. */
  enqueue(item: QueueItem): boolean {
    if (this.#state !== "open") return false;
    if (item.settle && this.#queue.length >= MAX_QUEUE) {
      item.settle({ ok: false, error: unavailable("Too many requests are waiting; try again") });
      return true;
    }
    if (item.cursor !== undefined) this.cursor = item.cursor;
    this.#queue.push(item);
    this.#kick();
    return true;
  }

  /** Tells that an effect is done: a later commit drops its row. */
  rowDone(id: string): void {
    if (this.#state === "gone" || !this.rows.has(id)) return;
    this.#drops.add(id);
    this.#commitSoon();
  }

  /** Loads the timers that are due next, between two batches. */
  timersDue(): void {
    this.#areTimersDue = true;
    this.#kick();
  }

  /** Notes that this replica runs the task of a row from now on. */
  claim(row: OutboxRow): void {
    if (this.#state === "gone" || !this.rows.has(row.id)) return;
    this.#claims.set(row.id, { ...row, replica: this.replica });
    this.#commitSoon();
  }

  placeOf(task: TaskSpec): string | undefined {
    return this.#deps.placeOf(task);
  }

  /** Takes no more commands; resolves when those that wait are committed. */
  async drain(): Promise<void> {
    if (this.#state === "open") this.#state = "draining";
    this.#kick();
    while (this.#busy) await new Promise<void>((resolve) => this.#idle.push(resolve));
  }

  /** Forgets everything at once; callers are told that the outcome is unknown. */
  drop(): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    this.#abort.abort();
    this.#rowTimer?.();
    const queue = this.#queue;
    this.#queue = [];
    this.#deps.timers.clearShard(this.shard);
    this.#deps.cache.dropLease(this.lease);
    this.#deps.lane.dropLease(this.lease);
    for (const item of queue) item.settle?.({ ok: false, error: new Moved() });
  }

  #commitSoon(): void {
    this.#rowTimer ??= this.#deps.clock.after(ROW_DELAY_MS, () => {
      this.#rowTimer = undefined;
      this.#areRowsDue = true;
      this.#kick();
    });
  }

  #kick(): void {
    if (this.#busy || this.#state === "gone") return;
    this.#busy = true;
    queueMicrotask(() => void this.#run());
  }

  async #run(): Promise<void> {
    const { slots } = this.#deps;
    try {
      while (this.#state !== "gone" && this.#hasWork()) {
        await slots.run(String(this.shard), () => this.#process(this.#queue.splice(0, MAX_BATCH)));
      }
    } catch (cause) {
      if (this.#state !== "gone") {
        this.drop();
        this.#deps.onLost(this, cause);
      }
    } finally {
      this.#busy = false;
      for (const wake of this.#idle.splice(0)) wake();
    }
  }

  async #process(items: QueueItem[]): Promise<void> {
    const suspects = new Set<ActorId>();
    try {
      for (let attempt = 0;; attempt++) {
        try {
          if (await this.#attempt(items, suspects)) return;
        } catch (cause) {
          if (!(cause instanceof StoreTrouble)) throw cause;
          await this.#pause(attempt, cause.cause, items);
        }
      }
    } catch (cause) {
      const error = this.#isDoubtful
        ? unavailable("The outcome is unknown: the workflow moved to another replica")
        : new Moved();
      for (const item of items) item.settle?.({ ok: false, error });
      throw cause;
    }
  }

  /** Applies, commits, answers. False when an actor turned out to exist and the batch must be applied again. */
  async #attempt(items: QueueItem[], suspects: Set<ActorId>): Promise<boolean> {
    if (this.#areTimersDue) await this.#loadTimers();
    const known = await this.#findAnswers(items);
    const fresh = items.filter((item) => !known?.has(item) && this.#isDue(item));
    const groups = await applyBatch(this.lease, fresh, suspects, this.#deps);
    const mark = `${this.#markBase}.${++this.#sequence}`;
    const plan = planBatch(this, groups, items, known, this.#deps, mark, ANSWER_TTL_MS);
    plan.commit.follows = { row: COMMIT_MARK, text: this.#mark };
    // Before the commit: what is done while it is under way is due again.
    this.#areRowsDue = false;
    const dropped = [...this.#drops];
    plan.commit.outboxDrop.push(...dropped);
    const claims = this.#takeClaims(plan.commit);
    let result: CommitResult = { versions: {} };
    if (
      plan.isNeeded || dropped.length > 0 || claims.length > 0 ||
      !this.#deps.isLeaseFresh(this.shard)
    ) {
      try {
        result = await this.#commit(plan.commit, items);
        this.#mark = mark;
      } catch (cause) {
        for (const group of groups) this.#deps.cache.drop(group.id, this.lease);
        if (!(cause instanceof ActorExists)) throw cause;
        suspects.add(cause.actor);
        return false;
      }
    }
    // Until all are answered, a defect of ours must not look as if nothing had been applied.
    this.#isDoubtful = true;
    this.#answer(groups, known, result);
    this.#isDoubtful = false;
    if (this.#state === "gone") {
      this.#deps.cache.dropLease(this.lease);
      return true;
    }
    for (const id of claims) this.#claims.delete(id);
    this.#settleRows(plan, dropped);
    for (const { id, entry: { actor } } of groups) {
      const isGrowing = actor.exists() && actor.isGrowing();
      this.#deps.lane.note(id, this.lease, isGrowing ? actor.weight() : 0, isGrowing);
      this.#deps.cache.unpin(id, this.lease);
    }
    if (plan.rows.length > 0) this.#deps.perform(this, plan.rows);
    if (plan.samples.length > 0) this.#deps.observe(plan.samples);
    return true;
  }

  #hasWork(): boolean {
    const areRowsDue = this.#areRowsDue || this.#state === "draining";
    return this.#queue.length > 0 || (this.#areTimersDue && this.#state === "open") ||
      (areRowsDue && (this.#drops.size > 0 || this.#claims.size > 0));
  }

  async #loadTimers(): Promise<void> {
    const { store, timers, onUnreadable } = this.#deps;
    const max = timers.wanted(this.shard);
    const state = await store.shards.loadShard(this.shard, max).catch((cause) => {
      throw new StoreTrouble(cause);
    });
    if (this.#state === "gone") throw new StaleEpoch(this.shard);
    this.#areTimersDue = false;
    const times = Object.entries(state.timers).filter(([id, at]) => {
      if (!Number.isFinite(at)) onUnreadable("timer", `${this.shard}/${id}`);
      return Number.isFinite(at);
    });
    timers.load(this.shard, max, Object.fromEntries(times));
  }

  /** Puts the claimed rows that are still wanted into a commit. */
  #takeClaims(commit: ShardCommit): string[] {
    for (const [id, row] of this.#claims) {
      const isOver = !this.rows.has(id) || commit.outboxDrop.includes(id);
      if (isOver) this.#claims.delete(id);
      else commit.outboxPut[id] ??= encodeRow(row);
    }
    return [...this.#claims.keys()];
  }

  /** False for a timer that was moved or cleared after it fired. */
  #isDue(item: QueueItem): boolean {
    if (item.timer === undefined) return true;
    const { timers, clock, lane } = this.#deps;
    const at = timers.at(this.shard, item.timer);
    if (at !== undefined && isGoOn(item) && !lane.mayGrow(item.actor)) {
      timers.set(this.shard, item.timer, clock.now() + LANE_WAIT_MS);
      return false;
    }
    if (at === undefined || at <= clock.now()) return at !== undefined;
    // The clock may have gone back since it fired: then it must fire again.
    timers.set(this.shard, item.timer, at);
    return false;
  }

  async #commit(commit: ShardCommit, items: QueueItem[]): Promise<CommitResult> {
    const { store, clock, commitSeconds, batchSize } = this.#deps;
    const mark = commit.outboxPut[COMMIT_MARK];
    batchSize.observe(items.length);
    for (let attempt = 0;; attempt++) {
      try {
        if (this.#isDoubtful) {
          const state = await store.shards.loadShard(this.shard);
          if (state.outbox[COMMIT_MARK] === mark) {
            const result = await this.#versionsOf(commit);
            this.#isDoubtful = false;
            return result;
          }
          // Another mark proves nothing yet: the next owner may have written over ours. Only a commit that passes does.
        }
        const startedAt = clock.monotonic();
        const result = await store.shards.commit(commit);
        this.#isDoubtful = false;
        commitSeconds.observe((clock.monotonic() - startedAt) / 1000);
        return result;
      } catch (cause) {
        if (cause instanceof StaleEpoch || cause instanceof ActorExists) throw cause;
        if (!isTrouble(cause)) throw cause;
        this.#isDoubtful = true;
        await this.#pause(attempt, cause, items);
      }
    }
  }

  async #versionsOf(commit: ShardCommit): Promise<CommitResult> {
    const versions: CommitResult["versions"] = {};
    await Promise.all(commit.actors.map(async ({ id, remove }) => {
      const stored = remove ? undefined : await this.#deps.store.shards.loadActor(this.shard, id);
      if (stored) versions[id] = stored.version;
    }));
    return { versions };
  }

  /** Waits before the store is tried again; callers that waited long enough are told. */
  async #pause(attempt: number, cause: unknown, items: QueueItem[]): Promise<void> {
    const { clock, log, ids, slots } = this.#deps;
    if (attempt === 0 || attempt % 10 === 9) {
      log.warn({ shard: this.shard, attempt: attempt + 1, err: cause }, "store in trouble");
    }
    const waitMs = Math.min(2_000, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + ids.fraction());
    // The slot is free meanwhile: what ails this shard's part of the store may not ail the others'.
    slots.leave(String(this.shard));
    await clock.sleep(waitMs, this.#abort.signal);
    await slots.enter(String(this.shard));
    if (this.#state === "gone") throw new StaleEpoch(this.shard);
    const now = clock.monotonic();
    const error = unavailable("The store does not answer; the request may still be done");
    for (const item of [...items, ...this.#queue]) {
      if (now - item.arrivedAt > PATIENCE_MS) item.settle?.({ ok: false, error });
    }
  }

  /** Results of commands whose idempotency key is known, or that repeat another one of the batch. */
  async #findAnswers(items: QueueItem[]): Promise<Map<QueueItem, Result | QueueItem> | undefined> {
    const keyed = items.filter((item) => item.idempotency);
    if (keyed.length === 0) return undefined;
    const keys = [...new Set(keyed.map((item) => item.idempotency?.key ?? ""))];
    const { store, kinds } = this.#deps;
    const stored = await store.shards.findAnswers(this.shard, keys).catch((cause) => {
      throw new StoreTrouble(cause);
    });
    const known = new Map<QueueItem, Result | QueueItem>();
    const firsts = new Map<string, QueueItem>();
    for (const item of keyed) {
      const { key, fingerprint } = item.idempotency ?? { key: "", fingerprint: "" };
      const answer = stored[key];
      const first = firsts.get(key);
      if ((answer ?? first?.idempotency)?.fingerprint !== undefined) {
        const same = (answer ?? first?.idempotency)?.fingerprint === fingerprint;
        if (!same) known.set(item, { ok: false, error: keyReused() });
        else if (answer) {
          known.set(item, { ok: true, answer: keptAnswer(kinds, item.actor, answer) });
        } else if (first) known.set(item, first);
      } else firsts.set(key, item);
    }
    return known;
  }

  #settleRows(plan: BatchPlan, dropped: string[]): void {
    const { timers } = this.#deps;
    for (const id of dropped) this.#drops.delete(id);
    for (const id of plan.commit.outboxDrop) this.rows.remove(id);
    for (const row of plan.rows) this.rows.add(row.id, row.actor);
    for (const id of plan.commit.timersClear) timers.clear(this.shard, id);
    for (const [id, at] of Object.entries(plan.commit.timersSet)) timers.set(this.shard, id, at);
  }

  #answer(
    groups: Group[],
    known: Map<QueueItem, Result | QueueItem> | undefined,
    { versions }: CommitResult,
  ): void {
    const results = new Map<QueueItem, Result>();
    for (const group of groups) {
      const version = versions[group.id] ?? group.entry.version;
      group.entry.version = group.entry.actor.exists() ? version : undefined;
      for (const [item, outcome] of group.outcomes) {
        if (!item.settle && !item.replyTo) continue;
        results.set(
          item,
          "error" in outcome
            ? { ok: false, error: outcome.error }
            : { ok: true, answer: outcome.answer?.(version) },
        );
      }
    }
    for (const [item, found] of known ?? []) {
      const result = "ok" in found ? found : results.get(found);
      results.set(item, result ?? { ok: false, error: defect() });
    }
    const replies = new Map<
      string,
      { request: string; answer: ReturnType<typeof encodeResult> }[]
    >();
    for (const [item, result] of results) {
      item.settle?.(result);
      if (!item.replyTo) continue;
      const { replica, request } = item.replyTo;
      const own = replies.get(replica) ?? [];
      own.push({ request, answer: encodeResult(result) });
      replies.set(replica, own);
    }
    for (const [replica, answers] of replies) this.#deps.reply(replica, answers);
  }
}

/** Asks for the next turn of a workflow that is growing. */
function isGoOn({ body }: QueueItem): boolean {
  return isJsonObject(body) && body["timer"] === "go-on";
}

function isTrouble(cause: unknown): boolean {
  return cause instanceof Problem && cause.code === ProblemCode.Unavailable;
}

function defect(): Problem {
  return new Problem(ProblemCode.Internal, "Internal error");
}
