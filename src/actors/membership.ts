/**
 * Who is alive, and which shards are ours: announces this replica, asks who else is there, gives every shard to the
 * replica that rendezvous hashing names, and keeps the leases of ours. All clocks that count are the store's; the local
 * one only tells when our leases may have run out.
 */
import { type Actor, createActor } from "xstate";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Lease, Membership as MembershipStore } from "../store/port.ts";
import { ownerOf } from "./rendezvous.ts";
import { shardMachine, type ShardWork } from "./shard_machine.ts";

/** How often a lease is renewed in the time it lasts. */
const TICKS_PER_TTL = 3;
/** How often the others are looked at between two renewals: what a take-over takes longer than a lease lasts. */
const LOOKS_PER_TICK = 3;

export interface MembershipDeps {
  store: MembershipStore;
  clock: Clock;
  log: Logger;
  replica: string;
  ttlMs: number;
  shards: number;
  work: ShardWork;
  /** Hears that replicas came or went. */
  onReplicas(): void;
  /** Called several times in the life of a lease. */
  onLook(): void;
  /** Tells other replicas to look at once who should own what. */
  nudge(replicas: string[]): void;
}

export class Membership {
  readonly #deps: MembershipDeps;
  readonly #machines: Actor<typeof shardMachine>[] = [];
  /** Monotonic time until which each owned lease surely holds. */
  readonly #freshUntil = new Map<number, number>();
  readonly #leases = new Map<number, Lease>();
  readonly #stop = new AbortController();
  #wake = new AbortController();
  #isLeaving = false;
  #loop: Promise<void> = Promise.resolve();
  #replicas: string[] = [];

  constructor(deps: MembershipDeps) {
    this.#deps = deps;
  }

  /** Live replicas, as of the last look. */
  get replicas(): readonly string[] {
    return this.#replicas;
  }

  start(): void {
    const { shards, work } = this.#deps;
    for (let shard = 0; shard < shards; shard++) {
      this.#machines.push(createActor(shardMachine, { input: { shard, work } }).start());
    }
    this.#loop = this.#run();
  }

  /** False when the lease of a shard may have run out unnoticed. */
  isFresh(shard: number): boolean {
    return (this.#freshUntil.get(shard) ?? 0) > this.#deps.clock.monotonic();
  }

  /** Looks at once who should own what. */
  rebalance(): void {
    this.#wake.abort();
  }

  /** A lease was found to be gone. */
  lost(shard: number, epoch: number): void {
    this.#forget(shard, epoch);
    this.#machines[shard]?.send({ type: "lose", epoch });
  }

  /** Asks for the lease of a shard; called by its machine. */
  async acquire(shard: number): Promise<Lease | undefined> {
    const { store, clock, replica, ttlMs } = this.#deps;
    const askedAt = clock.monotonic();
    const lease = await store.acquire(shard, replica, ttlMs);
    if (lease) {
      this.#leases.set(shard, lease);
      this.#freshUntil.set(shard, askedAt + ttlMs);
    }
    return lease;
  }

  /** Gives a lease back; called by the shard's machine when it has drained. */
  async release(lease: Lease): Promise<void> {
    this.#forget(lease.shard, lease.epoch);
    await this.#deps.store.release(lease);
    const next = ownerOf(lease.shard, this.#others());
    if (next !== undefined) this.#deps.nudge([next]);
  }

  /** Drains and gives back all shards, then leaves. */
  async leave(): Promise<void> {
    const { store, replica, log } = this.#deps;
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
      this.#deps.nudge(this.#others());
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

  #others(): string[] {
    return this.#replicas.filter((one) => one !== this.#deps.replica);
  }

  #forget(shard: number, epoch: number): void {
    if (this.#leases.get(shard)?.epoch !== epoch) return;
    this.#leases.delete(shard);
    this.#freshUntil.delete(shard);
  }

  async #run(): Promise<void> {
    const { clock, log, ttlMs } = this.#deps;
    for (let turn = 0; !this.#stop.signal.aborted; turn++) {
      try {
        if (turn % LOOKS_PER_TICK === 0) await this.#announce();
        this.#deps.onLook();
        await this.#look();
      } catch (cause) {
        log.warn({ err: cause }, "the store does not answer the membership round");
      }
      if (this.#wake.signal.aborted) {
        this.#wake = new AbortController();
      } else await clock.sleep(ttlMs / TICKS_PER_TTL / LOOKS_PER_TICK, this.#wake.signal);
    }
  }

  /** Keeps our leases, and tells that we are alive. */
  async #announce(): Promise<void> {
    const { store, replica, ttlMs, log } = this.#deps;
    // In this order: who can't keep its leases must not look alive either.
    const lost = await this.#renew();
    if (!this.#isLeaving) await store.heartbeat(replica, ttlMs);
    for (const { shard, epoch } of lost) {
      log.warn({ shard, epoch }, "lease lost");
      this.lost(shard, epoch);
    }
  }

  /** Sees who is alive, and gives every shard its owner. */
  async #look(): Promise<void> {
    const { store, replica, log } = this.#deps;
    const replicas = await store.replicas();
    if (this.#stop.signal.aborted) return;
    if (replicas.join() !== this.#replicas.join()) {
      log.info({ replicas }, "live replicas");
      this.#replicas = replicas;
      this.#deps.onReplicas();
    }
    if (this.#isLeaving) return;
    for (const [shard, machine] of this.#machines.entries()) {
      const isOurs = ownerOf(shard, replicas) === replica;
      const { wanted } = machine.getSnapshot().context;
      if (isOurs !== wanted) machine.send({ type: isOurs ? "assign" : "unassign" });
      else if (isOurs) machine.send({ type: "tick" });
    }
  }

  async #renew(): Promise<Lease[]> {
    const { store, clock, replica, ttlMs } = this.#deps;
    const leases = [...this.#leases.values()];
    if (leases.length === 0) return [];
    const askedAt = clock.monotonic();
    const lost = new Set(await store.renew(leases, replica, ttlMs));
    for (const lease of leases) {
      const isHeld = !lost.has(lease.shard) && this.#leases.get(lease.shard) === lease;
      if (isHeld) this.#freshUntil.set(lease.shard, askedAt + ttlMs);
    }
    return leases.filter((lease) => lost.has(lease.shard));
  }
}
