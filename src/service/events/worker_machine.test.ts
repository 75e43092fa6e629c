import { expect, test } from "vitest";
import { createActor } from "xstate";
import { settle } from "../../../test/support/manual_clock.ts";
import type { QueuedEvent } from "../../store/event_port.ts";
import { eventWorkerMachine } from "./worker_machine.ts";

type State = "taking" | "working" | "resting" | "stopped";
/** What can happen to a worker: its work ends well or badly, or it is told to stop. */
type Event = "done" | "trouble" | "stop";

const STATES: readonly State[] = ["taking", "working", "resting", "stopped"];
const EVENTS: readonly Event[] = ["done", "trouble", "stop"];
const BATCH = [{ id: "e" }] as unknown as QueuedEvent[];
const TROUBLE = new Error("the store is away");

/** A worker whose work ends when the test says so. */
function begin() {
  const calls: string[] = [];
  const troubles: unknown[] = [];
  let present = Promise.withResolvers<unknown>();
  let restSignal: AbortSignal | undefined;
  const pending = <T>(call: string): Promise<T> => {
    calls.push(call);
    present = Promise.withResolvers<unknown>();
    return present.promise as Promise<T>;
  };
  const actor = createActor(eventWorkerMachine, {
    input: {
      take: () => pending("take"),
      work: (events) => pending(`work ${events.map(({ id }) => id).join()}`),
      rest(signal) {
        restSignal = signal;
        return pending("rest");
      },
      onTrouble: (cause) => troubles.push(cause),
    },
  }).start();
  const meet = async (event: Event) => {
    if (event === "stop") actor.send({ type: "stop" });
    else if (event === "done") present.resolve(BATCH);
    else present.reject(TROUBLE);
    await settle();
  };
  return { calls, troubles, meet, state: () => actor.getSnapshot().value, rest: () => restSignal };
}

/** How a worker comes into a state. */
const WAY: Readonly<Record<State, readonly Event[]>> = {
  taking: [],
  working: ["done"],
  resting: ["trouble"],
  stopped: ["trouble", "stop"],
};

/** State after an event. In the last two columns the worker was told to stop before. */
const NEXT: Readonly<
  Record<State, Readonly<Record<Event | "stop, done" | "stop, trouble", State>>>
> = {
  taking: {
    "done": "working",
    "trouble": "resting",
    "stop": "taking",
    "stop, done": "working",
    "stop, trouble": "stopped",
  },
  working: {
    "done": "taking",
    "trouble": "resting",
    "stop": "working",
    "stop, done": "stopped",
    "stop, trouble": "stopped",
  },
  resting: {
    "done": "taking",
    "trouble": "taking",
    "stop": "stopped",
    "stop, done": "stopped",
    "stop, trouble": "stopped",
  },
  stopped: {
    "done": "stopped",
    "trouble": "stopped",
    "stop": "stopped",
    "stop, done": "stopped",
    "stop, trouble": "stopped",
  },
};

const PAIRS = STATES.flatMap((state) =>
  [...EVENTS, "stop, done" as const, "stop, trouble" as const].map((events) =>
    [state, events, NEXT[state][events]] as const
  )
);

test.each(PAIRS)("%s, %s: %s", async (from, events, to) => {
  const { meet, state } = begin();
  for (const event of WAY[from]) await meet(event);
  expect(state()).toBe(from);
  for (const event of events.split(", ") as Event[]) await meet(event);
  expect(state()).toBe(to);
});

test("a worker works on what it has taken, and takes more", async () => {
  const { calls, meet } = begin();
  await meet("done");
  await meet("done");
  expect(calls).toEqual(["take", "work e", "take"]);
});

test("what was just taken when it is told to stop is still worked on", async () => {
  const { calls, meet, state } = begin();
  for (const event of ["stop", "done", "done"] as const) await meet(event);
  expect(calls).toEqual(["take", "work e"]);
  expect(state()).toBe("stopped");
});

test("trouble is told, and the worker rests before it tries again", async () => {
  const { calls, troubles, meet } = begin();
  for (const event of ["done", "trouble", "done"] as const) await meet(event);
  expect(calls).toEqual(["take", "work e", "rest", "take"]);
  expect(troubles).toEqual([TROUBLE]);
});

test("a rest is cut short when the worker is told to stop", async () => {
  const { meet, rest } = begin();
  await meet("trouble");
  expect(rest()?.aborted).toBe(false);
  await meet("stop");
  expect(rest()?.aborted).toBe(true);
});
