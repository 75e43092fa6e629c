/** A delivery as a request: body, headers and signature. Pure. */
import { Buffer } from "node:buffer";
import { Webhook } from "standardwebhooks";
import type { SubscriptionFormat } from "../../spec/manifest.ts";
import type { WebhookDelivery } from "./delivery.ts";

/** What a message is made with. */
export interface MessageOptions {
  format: SubscriptionFormat;
  /** `whsec_` and base64, or any text. */
  secret: string;
  /** Time of the attempt, epoch ms. */
  now: number;
  /** API group of the deployment: the prefix of CloudEvents types. */
  apiGroup: string;
}

export interface Message {
  headers: [string, string][];
  body: Uint8Array;
}

/** The name of each change in bodies, `workflow.failed` for example. */
const CHANGE_TYPES = {
  Started: "workflow.started",
  Suspended: "node.suspended",
  NodeFailed: "node.failed",
  Succeeded: "workflow.succeeded",
  Failed: "workflow.failed",
  DeadLetter: "event.dead-letter",
} as const;

/** @throws {Error} when the secret says that it is base64 and is not */
export function messageOf(delivery: WebhookDelivery, options: MessageOptions): Message {
  const { headers, text } = formatted(delivery, options);
  const { secret, now } = options;
  const signer = secret.startsWith("whsec_")
    ? new Webhook(secret)
    : new Webhook(secret, { format: "raw" });
  const seconds = Math.floor(now / 1000);
  return {
    headers: [
      ...headers,
      ["webhook-id", delivery.id],
      ["webhook-timestamp", String(seconds)],
      ["webhook-signature", signer.sign(delivery.id, new Date(seconds * 1000), text)],
    ],
    body: Buffer.from(text, "utf8"),
  };
}

function formatted(
  delivery: WebhookDelivery,
  { format, apiGroup }: MessageOptions,
): { headers: [string, string][]; text: string } {
  const { id, change, at, data } = delivery;
  const type = CHANGE_TYPES[change];
  const time = new Date(at).toISOString();
  if (format === "standard") {
    return {
      headers: [["Content-Type", "application/json"]],
      text: JSON.stringify({ type, timestamp: time, data }),
    };
  }
  const event = {
    specversion: "1.0",
    id,
    source: sourceOf(delivery),
    type: `${apiGroup}.${type}`,
    subject: subjectOf(delivery),
    time,
  };
  if (format === "cloudevents") {
    return {
      headers: [["Content-Type", "application/cloudevents+json; charset=utf-8"]],
      text: JSON.stringify({ ...event, datacontenttype: "application/json", data }),
    };
  }
  return {
    headers: [
      ["Content-Type", "application/json"],
      ...Object.entries(event).map(([name, value]): [string, string] => [
        `ce-${name}`,
        headerText(value),
      ]),
    ],
    text: JSON.stringify(data),
  };
}

function sourceOf({ data, subscription }: WebhookDelivery): string {
  const { workflow, event } = data as Record<string, { namespace?: string } | undefined>;
  const namespace = workflow?.namespace ?? event?.namespace ?? subscription.namespace;
  return `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
}

function subjectOf({ data }: WebhookDelivery): string {
  const { workflow, node, event } = data as Record<string, Record<string, string> | undefined>;
  const name = workflow?.["name"] ?? event?.["id"] ?? "";
  return node === undefined ? name : `${name}/${node["id"]}`;
}

/** Binary mode writes what a header may not have in percent form (CloudEvents HTTP binding, 3.1.3.2). */
function headerText(value: string): string {
  return value.replaceAll(
    /[^\x21\x23\x24\x26-\x7e]/gu,
    (one) => Buffer.from(one, "utf8").toString("hex").toUpperCase().replaceAll(/../g, "%$&"),
  );
}
