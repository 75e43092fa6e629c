import { expect, test } from "vitest";
import { ManualClock } from "../../test/support/manual_clock.ts";
import { seededIds } from "../../test/support/seeded_ids.ts";
import { invalid, unavailable } from "../base/problem.ts";
import { createLogger } from "../platform/log.ts";
import { Delivery } from "./command_delivery.ts";
import { Moved, type Result } from "./result.ts";
import type { QueuedCommand } from "./shard/actor_batch.ts";

const DONE: Result = { ok: true, answer: undefined };
const failed = (error: unknown): Result => ({ ok: false, error });

/** A shard that answers with these results, one after the other. */
function deliveryTo(...results: Result[]) {
  const clock = new ManualClock();
  const seen = { queued: 0, mailed: 0 };
  const delivery = new Delivery({
    ...{ clock, ids: seededIds(), log: createLogger("silent"), replica: "r" },
    shards: {
      shardOf: () => 0,
      enqueue: (_: number, { settle }: QueuedCommand) => {
        settle?.(results[seen.queued++] ?? DONE);
        return true;
      },
    } as never,
    calls: { post: () => Promise.resolve(void seen.mailed++) } as never,
  });
  return { clock, seen, delivery };
}

const TRIES: [what: string, results: Result[], seen: { queued: number; mailed: number }][] = [
  ["that is taken is offered once", [DONE], { queued: 1, mailed: 0 }],
  ["that nobody could take now is offered again", [
    failed(unavailable("full")),
    failed(unavailable("the store is away")),
  ], { queued: 3, mailed: 0 }],
  ["that the actor refuses is delivered", [failed(invalid("no"))], { queued: 1, mailed: 0 }],
  ["for a shard that has moved goes into its mailbox", [failed(new Moved())], {
    queued: 1,
    mailed: 1,
  }],
];

test.each(TRIES)("a fact %s", async (_, results, expected) => {
  const { clock, seen, delivery } = deliveryTo(...results);
  let delivered = 0;
  delivery.post("wf/ns/a", { type: "task-ended" }, () => delivered++);
  await clock.advance(10_000);
  expect(seen).toEqual(expected);
  expect(delivered).toBe(1);
});

test("while a store is away, all its facts wait with one timer, and are delivered once it is back", async () => {
  const count = 20_000;
  const results = Array.from({ length: 2 * count }, () => failed(unavailable("the store is away")));
  const { clock, seen, delivery } = deliveryTo(...results);
  let timers = 0;
  const after = clock.after.bind(clock);
  clock.after = (...args) => {
    timers++;
    return after(...args);
  };
  let delivered = 0;
  for (let i = 0; i < count; i++) {
    delivery.post(`wf/ns/${i}`, { type: "task-ended" }, () => delivered++);
  }
  // They go on a little at a time, which takes some turns of the real event loop.
  for (let i = 0; i < 1_000 && delivered < count; i++) {
    await clock.advance(100);
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  expect(delivered).toBe(count);
  expect(seen.queued).toBe(3 * count);
  expect(timers).toBeLessThan(1_000);
});

test("who stops waits no longer for a store that is away", async () => {
  const { clock, delivery } = deliveryTo(...Array(50).fill(failed(unavailable("away"))));
  let delivered = 0;
  delivery.post("wf/ns/a", { type: "task-ended" }, () => delivered++);
  await clock.advance(300);
  expect(delivered).toBe(0);
  delivery.stop();
  await clock.advance(0);
  expect(delivered).toBe(1);
});
