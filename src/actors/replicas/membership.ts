/**
 * Who is alive, and which shards are ours: announces this replica, asks who else is there, gives every shard to the
 * replica that rendezvous hashing names, and keeps the leases of ours.
 */
import { type Actor, createActor } from "xstate";
import { type Clock, untilBeat } from "../../platform/clock.ts";
import type { Logger } from "../../platform/log.ts";
import type { Lease, Membership as MembershipStore } from "../../store/port.ts";
import type { HostMetrics } from "../host_metrics.ts";
import type { Leases } from "./leases.ts";
import { ownerOf } from "./rendezvous.ts";
import { shardMachine, type ShardWork } from "./shard_machine.ts";

/** How often a lease is renewed in the time it lasts. */
const TICKS_PER_TTL = 3;
/** Looks at the other replicas per renewal. A take-over takes as much longer than a lease as one of them. */
const LOOKS_PER_TICK = 3;

export interface MembershipDeps {
  store: Pick<MembershipStore, "heartbeat" | "replicas" | "leave">;
  clock: Clock;
  log: Logger;
  leases: Leases;
  metrics?: Pick<HostMetrics, "tookOver">;
  /** Name of this replica. */
  replica: string;
  /** How long a lease lasts. */
  ttlMs: number;
  /** Runs the shards whose leases we hold. */
  shards: Pick<ShardWork, "load" | "open" | "close" | "drop">;
  /** Hears that replicas came or went. */
  onReplicas(): void;
  /** Called several times in the life of a lease. */
  onLook(): void;
  /** Tells other replicas to look at once who should own what. */
  nudge(replicas: string[]): void;
}

export class Membership {
  readonly #deps: MembershipDeps;
  /** One for each shard. */
  readonly #machines: Actor<typeof shardMachine>[] = [];
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #isLeaving = false;
  #loop: Promise<void> = Promise.resolve();
  #replicas: string[] = [];
  /** Since when this replica is to have a shard that it does not run yet, monotonic ms. */
  readonly #wantedSince = new Map<number, number>();

  constructor(deps: MembershipDeps) {
    this.#deps = deps;
  }

  /** Live replicas, as of the last look. */
  get replicas(): readonly string[] {
    return this.#replicas;
  }

  /** @param count number of shards of the deployment */
  start(count: number): void {
    const work = this.#work();
    for (let shard = 0; shard < count; shard++) {
      this.#machines.push(createActor(shardMachine, { input: { shard, work } }).start());
    }
    this.#loop = this.#run();
  }

  /** Looks at once who should own what. */
  rebalance(): void {
    this.#wake.abort();
  }

  /** A lease was found to be gone. */
  lost(lease: Lease): void {
    const { leases, clock } = this.#deps;
    leases.forget(lease);
    this.#wantedSince.set(lease.shard, clock.monotonic());
    this.#machines[lease.shard]?.send({ type: "lose", epoch: lease.epoch });
  }

  /** A replica is known to have ended. Its shards go to others at once, before its leases run out. */
  async gone(replica: string): Promise<void> {
    const { store, log } = this.#deps;
    try {
      await store.leave(replica);
    } catch (cause) {
      log.warn({ err: cause, replica }, "the leases of a replica that ended will run out");
    }
    this.rebalance();
  }

  /** Drains and gives back all shards, then leaves. */
  async leave(): Promise<void> {
    const { store, replica, log, nudge } = this.#deps;
    this.#isLeaving = true;
    for (const machine of this.#machines) machine.send({ type: "unassign" });
    const settled = this.#machines.map((machine) =>
      new Promise<void>((resolve) => {
        const check = (value: unknown) => void (value === "free" && resolve());
        machine.subscribe((snapshot) => check(snapshot.value));
        check(machine.getSnapshot().value);
      })
    );
    await Promise.all(settled);
    this.halt();
    await this.#loop;
    try {
      await store.leave(replica);
      nudge(this.#others());
    } catch (cause) {
      log.warn({ err: cause }, "the others will notice by themselves that this replica left");
    }
  }

  /** Stops at once, as a crash would. */
  halt(): void {
    this.#stop.abort();
    this.#wake.abort();
    for (const machine of this.#machines) machine.stop();
  }

  /** What the machines do with their shards. */
  #work(): ShardWork {
    const { leases, shards, nudge } = this.#deps;
    return {
      acquire: (shard) => leases.acquire(shard),
      load: (shard) => shards.load(shard),
      open: (lease, state) => {
        shards.open(lease, state);
        this.#tookOver(lease);
      },
      close: async (lease) => {
        await shards.close(lease);
        await leases.release(lease);
        const next = ownerOf(lease.shard, this.#others());
        if (next !== undefined) nudge([next]);
      },
      drop: (shard) => shards.drop(shard),
    };
  }

  /** Tells how long a shard stood still. */
  #tookOver({ shard, expiredAt }: Lease): void {
    const { clock, ttlMs, metrics } = this.#deps;
    const since = this.#wantedSince.get(shard) ?? clock.monotonic();
    this.#wantedSince.delete(shard);
    const ms = expiredAt === undefined
      ? clock.monotonic() - since
      : clock.now() - (expiredAt - ttlMs);
    metrics?.tookOver(Math.max(0, ms) / 1_000, expiredAt === undefined ? "released" : "expired");
  }

  #others(): string[] {
    return this.#replicas.filter((one) => one !== this.#deps.replica);
  }

  async #run(): Promise<void> {
    const { store, clock, log, ttlMs } = this.#deps;
    for (let turn = 0; !this.#stop.signal.aborted;) {
      try {
        const replicas = turn === 0 ? await this.#announce() : await store.replicas();
        this.#deps.onLook();
        this.#assign(replicas);
      } catch (cause) {
        log.warn({ err: cause }, "the store does not answer the membership round");
      }
      // Who is alone and has all shards has nobody to look at.
      const rest = this.#isSettledAlone() ? LOOKS_PER_TICK - turn : 1;
      turn = (turn + rest) % LOOKS_PER_TICK;
      if (this.#wake.signal.aborted) {
        this.#wake = new AbortController();
      } else {
        const ms = rest * ttlMs / TICKS_PER_TTL / LOOKS_PER_TICK;
        await clock.sleep(untilBeat(clock.monotonic(), ms), this.#wake.signal);
      }
    }
  }

  #isSettledAlone(): boolean {
    return this.#others().length === 0 &&
      this.#machines.every((machine) => machine.getSnapshot().value === "owning");
  }

  /** Keeps our leases, tells that we are alive, and sees who else is. */
  async #announce(): Promise<string[]> {
    const { store, leases, replica, ttlMs, log } = this.#deps;
    // In this order: a replica that cannot keep its leases must not look alive.
    const lost = await leases.renew();
    const replicas = this.#isLeaving
      ? await store.replicas()
      : (await store.heartbeat(replica, ttlMs)).replicas;
    for (const lease of lost) {
      const { shard, epoch } = lease;
      log.warn({ shard, epoch }, "lease lost");
      this.lost(lease);
    }
    return replicas;
  }

  /** Gives every shard its owner. */
  #assign(replicas: string[]): void {
    const { replica, log, clock, nudge } = this.#deps;
    if (this.#stop.signal.aborted) return;
    if (replicas.join() !== this.#replicas.join()) {
      log.info({ replicas }, "live replicas");
      const isFirst = this.#replicas.length === 0;
      this.#replicas = replicas;
      // One that is alone seldom looks whether others have come.
      if (isFirst) nudge(this.#others());
      this.#deps.onReplicas();
    }
    if (this.#isLeaving) return;
    for (const [shard, machine] of this.#machines.entries()) {
      const isOurs = ownerOf(shard, replicas) === replica;
      const { value, context: { wanted } } = machine.getSnapshot();
      if (isOurs !== wanted) {
        if (isOurs) this.#wantedSince.set(shard, clock.monotonic());
        else this.#wantedSince.delete(shard);
        machine.send({ type: isOurs ? "assign" : "unassign" });
      } else if (isOurs && value === "waiting") machine.send({ type: "tick" });
    }
  }
}
