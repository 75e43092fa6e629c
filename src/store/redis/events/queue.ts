/**
 * How one replica uses the event queue of the Redis adapter. Events that come at the same time are offered in one call. In
 * that same call events end, and a waiting worker takes events.
 */
import type { Delivery, QueuedEvent } from "../../event_port.ts";
import type { Version } from "../../version.ts";
import { CallBatches } from "../call_batches.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "../context.ts";
import {
  acceptedOf,
  finishArgs,
  newest,
  type Offer,
  offerArgs,
  type Offered,
  offeredOf,
} from "./args.ts";
import { isSuspect, readContent } from "./content.ts";
import { FINISH, OFFER, TAKE } from "./scripts.ts";
import { listOf } from "../replies.ts";
import { UnreadableEvents } from "./unreadable.ts";

/** How often workers are checked for silence, within the time after which they count as silent. */
const CLAIMS_PER_SILENCE = 10;
/** Most events that one call offers or ends. */
const MAX_IN_CALL = 256;

/** A script says so when the queue is empty and nobody works on an event. */
const NO_EVENTS = -2;

/** Who takes how many events, and after which time other workers count as silent. */
export interface TakeRequest {
  worker: string;
  max: number;
  claimAfterMs: number;
}

/** A request that waits for events. */
interface WaitingTake extends TakeRequest {
  /** What the next call that offers events took for it; undefined while there was no such call. */
  taken?: Promise<QueuedEvent[]>;
}

export class RedisEventQueue {
  readonly #context: RedisContext;
  readonly #unreadable: UnreadableEvents;
  /** Offers, and records of events that end: those that come during a call go together in the next one. */
  readonly #calls: CallBatches<Offer | Delivery, Offered | undefined>;
  /** Base of the manifests, whose version each call returns; "" if they are on another server. */
  readonly #manifests: string;
  #subscription: Promise<void> | undefined;
  /** Counts messages, to notice one that comes during a look. */
  #messages = 0;
  /** When silent workers were last looked for. */
  #claimedAt = -Infinity;
  /** Until then there is nothing to take, unless a message says otherwise. */
  #emptyUntil = -Infinity;
  /** Only one worker at a time looks for events: it gets those that come together, and few looks are in vain. */
  #isLooking = false;
  #waiting: WaitingTake | undefined;

  constructor(context: RedisContext) {
    this.#context = context;
    this.#unreadable = new UnreadableEvents(context);
    this.#calls = new CallBatches({ max: MAX_IN_CALL }, (batch) => this.#call(batch));
    this.#manifests = context.link.isOneServer ? context.keys.manifests : "";
  }

  /** As `EventStore.offer`. */
  offer(offer: Offer): Promise<Offered> {
    return this.#calls.add(offer) as Promise<Offered>;
  }

  /** As `EventStore.finish`. */
  async finish(deliveries: Delivery[]): Promise<void> {
    const readable = await this.#unreadable.finish(deliveries);
    await Promise.all(readable.map((delivery) => this.#calls.add(delivery)));
  }

  /** As `EventStore.take`. */
  async take(request: TakeRequest, waitMs: number, signal: AbortSignal): Promise<QueuedEvent[]> {
    const context = this.#context;
    const { wakeups } = context;
    await untilClosed(context, this.#subscribe());
    const deadline = performance.now() + waitMs;
    const look = async () =>
      await untilClosed(context, this.#look(request, deadline, signal)) ?? [];
    if (waitMs <= 0) return await look();
    while (!signal.aborted && !context.isClosed() && performance.now() < deadline) {
      if (this.#isLooking) {
        await wakeups.wait(["event turn"], deadline - performance.now(), signal);
        continue;
      }
      this.#isLooking = true;
      try {
        return await look();
      } finally {
        this.#isLooking = false;
        wakeups.wakeOne("event turn");
      }
    }
    // This worker may have been given its turn too late.
    if (!this.#isLooking) wakeups.wakeOne("event turn");
    return [];
  }

  #subscribe(): Promise<void> {
    const { link, keys, wakeups } = this.#context;
    this.#subscription ??= link.subscribe(keys.eventChannel, () => {
      this.#messages++;
      this.#emptyUntil = -Infinity;
      wakeups.wakeOne("events");
    }).catch((error) => {
      this.#subscription = undefined;
      throw error;
    });
    return this.#subscription;
  }

  async #look(
    request: TakeRequest,
    deadline: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]> {
    while (!signal.aborted && !this.#context.isClosed()) {
      if (performance.now() >= Math.min(this.#emptyUntil, deadline)) {
        const events = await this.#takeNow(request);
        if (events.length > 0 || performance.now() >= deadline) return events;
      }
      const restMs = Math.min(this.#emptyUntil, deadline) - performance.now();
      const events = await this.#takeNext(request, restMs, signal);
      if (events.length > 0 || performance.now() >= deadline) return events;
    }
    return [];
  }

  async #takeNow(request: TakeRequest): Promise<QueuedEvent[]> {
    const { link, keys } = this.#context;
    const before = this.#messages;
    const args = [keys.eventChannel, ...this.#takeArgs(request)];
    // A write, so that replicas have what it takes: an event that was lost with its server, and sent again, would have its
    // effect twice.
    return await this.#takenOf(request, await link.write(TAKE, keys.events, args), before);
  }

  /** Waits for events that are offered in this process, for a message, or until it is time to look again. */
  async #takeNext(request: TakeRequest, ms: number, signal: AbortSignal): Promise<QueuedEvent[]> {
    const own: WaitingTake = this.#waiting = { ...request };
    await this.#context.wakeups.wait(["events"], ms, signal);
    if (this.#waiting === own) this.#waiting = undefined;
    if (own.taken === undefined) this.#emptyUntil = -Infinity;
    return await own.taken ?? [];
  }

  /** The arguments about taking. */
  #takeArgs({ worker, max, claimAfterMs }: TakeRequest): string[] {
    const now = performance.now();
    const looksForSilent = now - this.#claimedAt >= claimAfterMs / CLAIMS_PER_SILENCE;
    if (looksForSilent) this.#claimedAt = now;
    const looks = looksForSilent ? "1" : "";
    return [worker, String(max), String(claimAfterMs), looks, this.#manifests];
  }

  /**
   * The events that a script took.
   * @param messagesBefore number of messages when it was called
   * @param offers offers that the same call accepted: for these the script returns only ids
   */
  async #takenOf(
    request: TakeRequest,
    reply: unknown,
    messagesBefore: number,
    offers: Offer[] = [],
  ): Promise<QueuedEvent[]> {
    const offered = new Map(offers.map(([event]) => [event.id, event]));
    const found = listOf(reply);
    const [due, version] = found;
    const events: QueuedEvent[] = [];
    const suspects = new Set<string>();
    for (let at = 2; at + 1 < found.length; at += 2) {
      const claims = Number(found[at + 1]);
      const content = String(found[at]);
      const own = offered.get(content);
      if (own !== undefined) {
        events.push({ ...own, attempts: 0 });
        continue;
      }
      const event = readContent(content, claims);
      // There may be more events of silent workers.
      if (claims > 0) this.#claimedAt = -Infinity;
      if (typeof event === "string" || isSuspect(content, claims)) suspects.add(content);
      else events.push(event);
    }
    const isEmpty = found.length / 2 - 1 < request.max && this.#messages === messagesBefore;
    this.#emptyUntil = isEmpty ? performance.now() + restMsOf(request, due) : -Infinity;
    if (suspects.size > 0) {
      events.push(...await this.#unreadable.inspect(request.worker, suspects));
    }
    const manifests = String(version ?? "");
    if (manifests !== "") { for (const event of events) event.manifests = manifests; }
    return events;
  }

  /** Carries out what came together; the results of offers stand in their places. */
  async #call(batch: (Offer | Delivery)[]): Promise<(Offered | undefined)[]> {
    const offers: Offer[] = [];
    const ended: Delivery[] = [];
    for (const one of batch) Array.isArray(one) ? offers.push(one) : ended.push(one);
    if (offers.length === 0) {
      await this.#context.link.run(FINISH, this.#context.keys.events, finishArgs(ended));
      return [];
    }
    const offered = await this.#offerAll(offers, ended);
    if (ended.length === 0) return offered;
    let next = 0;
    return batch.map((one) => Array.isArray(one) ? offered[next++] : undefined);
  }

  async #offerAll(batch: Offer[], ended: Delivery[]): Promise<Offered[]> {
    const versions = batch.flatMap(([, , , version]) => version ?? []);
    const judged = newest(versions);
    if (versions.some((version) => version !== judged)) {
      return await this.#offerStale(batch, ended, judged);
    }
    const { link, keys } = this.#context;
    const request = this.#waiting;
    this.#waiting = undefined;
    const messagesBefore = this.#messages;
    const takeArgs = request === undefined
      ? ["", "", "", "", this.#manifests]
      : this.#takeArgs(request);
    const args = [keys.eventChannel, ...takeArgs, judged ?? ""];
    args.push(...offerArgs(batch, ended, args.length));
    const call = link.write(OFFER, keys.events, args).then(listOf);
    if (request !== undefined) this.#handOver(request, call, messagesBefore, batch);
    const [refused] = await call;
    return refused === "stale" ? await this.#offerStale(batch, []) : offeredOf(batch, refused);
  }

  /** Hands what a call took to the request that waited. */
  #handOver(
    request: WaitingTake,
    call: Promise<unknown[]>,
    messagesBefore: number,
    batch: Offer[],
  ): void {
    request.taken = call.then(([refused, taken]) =>
      this.#takenOf(request, taken, messagesBefore, acceptedOf(batch, refused))
    );
    const wake = () => void this.#context.wakeups.wakeOne("events");
    request.taken.then(wake, wake);
  }

  /** Leaves out offers that were judged by another version of the manifests. */
  async #offerStale(
    batch: Offer[],
    ended: Delivery[],
    version?: Version,
  ): Promise<Offered[]> {
    const isStale = ([, , , judged]: Offer) => judged !== undefined && judged !== version;
    const rest = batch.filter((offer) => !isStale(offer));
    const offered = rest.length === 0 ? [] : await this.#offerAll(rest, ended);
    return batch.map((offer): Offered =>
      isStale(offer) ? { result: "stale", id: offer[0].id } : offered.shift() as Offered
    );
  }
}

/** Milliseconds until there may be events again, after a script found fewer than it might take. */
function restMsOf({ claimAfterMs }: TakeRequest, due: unknown): number {
  // Where there is no event, nobody can be silent about one for a while.
  if (due === NO_EVENTS) return Math.min(claimAfterMs, LOOK_AGAIN_MS);
  const dueMs = Number(due ?? 0) < 0 ? Infinity : Number(due ?? 0);
  return Math.min(dueMs, claimAfterMs / CLAIMS_PER_SILENCE, LOOK_AGAIN_MS);
}
