/**
 * A simulated deployment from one seed: real hosts, engine and event workers on one store, with clients and faults
 * chosen by the seed. At the end all faults stop, everything must come to rest, and the ledger is checked.
 */
import { unrestrictedCaller } from "../../src/auth/caller.ts";
import type { ControlRequest } from "../../src/engine/command.ts";
import { receiveEvent } from "../../src/service/events/intake.ts";
import { takeCallback } from "../../src/service/callbacks/use.ts";
import { createWorkflow } from "../../src/service/workflows/create.ts";
import { deleteWorkflow } from "../../src/service/workflows/control.ts";
import { ManifestKind } from "../../src/spec/manifest.ts";
import { openMemoryStore } from "../../src/store/memory/store.ts";
import type { Store } from "../../src/store/port.ts";
import { seededFraction } from "../support/seeded_ids.ts";
import {
  BINDINGS,
  cronWorkflow,
  NAMESPACE,
  type Payload,
  TEMPLATE,
  WORKFLOW_KINDS,
  type WorkflowKind,
  workflowOf,
} from "./catalogue.ts";
import { Client } from "./client.ts";
import { Coverage } from "./coverage.ts";
import { Ledger, OP_LABEL } from "./ledger.ts";
import {
  CLAIM_MS,
  createReplica,
  drainReplica,
  HOT_ACTORS,
  type Replica,
  SHARDS,
  startReplica,
  TALLIES,
  TTL_MS,
} from "./replica.ts";
import { SimClock, SimProcess } from "./sim_clock.ts";
import { TaskPlace } from "./sim_executor.ts";
import { networked, type Weather } from "./sim_network.ts";

const STEPS = 32;
const MAX_REPLICAS = 4;
/** Longest time from the end of all faults until everything is at rest, ms. */
const MAX_REST_MS = 180_000;
/** The largest error of a replica's time of day, ms. */
const MAX_JUMP_MS = 45_000;
/** One seed in this many has a cron workflow, whose feed costs all replicas time. */
const CRON_SEEDS = 20;
/** How long the cron workflow goes on after the end of all faults, ms. Failed attempts are repeated meanwhile. */
const CRON_REST_MS = 35_000;

/** Nothing is aborted. */
const NEVER = new AbortController().signal;
/** Longest drain before the process ends anyway, ms. */
const DRAIN_MS = 10_000;

/** Changes the store that replicas see, to prove that the checks notice; made anew for each replica. */
export type Mutant = (store: Store) => Store;

export const NO_MUTANT: Mutant = (store) => store;

/** Commands sent to one tally. */
export interface Tally {
  name: string;
  hasTimer: boolean;
}

export class World {
  readonly clock = new SimClock();
  readonly coverage = new Coverage();
  readonly ledger: Ledger;
  readonly client: Client;
  readonly tallies: Tally[] = [];
  /** What clients or replicas did wrong along the way. */
  readonly wrong: string[] = [];
  readonly store: Store;
  readonly #random: () => number;
  readonly #mutant: Mutant;
  readonly #seed: number;
  readonly #weather: Weather = { loss: 0, delay: 0 };
  readonly #cluster: TaskPlace | undefined;
  readonly #places: { process: SimProcess; tasks: TaskPlace }[] = [];
  /** Workflows that clients still have to make. */
  readonly #plan: { kind: WorkflowKind; name: string }[] = [];
  /** When the cron workflow was created, and when it was suspended; undefined in runs without one. */
  readonly cron: { madeAt: number; suspendedAt: number } | undefined;
  #replicas: Replica[] = [];
  #started = 0;
  #events = 0;

  constructor(seed: number, mutant: Mutant) {
    this.#seed = seed;
    this.#random = seededFraction(seed * 7_919 + 1);
    this.#mutant = mutant;
    const { clock, coverage } = this;
    const now = () => clock.now();
    this.ledger = new Ledger(now, coverage, CLAIM_MS);
    this.store = this.ledger.over(openMemoryStore({ now, waits: clock }));
    this.client = new Client({
      clock,
      random: this.#random,
      coverage,
      pick: () => this.#pick(this.#replicas.filter(({ isLeaving }) => !isLeaving)),
      note: (...facts) => this.ledger.note(...facts),
    });
    this.#cluster = this.#chance(0.5) ? this.#place(false) : undefined;
    if (seed % CRON_SEEDS === 0) this.cron = { madeAt: now(), suspendedAt: 0 };
  }

  /** Runs the whole world. */
  async run(): Promise<void> {
    await this.#prepare();
    for (let step = 0; step < STEPS; step++) {
      await this.#act();
      await this.clock.advance(Math.floor(this.#random() ** 3 * 1_500));
      this.#look();
    }
    await this.#heal();
  }

  /** Live replicas. */
  get replicas(): readonly Replica[] {
    return this.#replicas;
  }

  /** Tasks that still run somewhere. */
  get runningTasks() {
    return this.#places.filter(({ process }) => !process.isCrashed)
      .flatMap(({ tasks }) => tasks.running).concat(this.#cluster?.running ?? []);
  }

  stop(): void {
    for (const { process } of this.#replicas) process.crash();
  }

  async #prepare(): Promise<void> {
    const { manifests } = this.store;
    const put = (kind: ManifestKind, object: { metadata: { name?: string } }) =>
      manifests.put({
        kind,
        namespace: NAMESPACE,
        name: object.metadata.name ?? "",
        text: JSON.stringify(object),
        labels: {},
      }, undefined);
    await put(ManifestKind.WorkflowTemplate, TEMPLATE);
    for (const binding of BINDINGS) await put(ManifestKind.WorkflowEventBinding, binding);
    if (this.cron) await put(ManifestKind.CronWorkflow, cronWorkflow(this.cron.madeAt, false));
    for (let index = 0; index < 2; index++) {
      this.tallies.push({ name: `t${index}`, hasTimer: false });
    }
    const kinds = WORKFLOW_KINDS.filter((kind) => !["gate", "callback", "url"].includes(kind));
    for (let index = 0; index < 3; index++) {
      this.#plan.push({ kind: this.#pick(kinds) ?? "steps", name: `w${index}` });
    }
    if (this.#chance(0.5)) {
      this.#plan.push({ kind: "lock", name: "lock" }, { kind: "lock", name: "lock2" });
    }
    if (this.#chance(0.7)) this.#plan.push({ kind: "callback", name: "callback" });
    this.#plan.push({ kind: "gate", name: "gate" });
    const replicas = 1 + Math.floor(this.#random() * 3);
    for (let index = 0; index < replicas; index++) this.#start();
    await this.clock.advance(200);
    for (const { name } of this.tallies) this.#tally(name, "submit");
    if (this.#chance(0.7)) this.#create("url", "url");
    await this.clock.advance(200);
    this.#weather.delay = this.#random() * 0.2;
  }

  async #act(): Promise<void> {
    const dice = this.#random();
    if (dice < 0.06) this.#useUrl();
    else if (dice < 0.16) this.#sendTally();
    else if (dice < 0.32) this.#createNext();
    else if (dice < 0.47) this.#controlGate();
    else if (dice < 0.56) this.#controlAny();
    else if (dice < 0.72) this.#sendEvent();
    else if (dice < 0.78) this.#weather.loss = this.#chance(0.5) ? 0 : this.#random() * 0.3;
    else if (dice < 0.83 && this.#replicas.length < MAX_REPLICAS) this.#start();
    else if (dice < 0.88) this.#crash();
    else if (dice < 0.91) await this.#pause();
    else if (dice < 0.94) await this.#cutOff();
    else if (dice < 0.96) this.#drain();
    else if (dice < 0.98) this.#jump();
    else for (const { tasks } of this.#allPlaces()) tasks.endAll();
    if (this.#replicas.length === 0 && this.#chance(0.5)) this.#start();
  }

  // ------------------------------------------------------------------------------------------------ clients

  #sendTally(): void {
    const tally = this.#pick(this.tallies);
    if (!tally) return;
    if (!tally.hasTimer && this.#chance(0.15)) {
      tally.hasTimer = true;
      return void this.#tally(tally.name, "timer");
    }
    this.#tally(tally.name, this.#chance(0.75) ? "add" : "task");
  }

  #tally(name: string, type: "submit" | "add" | "task" | "timer"): void {
    const at = this.clock.now() + Math.floor(this.#random() * 5_000);
    // A tally must exist, so its submission is repeated until it succeeds.
    const isKeyed = type === "submit" || this.#chance(0.4);
    const options = this.#options(isKeyed);
    this.client.start(type, name, isKeyed, ({ host }) => {
      return host.execute(TALLIES, name, { type, at } as never, options);
    });
  }

  #options(isKeyed: boolean): { idempotency?: { key: string; fingerprint: string } } {
    const key = `key-${this.client.nextId}`;
    return isKeyed ? { idempotency: { key, fingerprint: key } } : {};
  }

  #createNext(): void {
    const next = this.#plan.shift() ?? this.#goneByNow();
    if (next) this.#create(next.kind, next.name);
  }

  /** A deleted gate is made again. */
  #goneByNow(): { kind: WorkflowKind; name: string } | undefined {
    return this.ledger.lifeOf("gate") ? undefined : { kind: "gate", name: "gate" };
  }

  #create(kind: WorkflowKind, name: string): void {
    const isKeyed = this.#chance(0.6);
    const { idempotency } = this.#options(isKeyed);
    const workflow = workflowOf(kind, name);
    this.client.start("create", name, isKeyed, ({ service }) => {
      const caller = unrestrictedCaller({});
      return createWorkflow(service, caller, { namespace: NAMESPACE, workflow, idempotency });
    });
  }

  #controlGate(): void {
    if (this.#chance(0.08)) this.#delete("gate");
    else {
      const byNode = { nodeFieldSelector: "displayName=gate" };
      const request = this.#pick<ControlRequest>([
        { type: "suspend" },
        { type: "suspend" },
        { type: "resume" },
        { type: "resume", ...byNode },
        { type: "stop" },
        { type: "stop", ...byNode, message: "no" },
        { type: "terminate" },
        { type: "retry" },
        { type: "retry" },
        { type: "set", ...byNode, phase: "Succeeded" },
        { type: "set", ...byNode, phase: "Failed" },
      ]);
      if (request) this.#control("gate", request);
    }
  }

  #controlAny(): void {
    const names = [...this.ledger.lives.keys()].filter((name) => /^(w\d|lock2?)$/.test(name));
    const name = this.#pick(names);
    if (name === undefined) return;
    if (this.#chance(0.1)) return this.#delete(name);
    const type = this.#pick(["suspend", "resume", "resume", "stop", "terminate", "retry"] as const);
    this.#control(name, { type: type ?? "resume" });
  }

  #control(name: string, request: ControlRequest): void {
    const labels = { [`${OP_LABEL}${this.client.nextId}`]: request.type };
    const isKeyed = this.#chance(0.4);
    const options = this.#options(isKeyed);
    const byNode = "nodeFieldSelector" in request ? "-node" : "";
    const phase = request.type === "set" ? `-${request.phase}` : "";
    this.client.start(`${request.type}${byNode}${phase}`, name, isKeyed, ({ host }) => {
      return host.execute(NAMESPACE, name, { type: "control", request, labels }, options);
    });
  }

  #delete(name: string): void {
    this.client.start("delete", name, false, async ({ service }) => {
      await deleteWorkflow(service, unrestrictedCaller({}), { namespace: NAMESPACE, name }, {});
    });
  }

  /** A job uses its URL, once or several times, with one of two results or a stop. */
  #useUrl(): void {
    const uid = this.ledger.lifeOf("url")?.uid;
    if (uid === undefined) return this.#sendTally();
    const verb = this.#chance(0.8) ? "resume" : "stop";
    const n = this.#chance(0.5) ? "1" : "2";
    const body = verb === "resume" ? { outputs: { n } } : { message: "no" };
    const claims = { namespace: NAMESPACE, workflow: "url", uid, node: "url[1].wait" };
    const isKeyed = this.#chance(0.3);
    const { idempotency } = this.#options(isKeyed);
    const what = verb === "resume" ? `url-resume-${n}` : "url-stop";
    this.client.start(what, "url", isKeyed, ({ service }) =>
      takeCallback(
        service,
        { ...claims, verbs: [verb], expiresAt: Infinity },
        verb,
        body,
        idempotency,
      ));
  }

  #sendEvent(): void {
    const kinds = ["both", "both", "first", "broken", "callback", "callback", "none"] as const;
    const kind = this.#pick(kinds) ?? "both";
    const payload: Payload = {
      n: this.#events++,
      kind,
      ...(kind === "callback" ? { target: "callback" } : {}),
    };
    const isKeyed = this.#chance(0.5);
    const { idempotency } = this.#options(isKeyed);
    this.client.start(
      "event",
      String(payload.n),
      isKeyed,
      ({ service }) =>
        receiveEvent(service, unrestrictedCaller({}), {
          namespace: NAMESPACE,
          discriminator: "",
          payload: { ...payload },
          metadata: {},
          idempotency,
        }),
    );
  }

  // ------------------------------------------------------------------------------------------------ faults

  #start(): void {
    const name = `r${this.#started++}`;
    const process = new SimProcess(name, this.clock);
    if (this.#chance(0.2)) this.#setClock(process);
    const store = networked(this.#mutant(this.store), process, {
      clock: this.clock,
      random: this.#random,
      weather: this.#weather,
      coverage: this.coverage,
    });
    const tasks = this.#cluster ?? this.#place(true);
    if (tasks !== this.#cluster) this.#places.push({ process, tasks });
    const seed = this.#seed * 100 + this.#started;
    const replica = createReplica(process, store, tasks.executorOf(process), seed);
    this.#replicas.push(replica);
    this.coverage.add("replica: started");
    void startReplica(replica, this.cron !== undefined);
  }

  #place(isTied: boolean): TaskPlace {
    const { clock, coverage } = this;
    return new TaskPlace({ clock, random: this.#random, coverage }, isTied);
  }

  #allPlaces(): { tasks: TaskPlace }[] {
    return this.#cluster ? [{ tasks: this.#cluster }] : this.#places;
  }

  #crash(): void {
    const victim = this.#pick(this.#replicas);
    if (!victim) return;
    this.coverage.add("replica: crashed");
    if (this.#replicas.length === 1) this.coverage.add("replica: last one crashed");
    this.#end(victim);
    if (!this.#chance(0.5)) return;
    // As processes of one machine hear it from their parent.
    for (const other of this.#replicas) {
      this.coverage.add("replica: heard that another one crashed");
      other.hearGone(victim.process.name);
    }
  }

  #end(replica: Replica): void {
    this.#replicas = this.#replicas.filter((one) => one !== replica);
    replica.process.crash();
  }

  async #pause(): Promise<void> {
    const { process } = this.#pick(this.#replicas) ?? {};
    if (!process || process.isPaused) return;
    const ownsSome = this.ledger.ownedBy(process.name).length > 0;
    process.pause();
    this.clock.after(this.#random() * 3 * TTL_MS, () => {
      const length = process.unpause();
      if (ownsSome && length > TTL_MS) this.coverage.add("replica: paused beyond the lease");
    });
    await this.clock.advance(this.#random() * TTL_MS);
  }

  async #cutOff(): Promise<void> {
    const { process } = this.#pick(this.#replicas) ?? {};
    if (!process) return;
    process.cut = this.#chance(0.5) ? "requests" : "answers";
    const length = this.#random() * 3 * TTL_MS;
    const ownsSome = this.ledger.ownedBy(process.name).length > 0;
    if (ownsSome && length > TTL_MS) this.coverage.add("replica: cut off beyond the lease");
    this.clock.after(length, () => process.cut = "nothing");
    await this.clock.advance(this.#random() * TTL_MS);
  }

  #drain(): void {
    const replica = this.#pick(
      this.#replicas.filter(({ process, isLeaving }) => !process.isStarting && !isLeaving),
    );
    if (!replica || this.#replicas.length < 2) return;
    this.coverage.add("replica: drained");
    replica.process.enter(() => void drainReplica(replica).then(() => this.#end(replica)));
    this.clock.after(DRAIN_MS, () => this.#end(replica));
  }

  #jump(): void {
    const { process } = this.#pick(this.#replicas) ?? {};
    if (!process) return;
    this.coverage.add("replica: clock jumped");
    this.#setClock(process);
  }

  #setClock(process: SimProcess): void {
    process.offsetMs = Math.floor((this.#random() - 0.5) * 2 * MAX_JUMP_MS);
  }

  // ------------------------------------------------------------------------------------------------ the end

  /** Ends all faults, lets everything come to rest, and resumes what waits for a client. */
  async #heal(): Promise<void> {
    Object.assign(this.#weather, { loss: 0, delay: 0 });
    for (const { process } of this.#replicas) {
      process.unpause();
      process.cut = "nothing";
      process.offsetMs = 0;
    }
    if (this.cron) await this.#endCron(this.cron);
    for (let round = 0; round < 4; round++) {
      await this.#rest();
      const waiting = this.#unfinished();
      if (waiting.length === 0) break;
      for (const { name } of waiting) this.#control(name, { type: "resume" });
    }
    await this.#rest();
  }

  /** Lets the cron workflow go on for a while, then suspends it. */
  async #endCron(cron: NonNullable<World["cron"]>): Promise<void> {
    // One that was paused carries out its order to stop only now.
    await this.clock.advance(1);
    if (this.#replicas.every(({ isLeaving }) => isLeaving)) this.#start();
    await this.clock.advance(CRON_REST_MS);
    const { metadata: { name = "" } } = cronWorkflow(cron.madeAt, true);
    const { manifests } = this.store;
    const stored = await manifests.get(ManifestKind.CronWorkflow, NAMESPACE, name);
    if (stored === undefined) return void this.wrong.push("the cron workflow is gone");
    const object = JSON.parse(stored.text) as ReturnType<typeof cronWorkflow>;
    object.spec.suspend = true;
    await manifests.put({ ...stored, text: JSON.stringify(object) }, stored.version);
    cron.suspendedAt = this.clock.now();
  }

  async #rest(): Promise<void> {
    const until = this.clock.now() + MAX_REST_MS;
    let quiet = 0;
    while (quiet < 2 && this.clock.now() < until) {
      // The last replica may only now have carried out its order to stop.
      if (this.#replicas.every(({ isLeaving }) => isLeaving)) this.#start();
      await this.clock.advance(1_000);
      for (const { tasks } of this.#allPlaces()) tasks.endAll();
      quiet = await this.#isQuiet() ? quiet + 1 : 0;
    }
  }

  async #isQuiet(): Promise<boolean> {
    if (this.client.pending > 0 || this.ledger.openEvents.length > 0) return false;
    const { items } = await this.store.manifests.list(ManifestKind.WaitingCallback, { limit: 0 });
    if (items.length > 0) return false;
    for (let shard = 0; shard < SHARDS; shard++) {
      const { cursor, outbox, timers } = await this.store.shards.loadShard(shard);
      if (Object.keys(outbox).length > 1 || Object.keys(timers).length > 0) return false;
      // Nobody may have the shard yet, and a command may wait for its owner.
      const unread = await this.store.shards.readMailboxes([{ shard, cursor }], 1, 0, NEVER);
      if (unread.length > 0) return false;
    }
    return true;
  }

  #unfinished() {
    return [...this.ledger.lives.keys()].map((name) => this.ledger.lifeOf(name))
      .filter((life) => life !== undefined)
      .filter(({ phase }) => !["Succeeded", "Failed", "Error"].includes(phase));
  }

  #look(): void {
    for (const { process, host } of this.#replicas) {
      // What a batch works on stays until the batch is done.
      if (host.hot > HOT_ACTORS + 8) {
        this.wrong.push(`${process.name}: ${host.hot} actors in memory`);
      }
    }
  }

  #pick<T>(list: readonly T[]): T | undefined {
    return list[Math.floor(this.#random() * list.length)];
  }

  #chance(share: number): boolean {
    return this.#random() < share;
  }
}
