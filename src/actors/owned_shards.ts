/** The shards that this replica owns, each run by a worker. */
import type { ActorId, Lease, ShardState, ShardStore } from "../store/port.ts";
import { shardOf } from "./actor_ids.ts";
import type { QueuedCommand } from "./shard/actor_batch.ts";
import type { ShardWorker } from "./shard/serial_worker.ts";

export interface OwnedShardsDeps {
  store: Pick<ShardStore, "loadShard">;
  createWorker(lease: Lease, state: ShardState): ShardWorker;
  /** Shards were gained or lost. */
  onChange(): void;
}

export class OwnedShards {
  readonly #deps: OwnedShardsDeps;
  readonly #workers = new Map<number, ShardWorker>();
  /** Number of shards of the deployment; 0 before the host has started. */
  total = 0;

  constructor(deps: OwnedShardsDeps) {
    this.#deps = deps;
  }

  /** By the number of the shard. */
  get workers(): ReadonlyMap<number, ShardWorker> {
    return this.#workers;
  }

  /** The shard an actor lives in, whoever owns it. */
  shardOf(actor: ActorId): number {
    return shardOf(actor, this.total);
  }

  /** Tells whether this replica takes commands of an actor. */
  owns(actor: ActorId): boolean {
    return this.#workers.get(this.shardOf(actor))?.isOpen === true;
  }

  /** Queues a command; false when this replica does not take commands of the shard. */
  enqueue(shard: number, command: QueuedCommand): boolean {
    return this.#workers.get(shard)?.enqueue(command) ?? false;
  }

  /** Reads what the last owner left. Timers are loaded by the worker, as they come near. */
  load(shard: number): Promise<ShardState> {
    return this.#deps.store.loadShard(shard, 0);
  }

  /** Starts to run a shard. */
  open(lease: Lease, state: ShardState): void {
    const worker = this.#deps.createWorker(lease, state);
    this.#workers.set(lease.shard, worker);
    worker.resume(state);
    this.#deps.onChange();
  }

  /** Finishes what waits in a shard, and stops to run it. */
  async close({ shard, epoch }: Lease): Promise<void> {
    const worker = this.#workers.get(shard);
    if (worker?.lease.epoch !== epoch) return;
    await worker.drain();
    // While it drained, the shard may have been lost and taken again: then another worker runs it.
    if (this.#workers.get(shard) === worker) this.drop(shard);
  }

  /** Forgets a shard at once. */
  drop(shard: number): void {
    this.#workers.get(shard)?.drop();
    this.#workers.delete(shard);
    this.#deps.onChange();
  }

  /** Forgets all shards at once. */
  dropAll(): void {
    for (const shard of [...this.#workers.keys()]) this.drop(shard);
  }
}
