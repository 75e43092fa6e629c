/**
 * Runs one owned shard: takes commands in batches, applies them to the actors, commits everything in ONE atomic step, and
 * only then answers and lets effects out. While a commit is in flight, new commands gather for the next batch. A stale
 * epoch means that somebody else owns the shard: nothing is answered, nothing is done, everything is forgotten.
 */
import { isProblem, ProblemCode, unavailable } from "../../base/problem.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Notice } from "../../engine/notice.ts";
import { ManifestsChanged } from "../../store/manifest_port.ts";
import {
  ActorExists,
  type ActorId,
  type CommitResult,
  type Cursor,
  type Lease,
  type ShardCommit,
  type ShardState,
  StaleEpoch,
} from "../../store/port.ts";
import { LargeTurn, TurnTaken } from "../large_turn.ts";
import { Moved } from "../result.ts";
import type { PostWebhooks } from "../webhooks/delivery.ts";
import type { ActorBatch, KnownResults, QueuedCommand } from "./actor_batch.ts";
import { answerAll, refuseOutdated } from "./answers.ts";
import { Aside } from "./aside.ts";
import { findKnownResults, hasKey } from "./idempotency.ts";
import { applyBatch } from "./batch.ts";
import { type BatchPlan, LargeCommit, planBatch } from "./batch_plan.ts";
import { Committer } from "./committer.ts";
import { isDue } from "./is_due.ts";
import { decodeRows, OutboxIndex, type OutboxRow } from "./outbox.ts";
import { RowChanges, type TakenChanges } from "./row_changes.ts";
import { StoreTrouble } from "./store_trouble.ts";
import type { WorkerDeps } from "./worker_deps.ts";

/** Most commands in one batch. */
const MAX_BATCH = 256;
/** Commands that may wait in one shard; then callers are sent away. */
const MAX_QUEUE = 20_000;
/** How long callers wait while the store is in trouble before they are told, ms. */
const PATIENCE_MS = 4_000;

const NOTHING_WRITTEN: CommitResult = { versions: {} };

export class ShardWorker {
  readonly shard: number;
  readonly lease: Lease;
  /** Position of the last mailbox entry that was queued. */
  cursor: Cursor;
  readonly rows = new OutboxIndex();
  readonly #deps: WorkerDeps;
  readonly #rowChanges: RowChanges;
  readonly #committer: Committer;
  /** Of the shard, among those that work at once. */
  readonly #name: string;
  /** Of the batch at work. */
  readonly #turn: LargeTurn;
  #queue: QueuedCommand[] = [];
  readonly #aside = new Aside();
  /** The next timers are to be loaded, before anything sets or clears one. */
  #areTimersDue = true;
  #state: "open" | "draining" | "gone" = "open";
  /** When the oldest command of the batch at work arrived. */
  #workSince: number | undefined;
  #isBusy = false;
  /** While senders are told: a defect then must not look as if nothing had been applied. */
  #isAnswering = false;
  #onIdle: (() => void)[] = [];
  #rowSeq = 0;
  readonly #abort = new AbortController();

  constructor(lease: Lease, state: ShardState, deps: WorkerDeps) {
    this.shard = lease.shard;
    this.lease = lease;
    this.cursor = state.cursor;
    this.#deps = deps;
    this.#committer = new Committer(lease, state, deps);
    this.#name = String(lease.shard);
    this.#turn = new LargeTurn(deps.largeTurns);
    this.#rowChanges = new RowChanges(this.rows, deps.clock, () => this.#kick());
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
    this.#deps.spans?.tookOver(this.shard);
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

  /** Commands that wait. */
  get backlog(): number {
    return this.#queue.length + this.#aside.size;
  }

  /** When the oldest command that is queued or at work arrived, monotonic ms. */
  get waitsSince(): number | undefined {
    return this.#aside.first?.arrivedAt ?? this.#workSince ?? this.#queue[0]?.arrivedAt;
  }

  /** Queues a command; false when this worker no longer takes any. */
  enqueue(command: QueuedCommand): boolean {
    if (this.#state !== "open") return false;
    if (command.settle && this.backlog >= MAX_QUEUE) {
      command.settle({
        ok: false,
        error: unavailable("Too many requests are waiting; try again"),
      });
      return true;
    }
    if (command.cursor !== undefined) this.cursor = command.cursor;
    if (this.#aside.size > 0 && this.#aside.takeBehind(command)) return true;
    this.#queue.push(command);
    this.#kick();
    return true;
  }

  /** Tells that an effect is done: a later commit drops its row. */
  rowDone(id: string): void {
    if (this.#state !== "gone") this.#rowChanges.drop(id);
  }

  /** Notes that this replica runs the task of a row from now on. */
  claim(row: OutboxRow): void {
    this.rewrite(row.id, () => ({ ...row, replica: this.replica }));
  }

  /** Stores a row anew with a later commit. @param make what it is then */
  rewrite(id: string, make: () => OutboxRow): void {
    if (this.#state !== "gone") this.#rowChanges.rewrite(id, make);
  }

  /** Loads the timers that are due next, between two batches. */
  timersDue(): void {
    this.#areTimersDue = true;
    this.#kick();
  }

  placeOf(task: TaskSpec): string | undefined {
    return this.#deps.placeOf(task);
  }

  postOf(notice: Notice): PostWebhooks | undefined {
    return this.#deps.webhooks?.postOf(notice);
  }

  /** Takes no more commands; resolves when those that wait are committed. */
  async drain(): Promise<void> {
    if (this.#state === "open") this.#state = "draining";
    this.#kick();
    while (this.#isBusy || this.#aside.size > 0) {
      await new Promise<void>((resolve) => this.#onIdle.push(resolve));
    }
  }

  /** Forgets everything at once; callers are told that their commands were not applied here. */
  drop(): void {
    if (this.#state === "gone") return;
    this.#state = "gone";
    this.#abort.abort();
    this.#rowChanges.stop();
    const queue = [...this.#aside.takeAll(), ...this.#queue];
    this.#queue = [];
    this.#turn.drop();
    this.#deps.timers.clearShard(this.shard);
    this.#deps.cache.dropLease(this.lease);
    this.#deps.lane.dropLease(this.lease);
    for (const command of queue) command.settle?.({ ok: false, error: new Moved() });
    this.#wakeIdle();
  }

  #wakeIdle(): void {
    for (const wake of this.#onIdle.splice(0)) wake();
  }

  #kick(): void {
    if (this.#isBusy || this.#state === "gone") return;
    this.#isBusy = true;
    queueMicrotask(this.#run);
  }

  /** Applies, commits, answers. One function, because each that waits costs as much as a good part of the work. */
  readonly #run = async (): Promise<void> => {
    const { slots, cache, clock } = this.#deps;
    try {
      while (this.#state !== "gone" && this.#hasWork()) {
        const place = slots.enter(this.#name);
        if (place !== undefined) await place;
        this.#turn.begin();
        const commands = this.#nextBatch();
        const suspects: ActorId[] = [];
        this.#workSince = commands[0]?.arrivedAt;
        try {
          for (let failures = 0, isDone = false; !isDone; failures++) {
            let batches: ActorBatch[] = [];
            try {
              if (this.#areTimersDue && !this.#aside.isFull) await this.#loadTimers();
              const known = commands.some(hasKey)
                ? await findKnownResults(commands, this.shard, this.#deps)
                : undefined;
              const fresh = this.#freshOf(commands, known);
              const applied = applyBatch(this.lease, fresh, suspects, this.#turn, this.#deps);
              batches = applied instanceof Promise ? await applied : applied;
              const plan = planBatch(this, batches, commands, known, clock.now());
              const changes = this.#rowChanges.takeInto(plan.commit);
              const isNeeded = plan.isNeeded || changes.drops.length > 0 ||
                changes.rewritten.length > 0 || !this.#deps.isLeaseFresh(this.shard);
              const result = isNeeded ? await this.#write(plan.commit, commands) : NOTHING_WRITTEN;
              this.#follow(batches, known, plan, changes, result);
              isDone = true;
            } catch (cause) {
              for (const { id } of batches) cache.drop(id, this.lease);
              await this.#prepareAgain(commands, suspects, failures, cause);
            }
          }
        } finally {
          this.#turn.release();
          this.#workSince = undefined;
          slots.leave(this.#name);
        }
      }
    } catch (cause) {
      if (this.#state !== "gone") {
        this.drop();
        this.#deps.onLost(this, cause);
      }
    } finally {
      this.#isBusy = false;
      if (this.#onIdle.length > 0) this.#wakeIdle();
    }
  };

  #nextBatch(): QueuedCommand[] {
    const queue = this.#queue;
    if (queue.length > MAX_BATCH) return queue.splice(0, MAX_BATCH);
    this.#queue = [];
    return queue;
  }

  #hasWork(): boolean {
    const mayLoadTimers = this.#state === "open" && !this.#aside.isFull;
    return this.#queue.length > 0 || (this.#areTimersDue && mayLoadTimers) ||
      (this.#state === "draining" ? this.#rowChanges.isAny : this.#rowChanges.isDue);
  }

  /** Does what a batch needs before its next try. @throws {unknown} there is none: the shard is gone */
  async #prepareAgain(
    commands: QueuedCommand[],
    suspects: ActorId[],
    failures: number,
    failure: unknown,
  ): Promise<void> {
    const refused = this.#turn.takeRefused();
    try {
      if (failure instanceof TurnTaken) this.#setAside(commands, refused);
      else if (failure instanceof LargeCommit) this.#cut(commands, Math.ceil(commands.length / 2));
      else if (failure instanceof ActorExists) suspects.push(failure.actor);
      else if (failure instanceof ManifestsChanged) refuseOutdated(commands, failure);
      else if (failure instanceof StoreTrouble) {
        this.#turn.release();
        await this.#pause(failures, failure.cause, commands);
      } else throw failure;
      this.#turn.keepFor(commands);
    } catch (cause) {
      const error = this.#committer.isDoubtful || this.#isAnswering
        ? unavailable("The outcome is unknown: the workflow moved to another replica")
        : new Moved();
      for (const command of commands) command.settle?.({ ok: false, error });
      throw cause;
    }
  }

  /** The commands that are to be applied. */
  #freshOf(commands: QueuedCommand[], known: KnownResults | undefined): QueuedCommand[] {
    return known === undefined && !commands.some(({ timer }) => timer !== undefined)
      ? commands
      : commands.filter((command) =>
        !known?.has(command) && isDue(command, this.shard, this.#deps)
      );
  }

  /** Leaves the commands from a place on to the next batch. */
  #cut(commands: QueuedCommand[], place: number): void {
    if (this.#state === "gone") throw new StaleEpoch(this.shard);
    this.#queue.unshift(...commands.splice(place));
  }

  /** Lets the commands of large actors wait for their turn, and the others of the batch go on. */
  #setAside(commands: QueuedCommand[], actors: ReadonlySet<ActorId>): void {
    if (this.#state === "gone") throw new StaleEpoch(this.shard);
    commands.splice(0, commands.length, ...this.#aside.takeFrom(commands, actors));
    this.#queue = this.#aside.takeFrom(this.#queue, actors);
    void this.#aside.ask(this.#turn, this.#abort.signal, () => {
      this.#queue = [...this.#aside.takeAll(), ...this.#queue];
      this.#kick();
    });
  }

  #write(commit: ShardCommit, commands: QueuedCommand[]): Promise<CommitResult> {
    this.#deps.batchSize.observe(commands.length);
    return this.#committer.commit(
      commit,
      (attempt, cause) => this.#pause(attempt, cause, commands),
    );
  }

  /** Does what follows from a commit: answers, rows, timers, the cache, effects. */
  #follow(
    batches: ActorBatch[],
    known: KnownResults | undefined,
    plan: BatchPlan,
    changes: TakenChanges,
    result: CommitResult,
  ): void {
    this.#isAnswering = true;
    answerAll(batches, known, result, (replica, answers) => this.#deps.reply(replica, answers));
    this.#isAnswering = false;
    if (this.#state === "gone") return this.#deps.cache.dropLease(this.lease);
    const { timers, lane, cache, clock, perform, observe, spans } = this.#deps;
    const { commit, rows, samples } = plan;
    this.#rowChanges.committed(changes);
    for (const id of commit.outboxDrop) this.rows.remove(id);
    for (const row of rows) this.rows.add(row.id, row.actor);
    for (const id of commit.timersClear) timers.clear(this.shard, id);
    for (const id in commit.timersSet) timers.set(this.shard, id, commit.timersSet[id] ?? 0);
    const now = clock.monotonic();
    for (const { id, entry: { actor } } of batches) {
      const isGrowing = actor.exists() && actor.isGrowing();
      lane.note(id, this.lease, isGrowing ? actor.weight() : 0, isGrowing, now);
      cache.unpin(id, this.lease, now);
    }
    if (rows.length > 0) perform(this, rows);
    if (samples.length > 0) observe(samples);
    if (spans !== undefined) { for (const batch of batches) spans.ended(batch.spans); }
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

  /** Waits before the store is tried again; callers that waited long enough are told. */
  async #pause(attempt: number, cause: unknown, commands: QueuedCommand[]): Promise<void> {
    const { clock, log, ids, slots } = this.#deps;
    if (attempt === 0 || attempt % 10 === 9) {
      log.warn({ shard: this.shard, attempt: attempt + 1, err: cause }, "store in trouble");
    }
    const waitMs = Math.min(2_000, 50 * 2 ** Math.min(attempt, 6)) * (0.5 + ids.fraction());
    // The slot is free meanwhile: the parts of the store that other shards use may be well.
    slots.leave(this.#name);
    await clock.sleep(waitMs, this.#abort.signal);
    await slots.enter(this.#name);
    if (this.#state === "gone") throw new StaleEpoch(this.shard);
    const now = clock.monotonic();
    const why = isProblem(cause, ProblemCode.Unavailable)
      ? cause.message
      : "The store does not answer";
    const error = unavailable(`${why}; the request may still be done`);
    for (const command of [...commands, ...this.#queue]) {
      if (now - command.arrivedAt > PATIENCE_MS) command.settle?.({ ok: false, error });
    }
  }
}
