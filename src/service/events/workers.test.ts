import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { type Clock, systemClock } from "../../platform/clock.ts";
import { createLogger } from "../../platform/log.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import type { Delivery, EventStore, QueuedEvent } from "../../store/event_port.ts";
import type { Store } from "../../store/port.ts";
import { EventWorkers, type EventWorkersDeps } from "./workers.ts";

let store: Store;
const running: EventWorkers[] = [];

beforeEach(() => {
  store = openMemoryStore();
});
afterEach(async () => {
  await Promise.all(running.splice(0).map((workers) => workers.stop()));
  await store.close();
});

function start(
  dispatch: EventWorkersDeps["dispatch"],
  more: { count?: number; claimAfterMs?: number; events?: EventStore; clock?: Clock } = {},
): EventWorkers {
  const workers = new EventWorkers({
    events: more.events ?? store.events,
    clock: more.clock ?? systemClock,
    ids: seededIds(),
    log: createLogger("silent"),
    dispatch,
    failed: (event) => over(event, "dead"),
  }, {
    replica: `r${running.length}`,
    count: more.count ?? 1,
    claimAfterMs: more.claimAfterMs ?? 10_000,
    deliveryCount: 100,
    deliveryAgeMs: 1_000_000,
  });
  workers.start();
  running.push(workers);
  return workers;
}

function over(event: QueuedEvent, state: Delivery["state"] = "done"): Delivery {
  const { id, namespace, discriminator, receivedAt, attempts } = event;
  return { id, namespace, discriminator, receivedAt, size: 1, state, attempts, bindings: [] };
}

async function offer(...ids: string[]): Promise<void> {
  for (const id of ids) await offerOne({ id });
}

async function offerOne(event: { id: string; namespace?: string; text?: string }): Promise<void> {
  const common = { namespace: "ns", discriminator: "", text: "{}", receivedAt: 1 };
  await store.events.offer({ ...common, ...event }, 1_000);
}

const stateOf = async (id: string) => (await store.events.delivery("ns", id))?.state;
const empty = () => expect.poll(() => store.events.depth(), { timeout: 5_000 }).toBe(0);

describe("EventWorkers", () => {
  test("work on every event once, several at a time", async () => {
    const seen: string[] = [];
    let atOnce = 0;
    let most = 0;
    start(async (event) => {
      most = Math.max(most, ++atOnce);
      await systemClock.sleep(2);
      atOnce--;
      seen.push(event.id);
      return { delivery: over(event) };
    }, { count: 3 });
    const ids = Array.from({ length: 60 }, (_, i) => `e${i}`);
    await offer(...ids);
    await empty();
    expect([...seen].sort()).toEqual([...ids].sort());
    expect(most).toBeGreaterThan(1);
  });

  test("a dispatch that throws ends that event alone, as a dead letter", async () => {
    await offer("a", "poison", "b");
    start((event) => {
      if (event.id === "poison") throw new TypeError("defect");
      return Promise.resolve({ delivery: over(event) });
    });
    await empty();
    expect([await stateOf("a"), await stateOf("poison"), await stateOf("b")])
      .toEqual(["done", "dead", "done"]);
  });

  test("an event that comes back has one more attempt and delays no other", async () => {
    const attempts: number[] = [];
    await offer("later", "now");
    start((event) => {
      if (event.id === "now") return Promise.resolve({ delivery: over(event) });
      attempts.push(event.attempts);
      return Promise.resolve(
        attempts.length < 3
          ? { delivery: over(event, "queued"), retryAfterMs: 20 }
          : { delivery: over(event) },
      );
    });
    await empty();
    expect(attempts).toEqual([0, 1, 2]);
  });

  test("events of a worker that went silent are taken over, those of a busy one are not", async () => {
    const clock = new ManualClock();
    await store.close();
    store = openMemoryStore({ now: () => clock.now(), waits: clock });
    await offer("abandoned");
    await store.events.take("gone", 1, 10_000, 0, new AbortController().signal);
    const seen: string[] = [];
    const { promise: goOn, resolve: end } = Promise.withResolvers<void>();
    const dispatch = async (event: QueuedEvent) => {
      seen.push(event.id);
      if (event.id === "slow") await goOn;
      return { delivery: over(event) };
    };
    for (let replica = 0; replica < 2; replica++) start(dispatch, { clock, claimAfterMs: 10_000 });
    await offer("slow");
    await clock.advance(9_000);
    expect(seen).toEqual(["slow"]);
    await clock.advance(60_000);
    expect(seen).toEqual(["slow", "abandoned"]);
    end();
    await clock.advance(1);
    expect(await store.events.depth()).toBe(0);
  });

  test("slow events do not keep those that come later from being taken", async () => {
    const gate = Promise.withResolvers<void>();
    start(async (event) => {
      if (event.id.startsWith("slow")) await gate.promise;
      return { delivery: over(event) };
    });
    await offer("slow1", "quick1", "slow2");
    await expect.poll(() => stateOf("quick1")).toBe("done");
    for (const id of ["quick2", "quick3"]) {
      await offer(id);
      await expect.poll(() => stateOf(id)).toBe("done");
    }
    expect(await store.events.depth()).toBe(2);
    gate.resolve();
    await empty();
  });

  test("stop() finishes slow events, too", async () => {
    const gate = Promise.withResolvers<void>();
    const workers = start(async (event) => {
      if (event.id === "slow") await gate.promise;
      return { delivery: over(event) };
    });
    await offer("slow", "quick");
    await expect.poll(() => stateOf("quick")).toBe("done");
    // It waits for more events by now.
    await systemClock.sleep(200);
    const stopped = workers.stop();
    gate.resolve();
    await stopped;
    expect(await stateOf("slow")).toBe("done");
  });

  test("a worker has few events under way, however slow they are", async () => {
    const gate = Promise.withResolvers<void>();
    let began = 0;
    start(async (event) => {
      began++;
      await gate.promise;
      return { delivery: over(event) };
    });
    await offer(...Array.from({ length: 100 }, (_, i) => `e${i}`));
    await systemClock.sleep(300);
    expect(began).toBe(64);
    gate.resolve();
    await empty();
    expect(began).toBe(100);
  });

  test("workers survive trouble with the store", async () => {
    let troubles = 0;
    const events: EventStore = {
      ...store.events,
      take: (...args) =>
        troubles++ < 2 ? Promise.reject(new Error("down")) : store.events.take(...args),
      finish: (...args) =>
        troubles++ < 4 ? Promise.reject(new Error("down")) : store.events.finish(...args),
    };
    await offer("a");
    start((event) => Promise.resolve({ delivery: over(event) }), { events, claimAfterMs: 50 });
    await empty();
    expect(await stateOf("a")).toBe("done");
  });

  test("an event whose end the store did not take is dispatched again: the store may have lost what was done", async () => {
    let isDown = true;
    const events: EventStore = {
      ...store.events,
      finish: (...args) =>
        isDown ? Promise.reject(new Error("down")) : store.events.finish(...args),
    };
    const attempts: number[] = [];
    await offer("a");
    start((event) => {
      attempts.push(event.attempts);
      isDown = attempts.length === 1;
      return { delivery: over(event) };
    }, { events, claimAfterMs: 50 });
    await empty();
    expect(attempts).toEqual([0, 1]);
    expect(await stateOf("a")).toBe("done");
  });

  test("stop() finishes what was taken and takes nothing more", async () => {
    const gate = Promise.withResolvers<void>();
    const began = Promise.withResolvers<void>();
    const workers = start(async (event) => {
      began.resolve();
      await gate.promise;
      return { delivery: over(event) };
    });
    await offer("a");
    await began.promise;
    const stopped = workers.stop();
    await offer("b");
    gate.resolve();
    await stopped;
    expect([await stateOf("a"), await stateOf("b")]).toEqual(["done", "queued"]);
  });
});

test("others have their turn while many large events are read", async () => {
  const large = " ".repeat(2 ** 17);
  for (let at = 0; at < 30; at++) await offerOne({ id: `e${at}`, text: large });
  let turns = 0;
  let left = 30;
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const turn = () =>
    void setTimeout(() => {
      turns++;
      if (left > 0) turn();
      else resolve();
    }, 0);
  start((event) => {
    if (left-- === 30) turn();
    const end = performance.now() + 10;
    while (performance.now() < end);
    return { delivery: over(event) };
  });
  await done;
  expect(turns).toBeGreaterThan(8);
});

test("few large events are dispatched at once, and those of one namespace leave places for another's", async () => {
  const large = " ".repeat(2 ** 17);
  for (let at = 0; at < 20; at++) await offerOne({ id: `e${at}`, text: large });
  const running: string[] = [];
  const { promise: goOn, resolve: end } = Promise.withResolvers<void>();
  const at = { most: 0, done: 0 };
  start(async (event) => {
    running.push(event.namespace);
    at.most = Math.max(at.most, running.length);
    await goOn;
    running.splice(running.indexOf(event.namespace), 1);
    at.done++;
    return { delivery: over(event) };
  }, { count: 3 });
  await expect.poll(() => running.length).toBe(6);
  await offerOne({ id: "other", namespace: "other", text: large });
  await offerOne({ id: "small" });
  await expect.poll(() => running.length).toBe(8);
  expect(running.slice(6).sort()).toEqual(["ns", "other"]);
  end();
  await expect.poll(() => at.done).toBe(22);
  // The small one is counted too.
  expect(at.most).toBeLessThanOrEqual(9);
});
