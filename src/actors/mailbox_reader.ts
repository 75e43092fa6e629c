/** Reads the mailboxes of all shards this replica owns, with one waiting call for all of them. */
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Histogram } from "../platform/metrics.ts";
import type { ShardStore } from "../store/port.ts";
import type { ShardWorker } from "./shard/serial_worker.ts";

/** Most entries in one read. */
const MAX_ENTRIES = 1_000;
/** Commands that may wait in a shard before its mailbox is left alone. */
const MAX_BACKLOG = 2_000;
const WAIT_MS = 5_000;
/** Wait when a full shard is left out of the read. */
const BUSY_WAIT_MS = 50;

export interface ReaderDeps {
  store: ShardStore;
  clock: Clock;
  log: Logger;
  workers: ReadonlyMap<number, ShardWorker>;
  /** Observes how long commands were in their mailboxes, seconds. */
  lag?: Histogram;
}

export class MailboxReader {
  readonly #deps: ReaderDeps;
  readonly #stop = new AbortController();
  #changed = new AbortController();

  constructor(deps: ReaderDeps) {
    this.#deps = deps;
  }

  /** Reads until `stop`. */
  async run(): Promise<void> {
    const { clock, log } = this.#deps;
    for (let failures = 0; !this.#stop.signal.aborted;) {
      try {
        await this.#read();
        failures = 0;
      } catch (cause) {
        if (failures++ % 10 === 0) log.warn({ err: cause }, "mailboxes cannot be read");
        await clock.sleep(Math.min(2_000, 50 * 2 ** failures), this.#stop.signal);
      }
    }
  }

  /** Shards were gained or lost: the wait begins anew. */
  ownershipChanged(): void {
    this.#changed.abort();
  }

  stop(): void {
    this.#stop.abort();
    this.#changed.abort();
  }

  async #read(): Promise<void> {
    const { store, clock, workers, lag } = this.#deps;
    this.#changed = new AbortController();
    const open = [...workers.values()].filter((worker) => worker.isOpen);
    const asked = open.filter((worker) => worker.backlog < MAX_BACKLOG);
    if (asked.length === 0) {
      return clock.sleep(open.length > 0 ? BUSY_WAIT_MS : WAIT_MS, this.#changed.signal);
    }
    const entries = await store.readMailboxes(
      asked.map(({ shard, cursor }) => ({ shard, cursor })),
      MAX_ENTRIES,
      asked.length < open.length ? BUSY_WAIT_MS : WAIT_MS,
      this.#changed.signal,
    );
    // A shard that was lost and taken again meanwhile begins from its own cursor: only who asked may take the answer.
    const byShard = new Map(asked.map((worker) => [worker.shard, worker]));
    const arrivedAt = clock.monotonic();
    const now = clock.now();
    for (const { shard, cursor, command, storedAt } of entries) {
      if (storedAt !== undefined) lag?.observe(Math.max(0, now - storedAt) / 1_000);
      const { id: _, ...rest } = command;
      byShard.get(shard)?.enqueue({ ...rest, cursor, arrivedAt });
    }
  }
}
