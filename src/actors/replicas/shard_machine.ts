/**
 * Ownership of one shard by this replica, as a machine. It decides when a lease is asked for, when the shard runs, and
 * when it is given back; the work itself is injected. Never persisted: a new process begins with `free`.
 *
 *   free ──assign──▶ acquiring ──granted──▶ loading ──loaded──▶ owning
 *    ▲                ▲  │ refused              │ fails            │ unassign
 *    │           tick │  ▼                      ▼                  ▼
 *    │◀──unassign─── waiting ◀──── wanted ──── draining ◀──────────┘
 *    │                ▲                            │ given back
 *    │◀───────────────┼────────────────────────────┘
 *    └──────────── lost ◀── lose (from loading, owning, draining)
 */
import { assign, fromPromise, setup } from "xstate";
import type { Lease, ShardState } from "../../store/port.ts";

export type ShardEvent =
  /** This replica should own the shard. */
  | { type: "assign" }
  /** Another replica should own it, or this one stops. */
  | { type: "unassign" }
  /** Time to try again. */
  | { type: "tick" }
  /** The lease is gone; `epoch` tells which one. */
  | { type: "lose"; epoch: number };

export interface ShardWork {
  acquire(shard: number): Promise<Lease | undefined>;
  load(shard: number): Promise<ShardState>;
  /** Starts to run the shard. */
  open(lease: Lease, state: ShardState): void;
  /** Finishes what waits, then gives the lease back. */
  close(lease: Lease): Promise<void>;
  /** Forgets the shard at once. */
  drop(shard: number): void;
}

interface ShardContext {
  shard: number;
  lease: Lease | undefined;
  wanted: boolean;
  work: ShardWork;
}

type Input = { shard: number; work: ShardWork };

export const shardMachine = setup({
  types: {} as { context: ShardContext; events: ShardEvent; input: Input },
  actors: {
    acquire: fromPromise<Lease | undefined, Input>(({ input }) => input.work.acquire(input.shard)),
    load: fromPromise<ShardState, Input>(({ input }) => input.work.load(input.shard)),
    close: fromPromise<void, { lease: Lease | undefined; work: ShardWork }>(({ input }) =>
      input.lease ? input.work.close(input.lease) : Promise.resolve()
    ),
  },
  actions: {
    want: assign({ wanted: true }),
    unwant: assign({ wanted: false }),
    drop: ({ context }) => context.work.drop(context.shard),
    forgetLease: assign({ lease: undefined }),
  },
  guards: {
    isWanted: ({ context }) => context.wanted,
    isMyLease: ({ context, event }) =>
      event.type === "lose" && event.epoch === context.lease?.epoch,
  },
}).createMachine({
  id: "shard",
  context: ({ input }) => ({
    shard: input.shard,
    work: input.work,
    lease: undefined,
    wanted: false,
  }),
  initial: "free",
  states: {
    free: {
      on: { assign: { target: "acquiring", actions: "want" } },
    },
    acquiring: {
      invoke: {
        src: "acquire",
        input: ({ context }) => context,
        onDone: [
          {
            guard: ({ event }) => event.output !== undefined,
            target: "loading",
            actions: assign({ lease: ({ event }) => event.output }),
          },
          { target: "waiting" },
        ],
        onError: "waiting",
      },
      on: { unassign: { actions: "unwant" }, assign: { actions: "want" } },
    },
    /** Somebody else still has the lease. */
    waiting: {
      always: { guard: ({ context }) => !context.wanted, target: "free" },
      on: {
        tick: "acquiring",
        assign: { target: "acquiring", actions: "want" },
        unassign: { target: "free", actions: "unwant" },
      },
    },
    loading: {
      invoke: {
        src: "load",
        input: ({ context }) => context,
        onDone: {
          target: "owning",
          actions: ({ context, event }) => {
            if (context.lease) context.work.open(context.lease, event.output);
          },
        },
        onError: "draining",
      },
      on: {
        unassign: { actions: "unwant" },
        assign: { actions: "want" },
        lose: { guard: "isMyLease", target: "lost" },
      },
    },
    owning: {
      always: { guard: ({ context }) => !context.wanted, target: "draining" },
      on: {
        unassign: { target: "draining", actions: "unwant" },
        lose: { guard: "isMyLease", target: "lost" },
      },
    },
    draining: {
      invoke: {
        src: "close",
        input: ({ context }) => context,
        onDone: [
          { guard: "isWanted", target: "waiting", actions: "forgetLease" },
          { target: "free", actions: "forgetLease" },
        ],
        onError: "lost",
      },
      on: {
        unassign: { actions: "unwant" },
        assign: { actions: "want" },
        lose: { guard: "isMyLease", target: "lost" },
      },
    },
    lost: {
      entry: ["drop", "forgetLease"],
      always: [{ guard: "isWanted", target: "waiting" }, { target: "free" }],
    },
  },
});
