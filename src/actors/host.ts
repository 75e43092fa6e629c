/**
 * The host: runs the actors of the shards this replica owns, and brings commands to actors wherever they live. It joins
 * the parts of this folder; what a command means is the engine's business.
 */
import type { Json } from "../base/json.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import type { WorkflowLimits } from "../engine/limits.ts";
import type { Executor } from "../executors/port.ts";
import type { Clock } from "../platform/clock.ts";
import { Deadlines } from "../platform/deadlines.ts";
import type { Ids } from "../platform/ids.ts";
import { FairLimiter } from "../platform/fair_limiter.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { UnwantedArtifacts } from "../engine/effect.ts";
import type { ArtifactKeys } from "../spec/artifact_key.ts";
import { DATABASE_LIMITS, type Workflow } from "../spec/manifest.ts";
import { unreadableReporter } from "../platform/unreadable.ts";
import type { ActorId, Lease, ShardState, Store } from "../store/port.ts";
import { ActorCache } from "./actor_cache.ts";
import { LOCKS_ACTOR, shardOf, workflowActorId } from "./actor_ids.ts";
import { typeOf } from "./batch.ts";
import { parseTimerRowId } from "./batch_plan.ts";
import { Effects } from "./effects.ts";
import type { ActorKind } from "./hot_actor.ts";
import { LargeLane } from "./large_lane.ts";
import { LoopShare } from "./loop_share.ts";
import { MailboxReader } from "./mailbox_reader.ts";
import { Membership } from "./membership.ts";
import type { ExecuteOptions, WorkflowCommand, WorkflowHost } from "./port.ts";
import { RemoteCalls } from "./remote_calls.ts";
import { Moved, type Result, toProblem } from "./result.ts";
import { ShardWorker, type WorkerDeps } from "./shard_worker.ts";
import { Tasks } from "./tasks.ts";
import { Timers } from "./timers.ts";
import { createWorkflowMetrics, type WorkflowMetrics } from "./workflow_metrics.ts";
import type { Naming } from "../spec/naming.ts";

const DEFAULT_TIMEOUT_MS = 30_000;
/** Actors loaded from the store at once, three quarters of them of one namespace. */
const MAX_LOADS = 88;
/** Shards that apply and commit at once. */
const MAX_WORKING = 16;
/** Request name that asks a replica to look at the shards again; not an answer. */
const NUDGE = "@rebalance";
/** Request name that asks a replica to end a task, in case it runs it; not an answer. */
const CANCEL = "@cancel";
/** Request names of the question which tasks a replica does not run, and of its answer. */
const ASK = "@running";
const NOT_RUNNING = "@not-running";

interface Question {
  from: string;
  tasks: string[];
}

export interface HostOptions {
  /** Unique name of this process. */
  replica: string;
  /** Number of shards when the store is new. */
  shards: number;
  leaseTtlMs: number;
  /** Total weight of actors in memory. */
  hotActors: number;
  /** Task starts under way at once. */
  taskStarts: number;
  naming: Naming;
  /** Which keys of the deployment's artifact repository steps may leave. @default {"shared"} */
  artifactKeys?: ArtifactKeys;
  /** What a workflow may grow to. @default nothing bounds it */
  limits?: WorkflowLimits;
  /** Commands are applied and nothing follows: no step starts, no timer fires. For API conformance. */
  frozen?: boolean;
}

export interface HostDeps {
  store: Store;
  /** In order of preference. */
  executors: readonly Executor[];
  kinds: readonly ActorKind[];
  clock: Clock;
  ids: Ids;
  log: Logger;
  metrics: Metrics;
  collectArtifacts?(actor: ActorId, unwanted: UnwantedArtifacts): Promise<void>;
}

export class Host implements WorkflowHost {
  readonly #deps: HostDeps;
  readonly #options: HostOptions;
  readonly #workers = new Map<number, ShardWorker>();
  readonly #workflowMetrics: WorkflowMetrics;
  readonly #cache: ActorCache;
  readonly #timers: Timers;
  readonly #tasks: Tasks;
  readonly #effects: Effects;
  readonly #calls: RemoteCalls;
  readonly #reader: MailboxReader;
  readonly #stop = new AbortController();
  readonly #workerDeps: WorkerDeps;
  #membership: Membership | undefined;
  #shards = 0;
  #reading: Promise<void> = Promise.resolve();
  #calling = 0;
  /** Of calls with the usual timeout. */
  readonly #deadlines: Deadlines;

  constructor(deps: HostDeps, options: HostOptions) {
    const { store, clock, log, metrics, ids } = deps;
    this.#deps = deps;
    this.#options = options;
    const droppedSeries = metrics.counter(
      "sluice_workflow_metric_series_dropped_total",
      "Series of metrics of workflows that went to make room for others",
    );
    this.#workflowMetrics = createWorkflowMetrics({ onDrop: () => droppedSeries.inc() });
    this.#cache = new ActorCache(options.hotActors);
    this.#deadlines = new Deadlines(clock, DEFAULT_TIMEOUT_MS);
    this.#timers = new Timers(
      clock,
      (shard, id) => this.#fire(shard, id),
      (shard) => this.#workers.get(shard)?.timersDue(),
    );
    this.#tasks = new Tasks({
      executors: deps.executors,
      maxStarts: options.taskStarts,
      post: (actor, body) => this.#post(actor, body),
      clock,
      log,
    });
    this.#effects = new Effects({
      ...deps,
      tasks: this.#tasks,
      replica: options.replica,
      replicas: () => this.replicas,
      askAbout: (replica, tasks) => this.#tell(replica, ASK, { from: options.replica, tasks }),
      cancelElsewhere: (task) => this.#cancelElsewhere(task),
      labelPrefix: options.naming.labelPrefix,
      deliver: (id, actor, body) => this.deliver(id, actor, body),
    });
    const { kinds } = deps;
    this.#calls = new RemoteCalls({ store: store.shards, clock, kinds, replica: options.replica });
    this.#reader = new MailboxReader({ store: store.shards, clock, log, workers: this.#workers });
    this.#workerDeps = {
      replica: options.replica,
      store,
      clock,
      ids,
      log,
      cache: this.#cache,
      timers: this.#timers,
      onUnreadable: unreadableReporter(metrics, log, clock),
      placeOf: (task) => this.#tasks.placeOf(task),
      kinds: deps.kinds,
      loads: new FairLimiter(MAX_LOADS),
      slots: new FairLimiter(MAX_WORKING),
      naming: options.naming,
      ...(options.artifactKeys !== undefined && { artifactKeys: options.artifactKeys }),
      share: new LoopShare(clock),
      lane: new LargeLane(clock),
      ...(options.limits === undefined ? {} : { limits: options.limits }),
      frozen: options.frozen ?? false,
      perform: (worker, rows) => {
        if (!options.frozen) this.#effects.perform(worker, rows);
      },
      recover: (worker, rows) => {
        if (!options.frozen) this.#effects.recover(worker, rows);
      },
      observe: (samples) => {
        for (const { actor, sample } of samples) {
          const problem = this.#workflowMetrics.observe(sample);
          if (problem === undefined) continue;
          const { name, help } = sample;
          log.warn({ actor, metric: name, help, reason: problem }, "metric refused");
        }
      },
      reply: (replica, answers) => {
        if (replica === options.replica) {
          for (const { request, answer } of answers) this.#calls.hear(request, answer);
        } else {
          store.shards.reply(replica, answers).catch((cause: unknown) => {
            log.warn({ replica, err: cause }, "answers could not be sent");
          });
        }
      },
      onLost: (worker, cause) => {
        log.warn({ shard: worker.shard, epoch: worker.lease.epoch, err: cause }, "shard lost");
        this.#membership?.lost(worker.shard, worker.lease.epoch);
      },
      isLeaseFresh: (shard) => this.#membership?.isFresh(shard) ?? false,
      commitSeconds: metrics.histogram("sluice_commit_seconds", "Time of a commit"),
      batchSize: metrics.histogram("sluice_batch_commands", "Commands in a commit", [
        1,
        2,
        4,
        8,
        16,
        32,
        64,
        128,
        256,
      ]),
    };
    metrics.append(() => this.#workflowMetrics.render(clock.now()));
    metrics.gauge("sluice_shards_owned", "Shards this replica owns", () => this.#workers.size);
    metrics.gauge("sluice_actors_hot", "Actors in memory", () => this.#cache.size);
    metrics.gauge(
      "sluice_timers",
      "Timers in memory: those that are due soon",
      () => this.#timers.size,
    );
    metrics.gauge("sluice_tasks_running", "Tasks under way", () => this.#tasks.size);
  }

  /** Number of shards; 0 before `start`. */
  get shards(): number {
    return this.#shards;
  }

  /** Shards this replica runs now. */
  get owned(): number {
    return this.#workers.size;
  }

  /** Actors in memory. */
  get hot(): number {
    return this.#cache.size;
  }

  /** Live replicas, as of the last look. */
  get replicas(): readonly string[] {
    return this.#membership?.replicas ?? [];
  }

  /** Joins the other replicas and begins to take shards. */
  async start(): Promise<void> {
    const { store, clock, log } = this.#deps;
    const { replica, leaseTtlMs, shards } = this.#options;
    this.#shards = await store.membership.shardCount(shards);
    await store.shards.onReply(replica, (request, answer) => {
      if (request === NUDGE) this.#membership?.rebalance();
      else if (request === CANCEL) this.#cancelHere(String(answer));
      else if (request === ASK) this.#answerAbout(answer as unknown as Question);
      else if (request === NOT_RUNNING) this.#effects.notRunning(answer as string[]);
      else this.#calls.hear(request, answer);
    }, this.#stop.signal);
    this.#membership = new Membership({
      store: store.membership,
      clock,
      log,
      replica,
      ttlMs: leaseTtlMs,
      shards: this.#shards,
      work: {
        acquire: (shard) => this.#membership?.acquire(shard) ?? Promise.resolve(undefined),
        // Its worker loads timers by itself, as they come near.
        load: (shard) => store.shards.loadShard(shard, 0),
        open: (lease, state) => this.#open(lease, state),
        close: (lease) => this.#close(lease),
        drop: (shard) => this.#drop(shard),
      },
      onReplicas: () => this.#effects.replicasChanged(),
      onLook: () => this.#timers.checkClock(),
      nudge: (replicas) => {
        for (const one of replicas) this.#tell(one, NUDGE, null);
      },
    });
    this.#membership.start();
    this.#reading = this.#reader.run();
  }

  async execute(
    namespace: string,
    name: string,
    command: WorkflowCommand,
    options: ExecuteOptions = {},
  ): Promise<Workflow> {
    const actor = workflowActorId(namespace, name);
    const result = await this.#call(actor, command as unknown as Json, options);
    if (!result.ok) throw toProblem(result.error);
    return result.answer as Workflow;
  }

  async limitsChanged(
    namespace: string,
    configMap: string,
    data: Record<string, string>,
  ): Promise<void> {
    const limits: Record<string, number> = {};
    for (const [key, text] of Object.entries(data)) {
      if (/^\s*\d+\s*$/.test(text)) {
        limits[`${namespace}/ConfigMap/${configMap}/${key}`] = Number(text);
        if (configMap === DATABASE_LIMITS) limits[`${namespace}/Database/${key}`] = Number(text);
      }
    }
    if (Object.keys(limits).length === 0) return;
    await this.deliver(this.#deps.ids.uuid(), LOCKS_ACTOR, { type: "resize", limits });
  }

  /**
   * Brings a command to an actor and resolves when it is durable: applied where the actor is ours, in the mailbox where
   * it is not. A refusal by the actor counts as delivered.
   *
   * @throws {Problem} Unavailable: try again
   */
  async deliver(id: string, actor: ActorId, body: Json): Promise<void> {
    const shard = shardOf(actor, this.#shards);
    const result = await new Promise<Result>((settle) => {
      const item = { actor, body, settle, arrivedAt: this.#deps.clock.monotonic() };
      const isOurs = this.#workers.get(shard)?.enqueue(item) ?? false;
      if (!isOurs) settle({ ok: false, error: new Moved() });
    });
    if (result.ok) return;
    if (result.error instanceof Moved) {
      return this.#calls.post(shard, { id, actor, body });
    }
    const isTrouble = result.error instanceof Problem &&
      result.error.code === ProblemCode.Unavailable;
    if (isTrouble) throw result.error;
    this.#deps.log.warn({ actor, command: typeOf(body), err: result.error }, "command refused");
  }

  /** Finishes what waits, gives all shards to others, leaves. */
  async drain(): Promise<void> {
    await this.#membership?.leave();
    this.halt();
    await this.#reading;
  }

  /** Stops at once and gives nothing back, as a crash would. */
  halt(): void {
    this.#stop.abort();
    this.#calls.stop();
    this.#reader.stop();
    this.#membership?.halt();
    for (const shard of [...this.#workers.keys()]) this.#drop(shard);
    this.#timers.stop();
  }

  #call(actor: ActorId, body: Json, options: ExecuteOptions): Promise<Result> {
    const { clock } = this.#deps;
    const { idempotency, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    const shard = shardOf(actor, this.#shards);
    const shared = { actor, body, ...(idempotency ? { idempotency } : {}) };
    return new Promise((resolve) => {
      let forget: (() => void) | undefined;
      const onLate = () => {
        forget?.();
        const text = "No answer in time; the request may still be done";
        resolve({ ok: false, error: new Problem(ProblemCode.DeadlineExceeded, text) });
      };
      const cancel = timeoutMs === DEFAULT_TIMEOUT_MS
        ? this.#deadlines.add(onLate)
        : clock.after(timeoutMs, onLate);
      const finish = (result: Result) => {
        cancel();
        resolve(result);
      };
      const send = () => {
        const id = `${this.#options.replica}/${++this.#calling}`;
        ({ forget } = this.#calls.call(shard, { id, ...shared }, finish));
      };
      const isOurs = this.#workers.get(shard)?.enqueue({
        ...shared,
        arrivedAt: clock.monotonic(),
        settle: (result) => {
          if (!result.ok && result.error instanceof Moved) send();
          else finish(result);
        },
      });
      if (!isOurs) send();
    });
  }

  /** Asks the other replicas to end a task: the one that runs it may not own its shard any more. */
  #cancelElsewhere(task: string): void {
    for (const replica of this.replicas) {
      if (replica !== this.#options.replica) this.#tell(replica, CANCEL, task);
    }
  }

  /** Says something to another replica; may get lost. */
  #tell(replica: string, request: string, answer: Json): void {
    this.#deps.store.shards.reply(replica, [{ request, answer }]).catch((cause: unknown) => {
      this.#deps.log.debug({ replica, request, err: cause }, "message lost");
    });
  }

  #answerAbout({ from, tasks }: Question): void {
    const unknown = this.#tasks.unknownOf(tasks);
    if (unknown.length > 0) this.#tell(from, NOT_RUNNING, unknown);
  }

  #cancelHere(task: string): void {
    if (!this.#tasks.has(task)) return;
    this.#tasks.cancel(task).catch((cause: unknown) => {
      this.#deps.log.warn({ task, err: cause }, "task could not be cancelled");
    });
  }

  /** Brings a fact to an actor, however long it takes. */
  async #post(actor: ActorId, body: Json): Promise<void> {
    const { clock, ids, log } = this.#deps;
    const id = ids.uuid();
    for (let attempt = 0; !this.#stop.signal.aborted; attempt++) {
      try {
        return await this.deliver(id, actor, body);
      } catch (cause) {
        if (attempt % 10 === 0) {
          log.warn({ actor, fact: typeOf(body), err: cause }, "not delivered");
        }
        await clock.sleep(Math.min(5_000, 100 * 2 ** attempt), this.#stop.signal);
      }
    }
  }

  #fire(shard: number, row: string): void {
    if (this.#options.frozen) return;
    const { actor, timer } = parseTimerRowId(row);
    this.#workers.get(shard)?.enqueue({
      actor,
      body: { type: "timer-fired", timer },
      timer: row,
      arrivedAt: this.#deps.clock.monotonic(),
    });
  }

  #open(lease: Lease, state: ShardState): void {
    const worker = new ShardWorker(lease, state, this.#workerDeps);
    this.#workers.set(lease.shard, worker);
    worker.resume(state);
    this.#reader.ownershipChanged();
  }

  async #close(lease: Lease): Promise<void> {
    const worker = this.#workers.get(lease.shard);
    if (worker?.lease.epoch === lease.epoch) {
      await worker.drain();
      // While it drained the shard may have been lost and taken again: that worker is another one.
      if (this.#workers.get(lease.shard) === worker) this.#drop(lease.shard);
    }
    await this.#membership?.release(lease);
  }

  #drop(shard: number): void {
    this.#workers.get(shard)?.drop();
    this.#workers.delete(shard);
    this.#reader.ownershipChanged();
  }
}
