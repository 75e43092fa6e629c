/**
 * The host: runs the actors of the shards that this replica owns, and brings commands to actors wherever they live. It joins
 * the parts of this folder; what a command means is the engine's business.
 */
import type { Json } from "../base/json.ts";
import { FairLimiter } from "../platform/fair_limiter.ts";
import { unreadableReporter } from "../platform/unreadable.ts";
import { DATABASE_LIMITS, type Workflow } from "../spec/manifest.ts";
import type { ActorId } from "../store/port.ts";
import { ActorCache } from "./actor_cache.ts";
import { LOCKS_ACTOR, workflowActorId } from "./actor_ids.ts";
import { Delivery } from "./command_delivery.ts";
import { Effects } from "./effects.ts";
import { createHostMetrics, declareHostGauges, type HostMetrics } from "./host_metrics.ts";
import type { HostDeps, HostOptions } from "./host_parts.ts";
import { LargeLane } from "./large_lane.ts";
import { Leases } from "./replicas/leases.ts";
import { LoopShare } from "./loop_share.ts";
import { MailboxReader } from "./mailbox_reader.ts";
import { Membership } from "./replicas/membership.ts";
import { serveNeighbours } from "./neighbours.ts";
import { OwnedShards } from "./owned_shards.ts";
import type { ExecuteOptions, ReplicaReport, WorkflowCommand, WorkflowHost } from "./port.ts";
import { RemoteCalls } from "./remote_calls.ts";
import { ownerOf } from "./replicas/rendezvous.ts";
import { type AboutOwner, ReplicaChannel } from "./replicas/replica_channel.ts";
import { ReplicaSurvey } from "./replicas/replica_survey.ts";
import { toProblem } from "./result.ts";
import type { Reply } from "./shard/answers.ts";
import { ShardWorker } from "./shard/serial_worker.ts";
import type { WorkerDeps } from "./shard/worker_deps.ts";
import { Tasks } from "./tasks.ts";
import type { SoughtTask } from "./tasks_elsewhere.ts";
import { parseTimerRowId, Timers } from "./timers.ts";
import { observeSamples } from "./workflow/custom_metrics.ts";

/** Actors that are loaded from the store at once, three quarters of them of one namespace. */
const MAX_LOADS = 88;
/** Shards that apply and commit at once. */
const MAX_WORKING = 16;
/** Commands under way in a process up to which it takes new workflows for itself; beyond, they go to all. */
const MAX_UNDER_WAY = 4;
/** How many names are generated to find one of an own shard. */
const NAME_TRIES = 16;
/** Bounds of the histogram of commands in a commit. */
const BATCH_SIZES = [1, 2, 4, 8, 16, 32, 64, 128, 256];

export class Host implements WorkflowHost {
  readonly #deps: HostDeps;
  readonly #options: HostOptions;
  readonly #lane: LargeLane;
  readonly #cache: ActorCache;
  readonly #timers: Timers;
  readonly #leases: Leases;
  readonly #metrics: HostMetrics;
  readonly #shards: OwnedShards;
  readonly #reader: MailboxReader;
  readonly #calls: RemoteCalls;
  readonly #delivery: Delivery;
  readonly #channel: ReplicaChannel;
  readonly #tasks: Tasks;
  readonly #effects: Effects;
  readonly #membership: Membership;
  readonly #survey: ReplicaSurvey;
  readonly #stop = new AbortController();
  #reading: Promise<void> = Promise.resolve();
  /** Commands whose callers wait. */
  #underWay = 0;

  constructor(deps: HostDeps, options: HostOptions) {
    const { store, clock, log, metrics } = deps;
    const { replica, leaseTtlMs: ttlMs } = options;
    const { membership, shards } = store;
    this.#deps = deps;
    this.#options = options;
    this.#lane = new LargeLane(clock);
    this.#cache = new ActorCache(options.hotActors, clock, (actor) => this.#lane.holds(actor));
    this.#timers = new Timers(
      clock,
      (shard, row) => this.#fire(shard, row),
      (shard) => this.#shards.workers.get(shard)?.timersDue(),
    );
    this.#metrics = createHostMetrics(metrics);
    this.#leases = new Leases({ store: membership, clock, replica, ttlMs, metrics: this.#metrics });
    const workerDeps = this.#createWorkerDeps();
    this.#shards = new OwnedShards({
      store: shards,
      createWorker: (lease, state) => new ShardWorker(lease, state, workerDeps),
      onChange: () => this.#reader.ownershipChanged(),
    });
    const { workers } = this.#shards;
    const { mailboxLag: lag } = this.#metrics;
    this.#reader = new MailboxReader({ store: shards, clock, log, lag, workers });
    this.#calls = this.#createCalls();
    this.#delivery = new Delivery({ ...deps, replica, shards: this.#shards, calls: this.#calls });
    this.#channel = new ReplicaChannel({ store: shards, log, replica });
    this.#tasks = new Tasks({
      ...deps,
      maxStarts: options.taskStarts,
      post: (actor, body, delivered) => this.#delivery.post(actor, body, delivered),
    });
    this.#effects = this.#createEffects();
    this.#membership = this.#createMembership();
    this.#survey = new ReplicaSurvey({
      clock,
      replica,
      channel: this.#channel,
      replicas: () => this.replicas,
      describe: () => ({
        shards: [...workers.keys()].sort((a, b) => a - b),
        actors: this.#cache.size,
        tasks: this.#tasks.size,
        about: deps.about?.() ?? {},
      }),
    });
    const sizes = { cache: this.#cache, timers: this.#timers, tasks: this.#tasks };
    declareHostGauges(metrics, { shards: this.#shards, clock, ...sizes });
  }

  /** Number of shards; 0 before `start`. */
  get shards(): number {
    return this.#shards.total;
  }

  /** Shards this replica runs now. */
  get owned(): number {
    return this.#shards.workers.size;
  }

  /** Actors in memory. */
  get hot(): number {
    return this.#cache.size;
  }

  /** Live replicas, as of the last look. */
  get replicas(): readonly string[] {
    return this.#membership.replicas;
  }

  /** Joins the other replicas and begins to take shards. */
  async start(): Promise<void> {
    const { membership } = this.#deps.store;
    this.#shards.total = await membership.shardCount(this.#options.shards);
    await this.#channel.listen({
      onAnswer: (request, answer) => this.#calls.hear(request, answer),
      onRebalance: () => this.#membership.rebalance(),
      onCancelTask: (task) => this.#cancelHere(task),
      onRunningTasks: (from, tasks) => this.#answerAbout(from, tasks),
      onNotRunning: (tasks) => this.#effects.notRunning(tasks),
      onAdopt: (from, sought) => this.#adopt(from, sought),
      onAdopted: (from, task) => this.#effects.adopted(from, task),
      onWhoOwns: (asked) => this.#tellOwner(asked),
      onOwner: (told) => this.#calls.owned(told),
      onDescribe: (from, question) => this.#survey.answer(from, question),
      onDescription: (from, question, facts) => this.#survey.hear(from, question, facts),
    }, this.#stop.signal);
    const { neighbours, clock } = this.#deps;
    if (neighbours !== undefined) {
      serveNeighbours(neighbours, { shards: this.#shards, clock });
      neighbours.onGone((replica) => void this.#membership.gone(replica));
    }
    this.#membership.start(this.#shards.total);
    this.#reading = this.#reader.run();
  }

  execute(
    namespace: string,
    name: string,
    command: WorkflowCommand,
    options: ExecuteOptions = {},
  ): Promise<Workflow> {
    const actor = workflowActorId(namespace, name);
    this.#underWay++;
    return new Promise((resolve, reject) =>
      this.#delivery.call(actor, command as unknown as Json, options, (result) => {
        this.#underWay--;
        if (result.ok) resolve(result.answer as Workflow);
        else reject(toProblem(result.error));
      })
    );
  }

  owns(namespace: string, name: string): boolean {
    return this.#shards.owns(workflowActorId(namespace, name));
  }

  chooseName(namespace: string, generate: () => string): string {
    let name = generate();
    if (this.#underWay >= MAX_UNDER_WAY) return name;
    for (let tries = 1; tries < NAME_TRIES && !this.owns(namespace, name); tries++) {
      name = generate();
    }
    return name;
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

  survey(): Promise<ReplicaReport[]> {
    return this.#survey.ask();
  }

  /** Brings a command to an actor and resolves when it is durable, see {@link Delivery.deliver}. @throws {Problem} */
  deliver(id: string, actor: ActorId, body: Json): Promise<void> {
    return this.#delivery.deliver(id, actor, body);
  }

  /** Finishes what waits, gives all shards to others, leaves. */
  async drain(): Promise<void> {
    await this.#membership.leave();
    this.halt();
    await this.#reading;
  }

  /** Stops at once and gives nothing back, as a crash would. */
  halt(): void {
    this.#stop.abort();
    this.#delivery.stop();
    this.#calls.stop();
    this.#reader.stop();
    this.#membership.halt();
    this.#shards.dropAll();
    this.#timers.stop();
    this.#cache.stop();
  }

  #createWorkerDeps(): WorkerDeps {
    const { clock, log, metrics } = this.#deps;
    const { replica, naming, artifactKeys, limits, frozen = false } = this.#options;
    return {
      ...this.#deps,
      replica,
      naming,
      ...(artifactKeys !== undefined && { artifactKeys }),
      ...(limits !== undefined && { limits }),
      frozen,
      cache: this.#cache,
      timers: this.#timers,
      onUnreadable: unreadableReporter(metrics, log, clock),
      placeOf: (task) => this.#tasks.placeOf(task),
      loads: new FairLimiter(MAX_LOADS),
      slots: new FairLimiter(MAX_WORKING),
      largeTurns: new FairLimiter(1),
      share: new LoopShare(clock),
      lane: this.#lane,
      perform: (worker, rows) => {
        if (!frozen) this.#effects.perform(worker, rows);
      },
      recover: (worker, rows) => {
        if (!frozen) this.#effects.recover(worker, rows);
      },
      observe: observeSamples(this.#deps),
      reply: (to, answers) => this.#reply(to, answers),
      onLost: ({ lease }, cause) => {
        log.warn({ shard: lease.shard, epoch: lease.epoch, err: cause }, "shard lost");
        this.#membership.lost(lease);
      },
      isLeaseFresh: (shard) => this.#leases.isFresh(shard),
      commitSeconds: metrics.histogram("sluice_commit_seconds", "Time of a commit"),
      batchSize: metrics.histogram("sluice_batch_commands", "Commands in a commit", BATCH_SIZES),
    };
  }

  #createCalls(): RemoteCalls {
    const { store, clock, kinds, neighbours } = this.#deps;
    const { replica } = this.#options;
    return new RemoteCalls({
      store: store.shards,
      clock,
      kinds,
      replica,
      ...(neighbours !== undefined && { neighbours }),
      ownerOf: (shard) => ownerOf(shard, this.replicas),
      askOwner: (shard, question) => {
        const owner = ownerOf(shard, this.replicas);
        if (owner === replica) this.#tellOwner({ replica, shard, question });
        else if (owner !== undefined) this.#channel.askOwner(owner, shard, question);
      },
    });
  }

  #createEffects(): Effects {
    const { replica, naming, leaseTtlMs } = this.#options;
    return new Effects({
      ...this.#deps,
      tasks: this.#tasks,
      replica,
      leaseTtlMs,
      replicas: () => this.replicas,
      askAbout: (other, tasks) => this.#channel.askAboutTasks(other, tasks),
      seek: (other, sought) => this.#channel.askToAdopt(other, sought),
      cancelElsewhere: (task) => {
        this.#channel.cancelTask(this.replicas.filter((one) => one !== replica), task);
      },
      labelPrefix: naming.labelPrefix,
      deliver: (id, actor, body) => this.deliver(id, actor, body),
    });
  }

  #createMembership(): Membership {
    const { store, clock, log } = this.#deps;
    const { replica, leaseTtlMs: ttlMs } = this.#options;
    return new Membership({
      store: store.membership,
      clock,
      log,
      leases: this.#leases,
      metrics: this.#metrics,
      replica,
      ttlMs,
      shards: this.#shards,
      onReplicas: () => this.#effects.replicasChanged(),
      onLook: () => this.#timers.checkClock(),
      nudge: (replicas) => this.#channel.rebalance(replicas),
    });
  }

  #reply(replica: string, answers: Reply[]): void {
    if (replica !== this.#options.replica) return this.#channel.answer(replica, answers);
    for (const { request, answer } of answers) this.#calls.hear(request, answer);
  }

  /** Answers a replica that asks whether this one owns a shard, if it does. */
  #tellOwner({ replica: to, shard, question }: AboutOwner): void {
    const { replica } = this.#options;
    // A lease that may have run out proves nothing.
    if (!this.#shards.workers.has(shard) || !this.#leases.isFresh(shard)) return;
    if (to === replica) this.#calls.owned({ replica, shard, question });
    else this.#channel.tellOwner(to, shard, question);
  }

  /** Answers another replica that asks what is not running here. */
  #answerAbout(from: string, tasks: string[]): void {
    const unknown = this.#tasks.unknownOf(tasks);
    if (unknown.length > 0) this.#channel.tellNotRunning(from, unknown);
  }

  /** Goes on with a task of another replica's shard, if it lives at the place of this one. */
  #adopt(from: string, { actor, task, place }: SoughtTask): void {
    const { frozen = false } = this.#options;
    if (frozen || place !== this.#tasks.placeOf(task)) return;
    void this.#tasks.start(actor, task, () => !this.#stop.signal.aborted);
    this.#channel.tellAdopted(from, task.id);
  }

  #cancelHere(task: string): void {
    if (!this.#tasks.has(task)) return;
    this.#tasks.cancel(task).catch((cause: unknown) => {
      this.#deps.log.warn({ task, err: cause }, "task could not be cancelled");
    });
  }

  #fire(shard: number, row: string): void {
    if (this.#options.frozen) return;
    const { actor, timer } = parseTimerRowId(row);
    this.#shards.enqueue(shard, {
      actor,
      body: { type: "timer-fired", timer },
      timer: row,
      arrivedAt: this.#deps.clock.monotonic(),
    });
  }
}
