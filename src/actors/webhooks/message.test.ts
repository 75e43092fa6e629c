import { Webhook } from "standardwebhooks";
import { expect, test } from "vitest";
import type { WebhookDelivery } from "./delivery.ts";
import { messageOf } from "./message.ts";

const AT = Date.UTC(2030, 0, 1);
const DELIVERY: WebhookDelivery = {
  id: "msg_1",
  subscription: { namespace: "ns", name: "sub", uid: "u" },
  order: "wf-uid",
  change: "NodeFailed",
  at: AT,
  data: {
    change: "NodeFailed",
    workflow: { namespace: "ns", name: "etl", phase: "Running" },
    node: { id: "etl-1", phase: "Failed", message: "größer" },
  },
};
const OPTIONS = { now: AT + 5_000, apiGroup: "argoproj.io", secret: "plain text" };

function made(format: "standard" | "cloudevents" | "cloudevents-binary", secret?: string) {
  const { headers, body } = messageOf(DELIVERY, {
    ...OPTIONS,
    format,
    ...(secret !== undefined && { secret }),
  });
  const text = new TextDecoder().decode(body);
  return { headers: Object.fromEntries(headers), text, json: JSON.parse(text) };
}

test("a delivery of format standard has type, time and data, and its own id in each attempt", () => {
  const { headers, json } = made("standard");
  expect(headers).toMatchObject({
    "Content-Type": "application/json",
    "webhook-id": "msg_1",
    "webhook-timestamp": String(AT / 1000 + 5),
  });
  expect(json).toEqual({
    type: "node.failed",
    timestamp: "2030-01-01T00:00:00.000Z",
    data: DELIVERY.data,
  });
});

test.each(["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "any text, also ü"])(
  "a signature by %s is that of Standard Webhooks",
  (secret) => {
    const { headers, text } = made("standard", secret);
    const verifier = secret.startsWith("whsec_")
      ? new Webhook(secret)
      : new Webhook(secret, { format: "raw" });
    // The library itself refuses an old time, so the signature alone is compared.
    const time = new Date(AT + 5_000);
    expect(headers["webhook-signature"]).toBe(verifier.sign("msg_1", time, text));
    expect(headers["webhook-signature"]).not.toBe(verifier.sign("msg_1", time, `${text} `));
  },
);

test("a CloudEvent in the body", () => {
  const { headers, json } = made("cloudevents");
  expect(headers["Content-Type"]).toBe("application/cloudevents+json; charset=utf-8");
  expect(json).toEqual({
    specversion: "1.0",
    id: "msg_1",
    source: "/api/v1/namespaces/ns",
    type: "argoproj.io.node.failed",
    subject: "etl/etl-1",
    time: "2030-01-01T00:00:00.000Z",
    datacontenttype: "application/json",
    data: DELIVERY.data,
  });
});

test("a CloudEvent in the headers", () => {
  const { headers, json } = made("cloudevents-binary");
  expect(headers).toMatchObject({
    "Content-Type": "application/json",
    "ce-specversion": "1.0",
    "ce-id": "msg_1",
    "ce-source": "/api/v1/namespaces/ns",
    "ce-type": "argoproj.io.node.failed",
    "ce-subject": "etl/etl-1",
    "ce-time": "2030-01-01T00:00:00.000Z",
  });
  expect(json).toEqual(DELIVERY.data);
});
