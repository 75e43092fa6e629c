/**
 * Tells subscribers of changes. A change and its deliveries are written by one commit (rows of the shard's outbox); the
 * shard's owner delivers them, and whoever takes the shard over goes on. Each subscription has a queue of its own on each
 * replica, so a receiver that is down or slow holds up no other.
 */
import { errorText } from "../../base/error_text.ts";
import type { Notice } from "../../engine/notice.ts";
import type { SubscribableChange, SubscriptionSet } from "../../events/subscription.ts";
import type { Clock } from "../../platform/clock.ts";
import type { GuardedPost, PostAnswer } from "../../platform/guarded_post.ts";
import type { Ids } from "../../platform/ids.ts";
import type { Logger } from "../../platform/log.ts";
import type { Counter, Histogram, Metrics } from "../../platform/metrics.ts";
import { Seldom } from "../../platform/seldom.ts";
import type { Subscription } from "../../spec/manifest.ts";
import { subscriptionRetryMs, subscriptionTimeoutMs } from "../../spec/subscription.ts";
import { Burials, type HeldEntry } from "./burials.ts";
import {
  type DeadEvent,
  deliveriesIn,
  type HeldPost,
  type PostWebhook,
  type PostWebhooks,
  receiverOf,
  subscribable,
  subscribableEvent,
  type WebhookDelivery,
  withoutDone,
} from "./delivery.ts";
import { messageOf } from "./message.ts";
import { type AttemptResult, type Entry, Target } from "./target.ts";

/** Most characters of the deliveries of one subscription that wait on one replica. */
const MAX_BACKLOG_SIZE = 8 * 1024 * 1024;
/** A delivery that waited for its first attempt is given up no earlier than this after a start, ms. */
const FIRST_CHANCE_MS = 60_000;
/** Why a delivery is given up for which there was no attempt. */
const NOT_TRIED = "the receiver kept failing, so this was not tried";
const LAG_SECONDS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 86_400];
const ID_LENGTH = 24;

export interface WebhooksOptions {
  /** Most deliveries of one subscription that wait on this replica; the newest beyond are given up. */
  maxBacklog: number;
  /** Most dead letters of one subscription. */
  maxDeadLetters: number;
  /** How long a delivery is tried at most, ms. */
  retryForMs: number;
  apiGroup: string;
}

export interface WebhooksDeps {
  subscriptions: { readonly current: SubscriptionSet | undefined; look(): Promise<void> };
  /** The decoded entries of a Secret; undefined when there is none. */
  secret(namespace: string, name: string): Promise<Record<string, string> | undefined>;
  post(post: GuardedPost): Promise<PostAnswer>;
  clock: Clock;
  ids: Ids;
  log: Logger;
  metrics: Metrics;
}

export class Webhooks {
  readonly #deps: WebhooksDeps;
  readonly #options: WebhooksOptions;
  /** By namespace and name of the subscription. */
  readonly #targets = new Map<string, Target>();
  readonly #burials: Burials;
  /** Expressions that fail: they may do so for each change. */
  readonly #failing: Seldom;
  readonly #stop = new AbortController();
  /** Deliveries that were taken. */
  #taken = 0;
  /** How many of them were taken when the subscriptions were last read on purpose. */
  #lookedAfter = 0;
  readonly #outcomes: Counter;
  readonly #attempts: Counter;
  readonly #lag: Histogram;
  readonly #faults: Counter;

  constructor(deps: WebhooksDeps, options: WebhooksOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#burials = new Burials(deps, options.maxDeadLetters);
    this.#failing = new Seldom(deps.clock);
    const { metrics } = deps;
    this.#outcomes = metrics.counter(
      "sluice_webhook_deliveries_total",
      "Deliveries to subscribers that have ended, by outcome: delivered, dead or dropped",
    );
    this.#attempts = metrics.counter(
      "sluice_webhook_attempts_total",
      "Attempts to deliver to subscribers, by result: ok, status, timeout, refused or error",
    );
    this.#faults = metrics.counter(
      "sluice_webhook_expression_errors_total",
      "Changes that were not sent to a subscription because its expression failed",
    );
    this.#lag = metrics.histogram(
      "sluice_webhook_lag_seconds",
      "Time from a change to its delivery",
      LAG_SECONDS,
    );
    const targets = () => [...this.#targets.values()];
    metrics.gauge(
      "sluice_webhook_pending",
      "Deliveries that wait or are under way",
      () => targets().reduce((sum, { count }) => sum + count, 0),
    );
    metrics.gauge(
      "sluice_webhook_open_circuits",
      "Subscriptions whose receiver fails and is left alone for a while",
      () => targets().filter(({ isOpen }) => isOpen).length,
    );
  }

  /** Somebody subscribes to something. */
  get isAny(): boolean {
    return this.#deps.subscriptions.current !== undefined;
  }

  /** Somebody has stored or removed a subscription: it counts here from now on. @throws {Problem} Unavailable */
  subscriptionsChanged(): Promise<void> {
    return this.#deps.subscriptions.look();
  }

  /** What tells subscribers of a change. Undefined: nobody is told. */
  postOf(notice: Notice): PostWebhooks | undefined {
    const { about, data } = subscribable(notice);
    const receivers = this.#subscribersOf(about).map((one) => receiverOf(one, this.#newId()));
    const [first] = receivers;
    if (first === undefined) return undefined;
    const { change, at, workflow: { uid: order } } = notice;
    return { type: "post-webhooks", id: first.id, told: { order, change, at, data }, receivers };
  }

  /** The same for an event that became a dead letter. */
  deliveriesOfEvent(event: DeadEvent): WebhookDelivery[] {
    const { about, data } = subscribableEvent(event);
    const told = { order: event.id, change: about.change, at: this.#deps.clock.now(), data };
    return this.#subscribersOf(about).map((one) => ({
      ...receiverOf(one, `msg_${event.id}`),
      ...told,
    }));
  }

  /** Delivers what a shard holds, and tells the shard what of it is done. */
  take(post: HeldPost): void {
    // It stays in the outbox, for the next owner.
    if (this.#stop.signal.aborted) return;
    const { effect } = post;
    const deliveries = deliveriesIn(effect);
    const done = new Set<string>();
    const isDone = (id: string) => {
      done.add(id);
      if (done.size === deliveries.length) post.done();
      else post.rewrite(() => withoutDone(effect, done) ?? effect);
    };
    const size = sizeOf(effect);
    for (const delivery of deliveries) {
      this.#add({
        delivery,
        number: ++this.#taken,
        size,
        attempts: 0,
        takenAt: this.#deps.clock.now(),
        reason: NOT_TRIED,
        isHeld: post.isHeld,
        done: () => isDone(delivery.id),
        deliver: post.deliver,
      });
    }
  }

  #add(entry: HeldEntry): void {
    const { namespace, name } = entry.delivery.subscription;
    const key = `${namespace}/${name}`;
    let target = this.#targets.get(key);
    if (target === undefined) {
      this.#targets.set(key, target = this.#createTarget(key, entry.delivery.subscription));
    }
    const { maxBacklog } = this.#options;
    if (target.count < maxBacklog && target.size + entry.size <= MAX_BACKLOG_SIZE) {
      return target.add(entry);
    }
    entry.reason = "too many deliveries of this subscription wait";
    void this.#bury(entry);
  }

  /** Delivers nothing more; what is under way is broken off. */
  stop(): void {
    this.#stop.abort(new Error("the server stops"));
    for (const target of this.#targets.values()) target.stop();
    this.#targets.clear();
  }

  #newId(): string {
    return `msg_${this.#deps.ids.suffix(ID_LENGTH)}`;
  }

  #subscribersOf(about: SubscribableChange): Subscription[] {
    const { subscriptions: { current }, log, clock, ids } = this.#deps;
    const run = { now: () => clock.now(), random: () => ids.fraction() };
    return current?.about(about, run, ({ metadata }, cause) => {
      this.#faults.inc();
      const { namespace, name: subscription } = metadata;
      const passedOver = this.#failing.ask(`${namespace}/${subscription}`);
      if (passedOver === undefined) return;
      const fields = { namespace, subscription, err: cause, ...(passedOver > 0 && { passedOver }) };
      log.warn(fields, "expression of a subscription failed");
    }) ?? [];
  }

  #createTarget(key: string, { namespace, name }: WebhookDelivery["subscription"]): Target {
    const { log } = this.#deps;
    const fields = { namespace, subscription: name };
    return new Target({
      ...this.#deps,
      attempt: (entry) => this.#attempt(entry as HeldEntry),
      isOverdue: (entry) => this.#isOverdue(entry),
      bury: (entry) => this.#bury(entry as HeldEntry),
      onOpen: (reason) => log.warn({ ...fields, reason }, "receiver of a subscription fails"),
      onClose: () => log.info(fields, "receiver of a subscription is back"),
      onEmpty: () => {
        this.#targets.get(key)?.stop();
        this.#targets.delete(key);
      },
    });
  }

  /** The subscription of a delivery; undefined when it was deleted. */
  #subscriptionOf({ subscription }: WebhookDelivery): Subscription | undefined {
    const { namespace, name, uid } = subscription;
    const found = this.#deps.subscriptions.current?.find(namespace, name);
    return found !== undefined && (found.metadata.uid ?? "") === uid ? found : undefined;
  }

  /** A cluster stores a subscription although it is wrong. It is there, and may be mended. */
  #isFaulty({ subscription: { namespace, name, uid } }: WebhookDelivery): boolean {
    const found = this.#deps.subscriptions.current?.findFaulty(namespace, name);
    return found !== undefined && (found.metadata.uid ?? "") === uid;
  }

  #isOverdue({ delivery, attempts, takenAt }: Entry): boolean {
    const now = this.#deps.clock.now();
    if (attempts === 0 && now - takenAt < FIRST_CHANCE_MS) return false;
    // The retryFor of a subscription may only shorten what the server grants.
    const own = subscriptionRetryMs(this.#subscriptionOf(delivery)?.spec ?? {}) ?? Infinity;
    return now - (delivery.since ?? delivery.at) >= Math.min(own, this.#options.retryForMs);
  }

  async #attempt(entry: HeldEntry): Promise<AttemptResult> {
    const { delivery } = entry;
    if (this.#subscriptionOf(delivery) === undefined) await this.#lookAfter(entry.number);
    const subscription = this.#subscriptionOf(delivery);
    if (subscription === undefined && this.#isFaulty(delivery)) {
      return { type: "failed", reason: "the subscription is wrong and cannot be carried out" };
    }
    if (subscription === undefined) {
      this.#outcomes.inc(OUTCOMES.dropped);
      entry.done();
      return { type: "over" };
    }
    const result = await this.#send(subscription, delivery);
    if (result.type !== "done") return result;
    const { clock } = this.#deps;
    this.#outcomes.inc(OUTCOMES.delivered);
    this.#lag.observe(Math.max(0, clock.now() - (delivery.since ?? delivery.at)) / 1000);
    entry.done();
    return result;
  }

  /**
   * Reads the subscriptions, unless that was done since a delivery was taken: its own may have been stored on another replica
   * a moment before. @throws {Problem} Unavailable
   */
  async #lookAfter(number: number): Promise<void> {
    if (this.#lookedAfter >= number) return;
    const taken = this.#taken;
    await this.#deps.subscriptions.look();
    this.#lookedAfter = Math.max(this.#lookedAfter, taken);
  }

  async #send(
    { metadata, spec }: Subscription,
    delivery: WebhookDelivery,
  ): Promise<AttemptResult> {
    const { clock, post } = this.#deps;
    const timeoutMs = subscriptionTimeoutMs(spec);
    const over = new AbortController();
    const stop = () => over.abort(this.#stop.signal.reason);
    this.#stop.signal.addEventListener("abort", stop, { once: true });
    const cancel = clock.after(timeoutMs, () => {
      over.abort(new Error(`no answer within ${timeoutMs / 1000} s`));
    });
    try {
      const namespace = metadata.namespace ?? "";
      const secret = await this.#secretText(namespace, spec.secret, "the signature");
      const { headers, body } = messageOf(delivery, {
        format: spec.format || "standard",
        secret,
        now: clock.now(),
        apiGroup: this.#options.apiGroup,
      });
      const own = await this.#headersOf(namespace, spec);
      const url = new URL(spec.url);
      const answer = await post({ url, headers: [...own, ...headers], body, signal: over.signal });
      return this.#resultOf(answer);
    } catch (cause) {
      const isRefusal = cause instanceof Error && cause.name === "AddressRefused";
      this.#attempts.inc(
        over.signal.aborted ? RESULTS.timeout : isRefusal ? RESULTS.refused : RESULTS.error,
      );
      return {
        type: "failed",
        reason: errorText(over.signal.aborted ? over.signal.reason : cause),
      };
    } finally {
      cancel();
      this.#stop.signal.removeEventListener("abort", stop);
    }
  }

  #resultOf({ status, retryAfter, text }: PostAnswer): AttemptResult {
    if (status >= 200 && status < 300) {
      this.#attempts.inc(RESULTS.ok);
      return { type: "done" };
    }
    this.#attempts.inc(RESULTS.status);
    const seconds = /^\d{1,6}$/.test(retryAfter ?? "") ? Number(retryAfter) : undefined;
    return {
      type: "failed",
      reason: `the receiver answered ${status}${text === undefined ? "" : `: ${text}`}`,
      ...(seconds !== undefined && { retryAfterMs: seconds * 1000 }),
    };
  }

  async #headersOf(
    namespace: string,
    { headers = [] }: Subscription["spec"],
  ): Promise<[string, string][]> {
    const made: [string, string][] = [];
    for (const { name, value = "", valueFrom } of headers) {
      const reference = valueFrom?.secretKeyRef;
      const text = reference === undefined
        ? value
        : await this.#secretText(namespace, reference, `header ${name}`);
      made.push([name, text]);
    }
    return made;
  }

  async #secretText(
    namespace: string,
    { name = "", key }: { name?: string; key: string },
    use: string,
  ): Promise<string> {
    const text = (await this.#deps.secret(namespace, name))?.[key];
    if (text !== undefined && text !== "") return text;
    throw new Error(`Secret "${name}" in namespace ${namespace} has no key "${key}" for ${use}`);
  }

  async #bury(entry: HeldEntry): Promise<void> {
    const isHeld = entry.isHeld();
    await this.#burials.bury(entry);
    if (isHeld) this.#outcomes.inc(OUTCOMES.dead);
  }
}

/** Characters of what one delivery holds. */
function sizeOf(effect: PostWebhook | PostWebhooks): number {
  if (effect.type === "post-webhook") return JSON.stringify(effect.delivery).length;
  return JSON.stringify({ ...effect.receivers[0], ...effect.told }).length;
}

const OUTCOMES = {
  delivered: { outcome: "delivered" },
  dead: { outcome: "dead" },
  dropped: { outcome: "dropped" },
} as const;
const RESULTS = {
  ok: { result: "ok" },
  status: { result: "status" },
  timeout: { result: "timeout" },
  refused: { result: "refused" },
  error: { result: "error" },
} as const;
