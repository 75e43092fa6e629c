import { expect, test } from "vitest";
import { ManualClock } from "../../../test/support/manual_clock.ts";
import { seededIds } from "../../../test/support/seeded_ids.ts";
import { createLogger } from "../../platform/log.ts";
import { createMetrics } from "../../platform/metrics.ts";
import type { WebhookDelivery } from "./delivery.ts";
import { Webhooks } from "./webhooks.ts";

test("what is given up goes to the dead letters a little at a time, of all subscriptions", async () => {
  const webhooks = new Webhooks({
    subscriptions: { current: undefined, look: () => Promise.resolve() },
    secret: () => Promise.resolve(undefined),
    post: () => Promise.reject(new Error("not used")),
    clock: new ManualClock(),
    ids: seededIds(),
    log: createLogger("silent"),
    metrics: createMetrics(),
  }, { maxBacklog: 0, retryForMs: 1_000, apiGroup: "argoproj.io" });
  let done = 0;
  const shard = { rows: { has: () => true }, isHeld: true, rowDone: () => void done++ };
  const underWay: { id: string; end: () => void }[] = [];
  const deliver = (_: string, id: string) =>
    new Promise<void>((end) => void underWay.push({ id, end }));
  const take = (name: string, at: number) => {
    const id = `${name}-${at}`;
    const delivery = { id, subscription: { namespace: "ns", name, uid: "u" }, order: id };
    webhooks.take(shard, id, delivery as WebhookDelivery, deliver);
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
