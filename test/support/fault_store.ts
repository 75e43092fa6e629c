/**
 * A store with faults: tests attach actions to named points around its calls. `before` points act before the call
 * reaches the store (nothing was written). `after` points act after it (everything was written, but the caller doesn't
 * know).
 */
import { Problem, ProblemCode } from "../../src/base/problem.ts";
import type { Store } from "../../src/store/port.ts";

export type FaultPoint = `${"before" | "after"}-${
  | "commit"
  | "append"
  | "load-actor"
  | "load-shard"
  | "reply"
  | "renew"
  | "acquire"}`;

/** Called at every point; throws, or waits, or does nothing. `count` is how often this point was passed, from 1. */
export type Fault = (point: FaultPoint, count: number) => void | Promise<void>;

/** Wraps a store; the same store may be wrapped several times, once for each replica of a test. */
export function faultStore(store: Store, fault: Fault): Store {
  const counts = new Map<FaultPoint, number>();
  const at = (point: FaultPoint) => {
    const count = (counts.get(point) ?? 0) + 1;
    counts.set(point, count);
    return fault(point, count);
  };
  const around = <A extends unknown[], R>(
    name: "commit" | "append" | "load-actor" | "load-shard" | "reply" | "renew" | "acquire",
    call: (...args: A) => Promise<R>,
  ) =>
  async (...args: A): Promise<R> => {
    await at(`before-${name}`);
    const result = await call(...args);
    await at(`after-${name}`);
    return result;
  };
  const { shards, membership } = store;
  return {
    ...store,
    membership: {
      ...membership,
      renew: around("renew", membership.renew),
      acquire: around("acquire", membership.acquire),
    },
    shards: {
      ...shards,
      commit: around("commit", shards.commit),
      append: around("append", shards.append),
      loadActor: around("load-actor", shards.loadActor),
      loadShard: around("load-shard", shards.loadShard),
      reply: around("reply", shards.reply),
    },
  };
}

/** The fault of a store that does not answer. */
export function down(): never {
  throw new Problem(ProblemCode.Unavailable, "The store is down (fault of a test)", {
    retryAfterSeconds: 1,
    mayBeDone: true,
  });
}

/** The fault of a store that refuses a call. */
export function full(): never {
  throw new Problem(ProblemCode.Unavailable, "The store is full (fault of a test)");
}
