/**
 * The leases that this replica holds. Their time is the store's; the local clock only tells until when they surely hold.
 */
import type { Clock } from "../../platform/clock.ts";
import type { Lease, Membership as MembershipStore } from "../../store/port.ts";
import type { HostMetrics, LeaseChange } from "../host_metrics.ts";

export interface LeasesDeps {
  store: Pick<MembershipStore, "acquire" | "renew" | "release">;
  clock: Pick<Clock, "monotonic">;
  replica: string;
  /** How long a lease lasts. */
  ttlMs: number;
  metrics?: Pick<HostMetrics, "leaseChanged">;
}

export class Leases {
  readonly #deps: LeasesDeps;
  readonly #held = new Map<number, Lease>();
  /** Monotonic time until which each lease surely holds. */
  readonly #freshUntil = new Map<number, number>();

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** False when the lease of a shard may have run out unnoticed. */
  isFresh(shard: number): boolean {
    return (this.#freshUntil.get(shard) ?? 0) > this.#deps.clock.monotonic();
  }

  /** Asks for the lease of a shard; undefined while another replica holds it. */
  async acquire(shard: number): Promise<Lease | undefined> {
    const { store, clock, replica, ttlMs } = this.#deps;
    const askedAt = clock.monotonic();
    const lease = await store.acquire(shard, replica, ttlMs);
    if (lease) {
      this.#held.set(shard, lease);
      this.#freshUntil.set(shard, askedAt + ttlMs);
      this.#deps.metrics?.leaseChanged("acquired");
    }
    return lease;
  }

  /** Renews all leases; gives those that were lost. */
  async renew(): Promise<Lease[]> {
    const { store, clock, replica, ttlMs } = this.#deps;
    const leases = [...this.#held.values()];
    if (leases.length === 0) return [];
    const askedAt = clock.monotonic();
    const unknown = new Set<number>();
    const lost = new Set(await store.renew(leases, replica, ttlMs, unknown));
    // One that was given back meanwhile is not lost.
    const held = leases.filter((lease) => this.#held.get(lease.shard) === lease);
    for (const { shard } of held) {
      const isRenewed = !lost.has(shard) && !unknown.has(shard);
      if (isRenewed) this.#freshUntil.set(shard, askedAt + ttlMs);
    }
    return held.filter(({ shard }) => lost.has(shard));
  }

  /** Gives a lease back. */
  async release(lease: Lease): Promise<void> {
    this.forget(lease, "released");
    await this.#deps.store.release(lease);
  }

  /** Forgets a lease that is gone. A later one of the same shard stays. */
  forget({ shard, epoch }: Lease, change: LeaseChange = "lost"): void {
    if (this.#held.get(shard)?.epoch !== epoch) return;
    this.#held.delete(shard);
    this.#freshUntil.delete(shard);
    this.#deps.metrics?.leaseChanged(change);
  }
}
