/**
 * Stores with one defect each. A run on one of them must fail, which proves that the simulator's checks notice defects.
 */
import { type ShardCommit, StaleEpoch, type Store } from "../../src/store/port.ts";
import type { Mutant } from "./world.ts";

/** Commits under whatever epoch is valid now, whatever was committed before. */
const fenceOff: Mutant = (store) => ({
  ...store,
  shards: {
    ...store.shards,
    async commit({ follows: _, ...commit }) {
      let { epoch } = commit;
      for (;;) {
        try {
          return await store.shards.commit({ ...commit, epoch: epoch++ });
        } catch (cause) {
          if (!(cause instanceof StaleEpoch)) throw cause;
        }
      }
    },
  },
});

/** Applied commands are never removed from the mailbox. */
const cursorStands: Mutant = (store) => ({
  ...store,
  shards: {
    ...store.shards,
    commit: ({ cursor: _, ...commit }) => store.shards.commit(commit),
  },
});

/** Commands are removed from the mailbox when they are read, before they are applied. */
const cursorFirst: Mutant = (store) => {
  const epochs = new Map<number, number>();
  return {
    ...store,
    membership: {
      ...store.membership,
      async acquire(...args) {
        const lease = await store.membership.acquire(...args);
        if (lease) epochs.set(lease.shard, lease.epoch);
        return lease;
      },
    },
    shards: {
      ...store.shards,
      async readMailboxes(...args) {
        const entries = await store.shards.readMailboxes(...args);
        for (const { shard, cursor } of entries) {
          await moveCursor(store, shard, epochs.get(shard) ?? 0, cursor);
        }
        return entries;
      },
    },
  };
};

/** The cursor moves in a separate commit, some time after the changes it stands for. */
const cursorApart: Mutant = (store) => {
  const late = new Map<number, ShardCommit>();
  return {
    ...store,
    shards: {
      ...store.shards,
      async commit({ cursor, ...commit }) {
        const result = await store.shards.commit(commit);
        if (cursor !== undefined) late.set(commit.shard, { ...commit, cursor });
        return result;
      },
      async readMailboxes(...args) {
        for (const { shard, epoch, cursor = "" } of late.values()) {
          await moveCursor(store, shard, epoch, cursor);
        }
        late.clear();
        return await store.shards.readMailboxes(...args);
      },
    },
  };
};

async function moveCursor(
  store: Store,
  shard: number,
  epoch: number,
  cursor: string,
): Promise<void> {
  try {
    await store.shards.commit({
      shard,
      epoch,
      actors: [],
      outboxPut: {},
      outboxDrop: [],
      timersSet: {},
      timersClear: [],
      answers: [],
      cursor,
    });
  } catch (cause) {
    if (!(cause instanceof StaleEpoch)) throw cause;
  }
}

/** Takes events away from live workers. */
const claimAtOnce: Mutant = (store) => ({
  ...store,
  events: {
    ...store.events,
    take: (worker, max, _claimAfterMs, waitMs, signal) =>
      store.events.take(worker, max, 0, waitMs, signal),
  },
});

/** Events of dead workers stay with them. */
const claimNever: Mutant = (store) => ({
  ...store,
  events: {
    ...store.events,
    take: (worker, max, _claimAfterMs, waitMs, signal) =>
      store.events.take(worker, max, Infinity, waitMs, signal),
  },
});

/** Events are marked as ended when they are taken, before anything came of them. */
const ackFirst: Mutant = (store) => ({
  ...store,
  events: {
    ...store.events,
    async take(...args) {
      const taken = await store.events.take(...args);
      const ended = taken.map(({ text, ...event }) => ({
        ...event,
        size: text.length,
        state: "done" as const,
        bindings: [],
      }));
      await store.events.finish(ended);
      return taken;
    },
  },
});

/** Every mutant with a description of its defect. */
export const MUTANTS: Readonly<Record<string, Mutant>> = {
  "the epoch is not checked": fenceOff,
  "the mailbox cursor never moves": cursorStands,
  "the mailbox cursor moves before the commit": cursorFirst,
  "the mailbox cursor moves after the commit": cursorApart,
  "events are claimed from live workers": claimAtOnce,
  "events are never claimed": claimNever,
  "events are acknowledged before the work": ackFirst,
};
