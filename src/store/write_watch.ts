/**
 * Tells whether the store takes writes: a full disk or memory refuses them while reads go on. Known from what becomes of
 * real writes (a replica renews its leases every second or so), and from a small write of its own: now and then, and
 * every other second while writes are refused, to see when they are taken again.
 */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import type { Logger } from "../platform/log.ts";
import type { Metrics } from "../platform/metrics.ts";
import type { Store } from "./port.ts";

/** Key of the blob that is written, the same for all replicas. */
const PROBE_KEY = "write-probe";
/** Large enough not to fit into what a full disk has left in files that are there. */
const PROBE_BYTES = 16 * 1024;
const PROBE_EVERY_MS = 60_000;
const PROBE_REFUSED_EVERY_MS = 2_000;

export interface WriteWatch {
  /** The same store, with an ear on its writes. */
  store: Store;
  /** Why writes are refused; undefined while they are taken. */
  refusal(): string | undefined;
  /** Writes nothing more by itself. */
  stop(): void;
}

export function watchWrites(
  inner: Store,
  { clock, log, metrics }: { clock: Pick<Clock, "sleep">; log: Logger; metrics: Metrics },
): WriteWatch {
  const stopped = new AbortController();
  let refused: string | undefined;
  /** Counts refusals, to notice one that came while a probe was under way. */
  let refusals = 0;
  let wake = new AbortController();

  function onFailure(error: unknown): void {
    if (!isRefusal(error)) return;
    refusals++;
    if (refused === undefined) {
      log.warn({ err: error }, "the store refuses writes");
      wake.abort();
    }
    refused = error.message;
  }

  /** The same call; hears of its failure. Costs a call that succeeds next to nothing. */
  function heard<A extends unknown[], R>(
    call: (...args: A) => Promise<R>,
  ): (...args: A) => Promise<R> {
    return (...args) => {
      const result = call(...args);
      result.catch(onFailure);
      return result;
    };
  }

  async function probe(): Promise<void> {
    const before = refusals;
    await inner.blobs.putBlob(PROBE_KEY, new Uint8Array(PROBE_BYTES));
    await inner.blobs.putBlob(PROBE_KEY, new Uint8Array());
    if (refused === undefined || refusals !== before) return;
    refused = undefined;
    log.info("the store takes writes again");
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      wake = new AbortController();
      const ends = AbortSignal.any([stopped.signal, wake.signal]);
      if (refused === undefined) await clock.sleep(PROBE_EVERY_MS, ends);
      if (refused !== undefined) await clock.sleep(PROBE_REFUSED_EVERY_MS, stopped.signal);
      if (!stopped.signal.aborted) await probe().catch(onFailure);
    }
  }

  const { membership, shards, manifests, events, blobs } = inner;
  const store: Store = {
    ...inner,
    membership: {
      ...membership,
      heartbeat: heard(membership.heartbeat),
      acquire: heard(membership.acquire),
      renew: heard(membership.renew),
    },
    shards: { ...shards, append: heard(shards.append), commit: heard(shards.commit) },
    manifests: { ...manifests, put: heard(manifests.put), remove: heard(manifests.remove) },
    events: {
      ...events,
      offer: heard(events.offer),
      finish: heard(events.finish),
      retryLater: heard(events.retryLater),
    },
    blobs: { ...blobs, putBlob: heard(blobs.putBlob), appendBlob: heard(blobs.appendBlob) },
  };
  metrics.gauge(
    "sluice_store_writes_refused",
    "1 while the store refuses writes: its disk or memory is full, or it is read-only",
    () => refused === undefined ? 0 : 1,
  );
  void run();
  return { store, refusal: () => refused, stop: () => stopped.abort() };
}

/** Tells whether the store could not, whatever was asked of it; what it would not do is no trouble. */
function isRefusal(error: unknown): error is Problem {
  return error instanceof Problem && error.code === ProblemCode.Unavailable &&
    error.cause !== undefined;
}
