/**
 * The life of one event worker as a state machine: it takes a batch, works on it, takes the next. Trouble with the store makes
 * it rest. When told to stop, it finishes what it has and what it is just taking. Never persisted.
 *
 *   taking ──events──▶ working ──done──▶ taking
 *        ▲                │ stop
 *        └── resting ◀────┼── trouble
 *              └─stop─▶ stopped
 */
import { assign, fromPromise, setup } from "xstate";
import type { QueuedEvent } from "../../store/event_port.ts";

export interface EventWork {
  /** Waits for events; ends at once when the worker is told to stop. */
  take(): Promise<QueuedEvent[]>;
  /** Works on all of them. Rejects only for trouble with the store, not because of a single event. */
  work(events: QueuedEvent[]): Promise<void>;
  /** Waits before the store is tried again. */
  rest(signal: AbortSignal): Promise<void>;
  /** Called when there is trouble with the store. */
  onTrouble(cause: unknown): void;
}

interface Context {
  work: EventWork;
  events: QueuedEvent[];
  stopping: boolean;
}

export const eventWorkerMachine = setup({
  types: {} as { context: Context; events: { type: "stop" }; input: EventWork },
  actors: {
    take: fromPromise<QueuedEvent[], EventWork>(({ input }) => input.take()),
    work: fromPromise<void, { work: EventWork; events: QueuedEvent[] }>(({ input }) =>
      input.work.work(input.events)
    ),
    rest: fromPromise<void, EventWork>(({ input, signal }) => input.rest(signal)),
  },
  guards: { isStopping: ({ context }) => context.stopping },
}).createMachine({
  id: "eventWorker",
  context: ({ input }) => ({ work: input, events: [], stopping: false }),
  initial: "taking",
  states: {
    taking: {
      // When told to stop, `take` ends at once with what it has taken so far.
      invoke: {
        src: "take",
        input: ({ context }) => context.work,
        onDone: {
          target: "working",
          actions: assign({ events: ({ event }) => event.output }),
        },
        onError: {
          target: "resting",
          actions: ({ context, event }) => context.work.onTrouble(event.error),
        },
      },
      on: { stop: { actions: assign({ stopping: true }) } },
    },
    working: {
      invoke: {
        src: "work",
        input: ({ context: { work, events } }) => ({ work, events }),
        onDone: [{ guard: "isStopping", target: "stopped" }, { target: "taking" }],
        onError: {
          target: "resting",
          actions: ({ context, event }) => context.work.onTrouble(event.error),
        },
      },
      on: { stop: { actions: assign({ stopping: true }) } },
    },
    resting: {
      always: { guard: "isStopping", target: "stopped" },
      invoke: {
        src: "rest",
        input: ({ context }) => context.work,
        onDone: "taking",
        onError: "taking",
      },
      on: { stop: "stopped" },
    },
    stopped: { type: "final" },
  },
});
