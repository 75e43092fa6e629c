/**
 * Tells whether the store takes writes: a full disk or memory refuses them while reads go on. It learns this from real
 * writes (a replica renews its leases about every second) and from small writes of its own: one a minute, and one every
 * two seconds while writes are refused, to notice when they are accepted again.
 */
import { isProblem, Problem, ProblemCode } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { BlobStore } from "./blob_port.ts";
import type { Store } from "./port.ts";

/** Key of the blob it writes, the same for all replicas. */
const PROBE_KEY = "write-probe";
/** Too large to fit into free space inside existing files on a full disk. */
const PROBE_BYTES = 16 * 1024;
const PROBE_EVERY_MS = 60_000;
const PROBE_REFUSED_EVERY_MS = 2_000;
/** How long writes are taken before the log says so: where little room is left, small ones get through and large ones do not. */
const SETTLED_MS = 10_000;

export interface WriteWatch {
  /** The same store; its writes are observed. */
  store: Store;
  /** Why writes are refused; undefined while they are accepted. */
  refusal(): string | undefined;
  /** Stops its own writes. */
  stop(): void;
}

/** Begins to watch the writes of a store. */
export function watchWrites(
  inner: Store,
  { clock, log, metrics }: { clock: Pick<Clock, "sleep">; log: Logger; metrics: Metrics },
): WriteWatch {
  const watch = new RefusalWatch(inner.blobs, clock, log);
  metrics.gauge(
    "sluice_store_writes_refused",
    "1 while the store refuses writes: its disk or memory is full, or it is read-only",
    () => watch.refused === undefined ? 0 : 1,
  );
  void watch.run();
  return {
    store: withHeardWrites(inner, watch),
    refusal: () => watch.refused,
    stop: () => watch.stop(),
  };
}

/** Knows whether writes are refused, from the calls of others and from small writes of its own. */
class RefusalWatch {
  /** Why writes are refused; undefined while they are taken. */
  refused: string | undefined;
  readonly #blobs: BlobStore;
  readonly #clock: Pick<Clock, "sleep">;
  readonly #log: Logger;
  readonly #stopped = new AbortController();
  /** The log says that writes are refused, and not yet that they are taken again. */
  #isTold = false;
  /** Counts refusals, to notice one during a probe. */
  #refusals = 0;
  #wake = new AbortController();

  constructor(blobs: BlobStore, clock: Pick<Clock, "sleep">, log: Logger) {
    this.#blobs = blobs;
    this.#clock = clock;
    this.#log = log;
  }

  /** The same call, whose failure is noticed. It costs a successful call next to nothing. */
  heard<A extends unknown[], R>(call: (...args: A) => Promise<R>): (...args: A) => Promise<R> {
    return (...args) => {
      const result = call(...args);
      result.catch(this.#onFailure);
      return result;
    };
  }

  async run(): Promise<void> {
    const { signal } = this.#stopped;
    while (!signal.aborted) {
      this.#wake = new AbortController();
      const ends = AbortSignal.any([signal, this.#wake.signal]);
      if (this.refused === undefined && this.#isTold) {
        await this.#clock.sleep(SETTLED_MS, ends);
        if (!ends.aborted) this.#tellEnd();
      }
      if (this.refused === undefined) await this.#clock.sleep(PROBE_EVERY_MS, ends);
      if (this.refused !== undefined) await this.#clock.sleep(PROBE_REFUSED_EVERY_MS, signal);
      if (!signal.aborted) await this.#probe().catch(this.#onFailure);
    }
  }

  stop(): void {
    this.#stopped.abort();
  }

  async #probe(): Promise<void> {
    const before = this.#refusals;
    await this.#blobs.putBlob(PROBE_KEY, new Uint8Array(PROBE_BYTES));
    await this.#blobs.putBlob(PROBE_KEY, new Uint8Array());
    if (this.refused === undefined || this.#refusals !== before) return;
    this.refused = undefined;
  }

  #tellEnd(): void {
    this.#isTold = false;
    this.#log.info("the store takes writes again");
  }

  readonly #onFailure = (error: unknown): void => {
    if (!isRefusal(error)) return;
    this.#refusals++;
    if (this.refused === undefined) {
      if (!this.#isTold) this.#log.warn({ err: error }, "the store refuses writes");
      this.#isTold = true;
      this.#wake.abort();
    }
    this.refused = error.message;
  };
}

function withHeardWrites(inner: Store, watch: RefusalWatch): Store {
  const { membership, shards, manifests, events, blobs } = inner;
  return {
    ...inner,
    membership: {
      ...membership,
      heartbeat: watch.heard(membership.heartbeat),
      acquire: watch.heard(membership.acquire),
      renew: watch.heard(membership.renew),
    },
    shards: {
      ...shards,
      append: watch.heard(shards.append),
      commit: watch.heard(shards.commit),
    },
    manifests: {
      ...manifests,
      put: watch.heard(manifests.put),
      remove: watch.heard(manifests.remove),
    },
    events: {
      ...events,
      offer: watch.heard(events.offer),
      finish: watch.heard(events.finish),
      retryLater: watch.heard(events.retryLater),
    },
    blobs: {
      ...blobs,
      putBlob: watch.heard(blobs.putBlob),
      appendBlob: watch.heard(blobs.appendBlob),
    },
  };
}

/** Tells whether the store was unable to write. A refusal of what was asked for is not trouble. */
function isRefusal(error: unknown): error is Problem {
  return isProblem(error, ProblemCode.Unavailable) &&
    error.cause !== undefined;
}
