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

/** Brings one change to all its receivers: what they are told is kept once, however many they are. */
export interface PostWebhooks {
  type: "post-webhooks";
  id: string;
  told: Omit<WebhookDelivery, "id" | "subscription">;
  receivers: Pick<WebhookDelivery, "id" | "subscription">[];
}

/** The deliveries of an effect. */
export function deliveriesIn(effect: PostWebhook | PostWebhooks): WebhookDelivery[] {
  if (effect.type === "post-webhook") return [effect.delivery];
  return effect.receivers.map((receiver) => ({ ...receiver, ...effect.told }));
}

/** The effect without the deliveries that are done. Undefined: none is left. */
export function withoutDone(
  effect: PostWebhook | PostWebhooks,
  done: ReadonlySet<string>,
): PostWebhook | PostWebhooks | undefined {
  if (effect.type === "post-webhook") return done.has(effect.delivery.id) ? undefined : effect;
  const receivers = effect.receivers.filter(({ id }) => !done.has(id));
  return receivers.length === 0 ? undefined : { ...effect, receivers };
}

/** Deliveries that a shard holds. */
export interface HeldPost {
  effect: PostWebhook | PostWebhooks;
  /** False when another replica has them: they are forgotten here. */
  isHeld(): boolean;
  /** Tells the shard that they need not be done again. */
  done(): void;
  /** The same of some of them. @param make what is left when it is stored */
  rewrite(make: () => PostWebhook | PostWebhooks): void;
  /** Brings a command to an actor; resolves when it is durable there. */
  deliver(id: string, actor: ActorId, body: Json): Promise<void>;
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

/** A subscription as a receiver of a delivery with this id. */
export function receiverOf(
  { metadata: { namespace = "", name = "", uid = "" } }: Subscription,
  id: string,
): PostWebhooks["receivers"][number] {
  return { id, subscription: { namespace, name, uid } };
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
