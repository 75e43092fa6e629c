import { beforeEach, expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import type { SubscriptionSet } from "../../events/subscription.ts";
import type { Notice } from "../../engine/notice.ts";
import type { SubscribedChange, Subscription } from "../../spec/manifest.ts";
import type { Store } from "../../store/port.ts";
import type { HeldPost, PostWebhook, PostWebhooks, WebhookDelivery } from "./delivery.ts";
import { openMemoryStore } from "../../store/memory/store.ts";
import { SubscriptionBook } from "./subscriptions.ts";
import { Webhooks } from "./webhooks.ts";

function subscriptionOf(name: string): Subscription {
  return {
    metadata: { namespace: "ns", name, uid: "u" },
    spec: { url: `http://${name}.example`, secret: { name: "s", key: "k" }, retryFor: "1s" },
  } as Subscription;
}

let sent: string[] = [];
beforeEach(() => void (sent = []));

function create(
  clock: ManualClock,
  maxBacklog: number,
  {
    names = ["dead"],
    answering = new Set<string>(),
    maxDeadLetters = 5_000,
    subscriptions = undefined as SubscriptionBook | undefined,
  } = {},
): Webhooks {
  const about = () => names.map(subscriptionOf);
  const find = (_: string, name: string) => subscriptionOf(name);
  const current = { about, find } as unknown as SubscriptionSet;
  return new Webhooks({
    subscriptions: subscriptions ?? { current, look: () => Promise.resolve() },
    secret: () => Promise.resolve({ k: "secret" }),
    post: async ({ url: { hostname } }) => {
      await Promise.resolve();
      sent.push(hostname);
      if (!answering.has(hostname)) throw new Error("connection refused");
      return { status: 204 };
    },
    clock,
    ids: seededIds(),
    log: createLogger("silent"),
    metrics: createMetrics(),
  }, { maxBacklog, maxDeadLetters, retryForMs: 1_000, apiGroup: "argoproj.io" });
}

function deliveryTo(name: string, at: number): WebhookDelivery {
  const id = `${name}-${at}`;
  const subscription = { namespace: "ns", name, uid: "u" };
  return { id, subscription, order: id, change: "Started", at: 0, data: { workflow: {} } };
}

function held(
  effect: PostWebhook | PostWebhooks,
  rest: Partial<HeldPost>,
): HeldPost {
  const deliver = () => Promise.resolve();
  return { effect, isHeld: () => true, done() {}, rewrite() {}, deliver, ...rest };
}

function heldOf(delivery: WebhookDelivery, rest: Partial<HeldPost>): HeldPost {
  return held({ type: "post-webhook", id: delivery.id, delivery }, rest);
}

test("what is given up goes to the dead letters a little at a time, of all subscriptions", async () => {
  const webhooks = create(new ManualClock(), 0);
  let done = 0;
  const underWay: { id: string; end: () => void }[] = [];
  const deliver = (_: string, id: string) =>
    new Promise<void>((end) => void underWay.push({ id, end }));
  const take = (name: string, at: number) => {
    webhooks.take(heldOf(deliveryTo(name, at), { done: () => void done++, deliver }));
  };
  for (let at = 0; at < 2_000; at++) take("dead", at);
  expect(underWay.length).toBeLessThan(250);
  take("other", 0);
  expect(underWay.at(-1)?.id).toBe("webhook/ns/other");
  while (done < 2_001) {
    expect(underWay.length).toBeLessThanOrEqual(256);
    for (const { end } of underWay.splice(0)) end();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
});

test("while the dead letters are away, no more deliveries wait for them than they keep", async () => {
  const webhooks = create(new ManualClock(), 0, { maxDeadLetters: 100 });
  const done: number[] = [];
  const kept: string[] = [];
  let isAway = true;
  const ends: (() => void)[] = [];
  for (let at = 0; at < 1_000; at++) {
    webhooks.take(heldOf(deliveryTo("dead", at), {
      isHeld: () => !done.includes(at),
      done: () => void done.push(at),
      deliver: async (id) => {
        if (isAway) await new Promise<void>((end) => void ends.push(end));
        kept.push(id);
      },
    }));
  }
  // Those under way, and as many as there is room for; the oldest of the others would be pushed out.
  expect(done.length).toBe(1_000 - 100 - ends.length);
  expect(ends.length).toBeLessThanOrEqual(16);
  isAway = false;
  for (const end of ends) end();
  while (done.length < 1_000) await new Promise((resolve) => setTimeout(resolve, 0));
  expect(kept).toContain("bury/dead-999");
  expect(kept.length).toBe(100 + ends.length);
});

test("a dead letter says why, also when there was no attempt", async () => {
  const clock = new ManualClock();
  const webhooks = create(clock, 1_000);
  const rows = new Set<string>();
  const letters: { attempts: number; reason: string }[] = [];
  for (let at = 0; at < 40; at++) {
    rows.add(`${at}`);
    webhooks.take(heldOf(deliveryTo("dead", at), {
      isHeld: () => rows.has(`${at}`),
      done: () => void rows.delete(`${at}`),
      deliver: (_, __, body) => {
        letters.push(body as unknown as typeof letters[number]);
        return Promise.resolve();
      },
    }));
  }
  await clock.advance(300_000);
  expect(letters.length).toBe(40);
  const reasons = new Map(letters.map(({ attempts, reason }) => [attempts === 0, reason]));
  expect(reasons).toEqual(
    new Map([
      [false, "connection refused"],
      [true, "the receiver kept failing, so this was not tried"],
    ]),
  );
});

const NOTICE: Notice = {
  change: "Started",
  at: 0,
  workflow: {
    namespace: "ns",
    name: "w",
    uid: "w1",
    labels: { long: "x".repeat(16_000) },
    phase: "Running",
  },
};

test("a change has one row, however many subscriptions are told of it", () => {
  const names = Array.from({ length: 267 }, (_, index) => `s${index}`);
  const post = create(new ManualClock(), 1_000, { names }).postOf(NOTICE);
  expect(post?.receivers.length).toBe(267);
  expect(new Set(post?.receivers.map(({ id }) => id)).size).toBe(267);
  expect(JSON.stringify(post).length).toBeLessThan(16_000 + 267 * 120 + 1_000);
  expect(create(new ManualClock(), 1_000, { names: [] }).postOf(NOTICE)).toBeUndefined();
});

test("the row of a change keeps the receivers that have not been told, and goes with the last", async () => {
  const clock = new ManualClock();
  const answering = new Set(["a.example", "c.example"]);
  const webhooks = create(clock, 1_000, { names: ["a", "b", "c"], answering });
  const effect = webhooks.postOf({ ...NOTICE, at: clock.now() });
  if (effect === undefined) throw new Error("nobody is told");
  const left: string[][] = [];
  let isDone = false;
  webhooks.take(held(effect, {
    isHeld: () => !isDone,
    done: () => void (isDone = true),
    rewrite: (make) => {
      const row = make() as PostWebhooks;
      left.push(row.receivers.map(({ subscription }) => subscription.name));
      expect(row.told).toEqual(effect.told);
    },
  }));
  await clock.advance(100);
  expect([left.at(-1), isDone]).toEqual([["b"], false]);
  answering.add("b.example");
  await clock.advance(10_000);
  expect(isDone).toBe(true);
});

function bookOf(store: Store, clock: ManualClock): SubscriptionBook {
  const log = createLogger("silent");
  const limits = { all: 10, perNamespace: 10 };
  return new SubscriptionBook({ store, clock, log, adminNamespace: "", limits });
}

async function putSubscription(store: Store, spec: Partial<Subscription["spec"]> = {}) {
  const { metadata: { namespace = "", name = "", uid }, spec: own } = subscriptionOf("new");
  const text = JSON.stringify({ metadata: { namespace, name, uid }, spec: { ...own, ...spec } });
  await store.manifests.put({ kind: "Subscription", namespace, name, text, labels: {} }, "*");
}

test("a subscription that was stored although it is wrong keeps its deliveries until it is mended", async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  const subscriptions = bookOf(store, clock);
  await putSubscription(store, { changes: ["Never"] as unknown as SubscribedChange[] });
  await subscriptions.look();
  const webhooks = create(clock, 1_000, { answering: new Set(["new.example"]), subscriptions });
  let done = 0;
  webhooks.take(heldOf({ ...deliveryTo("new", 0), at: clock.now() }, {
    isHeld: () => done === 0,
    done: () => void done++,
  }));
  await clock.advance(900);
  expect([done, sent]).toEqual([0, []]);
  await putSubscription(store);
  await subscriptions.look();
  await clock.advance(5_000);
  expect([done, sent]).toEqual([1, ["new.example"]]);
});

test("a delivery of a subscription that this replica does not know yet arrives; one of a deleted one is dropped", async () => {
  const clock = new ManualClock();
  const store = openMemoryStore({ now: () => clock.now() });
  let reads = 0;
  const { list } = store.manifests;
  store.manifests.list = (...query) => {
    reads++;
    return list.apply(store.manifests, query);
  };
  const subscriptions = bookOf(store, clock);
  await subscriptions.look();
  const webhooks = create(clock, 1_000, { answering: new Set(["new.example"]), subscriptions });
  await putSubscription(store);
  let done = 0;
  const take = (to: string, at: number) =>
    webhooks.take(heldOf(deliveryTo(to, at), { done: () => void done++ }));
  take("new", 0);
  await clock.advance(100);
  expect(sent).toEqual(["new.example"]);
  reads = 0;
  for (let at = 0; at < 100; at++) take("deleted", at);
  await clock.advance(100);
  expect(done).toBe(101);
  expect(sent).toEqual(["new.example"]);
  expect(reads).toBeLessThanOrEqual(16);
});
