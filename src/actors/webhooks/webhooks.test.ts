import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import type { SubscriptionSet } from "../../events/subscription.ts";
import type { WebhookDelivery } from "./delivery.ts";
import { Webhooks } from "./webhooks.ts";

function create(clock: ManualClock, maxBacklog: number): Webhooks {
  const subscription = {
    metadata: { namespace: "ns", name: "dead", uid: "u" },
    spec: { url: "http://receiver.example", secret: { name: "s", key: "k" }, retryFor: "1s" },
  };
  const current = { about: () => [], find: () => subscription } as unknown as SubscriptionSet;
  return new Webhooks({
    subscriptions: { current, look: () => Promise.resolve() },
    secret: () => Promise.resolve({ k: "secret" }),
    post: () => Promise.reject(new Error("connection refused")),
    clock,
    ids: seededIds(),
    log: createLogger("silent"),
    metrics: createMetrics(),
  }, { maxBacklog, retryForMs: 1_000, apiGroup: "argoproj.io" });
}

function deliveryTo(name: string, at: number): WebhookDelivery {
  const id = `${name}-${at}`;
  const subscription = { namespace: "ns", name, uid: "u" };
  return { id, subscription, order: id, change: "Started", at: 0, data: { workflow: {} } };
}

test("what is given up goes to the dead letters a little at a time, of all subscriptions", async () => {
  const webhooks = create(new ManualClock(), 0);
  let done = 0;
  const shard = { rows: { has: () => true }, isHeld: true, rowDone: () => void done++ };
  const underWay: { id: string; end: () => void }[] = [];
  const deliver = (_: string, id: string) =>
    new Promise<void>((end) => void underWay.push({ id, end }));
  const take = (name: string, at: number) => {
    webhooks.take(shard, `${name}-${at}`, deliveryTo(name, at), deliver);
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

test("a dead letter says why, also when there was no attempt", async () => {
  const clock = new ManualClock();
  const webhooks = create(clock, 1_000);
  const rows = new Set<string>();
  const letters: { attempts: number; reason: string }[] = [];
  const shard = { rows, isHeld: true, rowDone: (id: string) => void rows.delete(id) };
  for (let at = 0; at < 40; at++) {
    rows.add(`${at}`);
    webhooks.take(shard, `${at}`, deliveryTo("dead", at), (_, __, body) => {
      letters.push(body as unknown as typeof letters[number]);
      return Promise.resolve();
    });
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
