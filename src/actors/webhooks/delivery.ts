/** Deliveries to subscribers as data: what is kept from the commit that causes one until the receiver has it. */
import { isJsonObject, type Json, type JsonObject } from "../../base/json.ts";
import type { Notice } from "../../engine/notice.ts";
import type { SubscribableChange } from "../../events/subscription.ts";
import type { SubscribedChange, Subscription } from "../../spec/manifest.ts";
import type { ActorId } from "../../store/port.ts";

/** One change for one subscription. */
export interface WebhookDelivery {
  /** Names the delivery in every attempt, also after a replay. */
  id: string;
  subscription: { namespace: string; name: string; uid: string };
  /** Deliveries with the same text arrive in the order in which they were made. */
  order: string;
  change: SubscribedChange;
  /** When it happened, epoch ms. */
  at: number;
  /** What the receiver is told. */
  data: JsonObject;
  /** Of one that was replayed: since when it is tried again, epoch ms. */
  since?: number;
}

/** Brings a delivery to its receiver. */
export interface PostWebhook {
  type: "post-webhook";
  id: string;
  delivery: WebhookDelivery;
}

/** What became of events that failed for good. */
export interface DeadEvent {
  namespace: string;
  id: string;
  discriminator: string;
  /** Epoch ms. */
  receivedAt: number;
  message: string;
}

/** The notice as subscriptions look at it, and what their receivers are told. */
export function subscribable(
  { change, workflow, node }: Notice,
): { about: SubscribableChange; data: JsonObject } {
  const { labels, template } = workflow;
  const shown = { ...workflow } as unknown as JsonObject;
  const shownNode = node === undefined ? null : { ...node } as unknown as JsonObject;
  return {
    about: {
      change,
      namespace: workflow.namespace,
      workflow: { labels, ...(template !== undefined && { template }) },
      facts: { change, workflow: shown, node: shownNode },
    },
    data: { change, workflow: shown, ...(shownNode !== null && { node: shownNode }) },
  };
}

/** The same for an event that became a dead letter. */
export function subscribableEvent(
  { namespace, id, discriminator, receivedAt, message }: DeadEvent,
): { about: SubscribableChange; data: JsonObject } {
  const change = "DeadLetter";
  const event = {
    id,
    namespace,
    discriminator: discriminator.slice(0, 1_024).toWellFormed(),
    receivedAt: new Date(receivedAt).toISOString(),
    message: message.slice(0, 4_096).toWellFormed(),
  };
  return {
    about: { change, namespace, facts: { change, workflow: {}, node: null } },
    data: { change, event },
  };
}

export function deliveryFor(
  { metadata }: Subscription,
  id: string,
  order: string,
  { change, at }: { change: SubscribedChange; at: number },
  data: JsonObject,
): PostWebhook {
  const { namespace = "", name = "", uid = "" } = metadata;
  const subscription = { namespace, name, uid };
  return { type: "post-webhook", id, delivery: { id, subscription, order, change, at, data } };
}

/** What the ids of actors begin with that keep dead letters. */
export const DEAD_LETTERS_PREFIX = "webhook/";

/** The actor that keeps the dead letters of a subscription. */
export function deadLettersId(namespace: string, name: string): ActorId {
  return `${DEAD_LETTERS_PREFIX}${namespace}/${name}`;
}

/** Tells whether a value has the form of a delivery. */
export function isDelivery(value: Json | undefined): value is WebhookDelivery & JsonObject {
  if (!isJsonObject(value)) return false;
  const { id, subscription, order, change, at, data } = value;
  return typeof id === "string" && isJsonObject(subscription) && typeof order === "string" &&
    typeof change === "string" && typeof at === "number" && isJsonObject(data);
}
