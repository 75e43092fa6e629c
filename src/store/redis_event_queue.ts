/**
 * How one replica deals with the event queue of the Redis adapter: events of a moment are offered in one call, a worker
 * that waits takes in that same call, and what has ended is written along with it. So a busy replica makes one round trip
 * for all that happened since the last one.
 */
import { CallBatches } from "./call_batches.ts";
import type { Delivery, EventStore, QueuedEvent, Version } from "./port.ts";
import { LOOK_AGAIN_MS, type RedisContext, untilClosed } from "./redis_context.ts";
import { contentOf, isSuspect, readContent } from "./redis_event_content.ts";
import { FINISH, OFFER, TAKE } from "./redis_event_scripts.ts";
import { createUnreadableEvents } from "./redis_unreadable_events.ts";
import { listOf } from "./redis_replies.ts";

/** How often silent workers are looked for in the time of their silence. */
const CLAIMS_PER_SILENCE = 10;
/** Events that one call offers. */
const MAX_OFFERS = 256;
/** Events that one call ends. */
const MAX_ENDS = 500;
/** How long ends wait for a call that offers events. */
const END_WAIT_MS = 2;

type Offer = Parameters<EventStore["offer"]>;
type Offered = Awaited<ReturnType<EventStore["offer"]>>;

/** Who takes events, and when others are thought to be silent. */
interface Taker {
  worker: string;
  max: number;
  claimAfterMs: number;
}

/** One that waits for events. */
interface Waiter extends Taker {
  /** What the call took that offered the next ones; undefined while there was none. */
  taken?: Promise<QueuedEvent[]>;
}

export function createRedisEventQueue(
  context: RedisContext,
): Pick<EventStore, "offer" | "take" | "finish"> {
  const { link, keys, wakeups } = context;
  const base = keys.events;
  let subscription: Promise<void> | undefined;
  /** Counts messages, to notice one that came while we looked. */
  let wakes = 0;
  /** When silent workers were looked for last. */
  let claimedAt = -Infinity;
  /** Until when there is nothing to take, unless a message says otherwise. */
  let emptyUntil = -Infinity;
  /** One worker at a time looks for events: those of a moment go together, and few looks are in vain. */
  let isLooking = false;
  let waiter: Waiter | undefined;
  const manifests = link.isOneServer ? keys.manifests : "";
  const unreadable = createUnreadableEvents(context);

  function hear(): Promise<void> {
    subscription ??= link.subscribe(keys.eventChannel, () => {
      wakes++;
      emptyUntil = -Infinity;
      wakeups.wakeOne("events");
    }).catch((error) => {
      subscription = undefined;
      throw error;
    });
    return subscription;
  }

  /** Arguments of a script that takes. */
  function takeArgs({ worker, max, claimAfterMs }: Taker): string[] {
    const now = performance.now();
    const looksForSilent = now - claimedAt >= claimAfterMs / CLAIMS_PER_SILENCE;
    if (looksForSilent) claimedAt = now;
    const looks = looksForSilent ? "1" : "";
    return [worker, String(max), String(claimAfterMs), looks, manifests];
  }

  /** What a script took that was called when so many messages had come, with these offers. */
  async function takenOf(
    taker: Taker,
    reply: unknown,
    wakesBefore: number,
    offers: Offer[] = [],
  ): Promise<QueuedEvent[]> {
    const own = new Map(offers.map(([event]) => [event.id, event]));
    const [due, version, ...found] = listOf(reply);
    const manifests = String(version ?? "");
    const events: QueuedEvent[] = [];
    const suspects = new Set<string>();
    for (let at = 0; at + 1 < found.length; at += 2) {
      const claims = Number(found[at + 1]);
      const content = String(found[at]);
      const offered = own.get(content);
      const event = offered === undefined
        ? readContent(content, claims)
        : { ...offered, attempts: 0 } as QueuedEvent;
      // There may be more of silent workers.
      if (claims > 0) claimedAt = -Infinity;
      if (typeof event === "string" || isSuspect(content, claims)) suspects.add(content);
      else events.push(event);
    }
    const dueMs = Number(due ?? 0) < 0 ? Infinity : Number(due ?? 0);
    const restMs = Math.min(dueMs, taker.claimAfterMs / CLAIMS_PER_SILENCE, LOOK_AGAIN_MS);
    const isEmpty = found.length / 2 < taker.max && wakes === wakesBefore;
    emptyUntil = isEmpty ? performance.now() + restMs : -Infinity;
    if (suspects.size > 0) events.push(...await unreadable.lookAt(taker.worker, suspects));
    if (manifests !== "") { for (const event of events) event.manifests = manifests; }
    return events;
  }

  async function takeNow(taker: Taker): Promise<QueuedEvent[]> {
    const wakesBefore = wakes;
    const reply = await link.run(TAKE, base, [keys.eventChannel, ...takeArgs(taker)]);
    return await takenOf(taker, reply, wakesBefore);
  }

  /** Waits for events that are offered here, for a message, or until there may be some to look for. */
  async function takeNext(taker: Taker, ms: number, signal: AbortSignal): Promise<QueuedEvent[]> {
    const own: Waiter = waiter = { ...taker };
    await wakeups.wait(["events"], ms, signal);
    if (waiter === own) waiter = undefined;
    if (own.taken === undefined) emptyUntil = -Infinity;
    return await own.taken ?? [];
  }

  async function look(
    taker: Taker,
    deadline: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]> {
    while (!signal.aborted && !context.isClosed()) {
      if (performance.now() >= Math.min(emptyUntil, deadline)) {
        const events = await takeNow(taker);
        if (events.length > 0 || performance.now() >= deadline) return events;
      }
      const restMs = Math.min(emptyUntil, deadline) - performance.now();
      const events = await takeNext(taker, restMs, signal);
      if (events.length > 0 || performance.now() >= deadline) return events;
    }
    return [];
  }

  async function offerAll(batch: Offer[]): Promise<Offered[]> {
    const versions = batch.flatMap(([, , , version]) => version ?? []);
    const judged = newest(versions);
    if (versions.some((version) => version !== judged)) return await offerStale(batch, judged);
    const taker = waiter;
    waiter = undefined;
    const wakesBefore = wakes;
    writeEnds();
    const taking = taker === undefined ? ["", "", "", "", manifests] : takeArgs(taker);
    const args = [keys.eventChannel, ...taking, judged ?? "", ...offerArgs(batch)];
    const call = link.run(OFFER, base, args).then(listOf);
    if (taker !== undefined) {
      taker.taken = call.then(([refused, taken]) => {
        const offered = offeredOf(batch, refused);
        const own = batch.filter((_, index) => offered[index]?.result === "accepted");
        return takenOf(taker, taken, wakesBefore, own);
      });
      const wake = () => void wakeups.wakeOne("events");
      taker.taken.then(wake, wake);
    }
    const [refused] = await call;
    return refused === "stale" ? await offerStale(batch) : offeredOf(batch, refused);
  }

  /** Leaves out those that were judged by another version of the manifests than this one. */
  async function offerStale(batch: Offer[], version?: Version): Promise<Offered[]> {
    const isStale = ([, , , judged]: Offer) => judged !== undefined && judged !== version;
    const rest = batch.filter((offer) => !isStale(offer));
    const offered = rest.length === 0 ? [] : await offerAll(rest);
    return batch.map((offer): Offered =>
      isStale(offer) ? { result: "stale", id: offer[0].id } : offered.shift() as Offered
    );
  }

  /** Those that come while a call is under way go together with the next one. */
  const offers = new CallBatches(MAX_OFFERS, offerAll);

  /** Ends that wait for a call to go with. */
  const ends: { deliveries: Delivery[]; resolve: (written: Promise<unknown>) => void }[] = [];
  let endTimer: ReturnType<typeof setTimeout> | undefined;

  function writeEnds(): void {
    clearTimeout(endTimer);
    endTimer = undefined;
    for (const { deliveries, resolve } of ends.splice(0)) {
      resolve(link.run(FINISH, base, finishArgs(deliveries)));
    }
  }

  return {
    offer: (...offer) => offers.add(offer),

    async take(worker, max, claimAfterMs, waitMs, signal) {
      await untilClosed(context, hear());
      const deadline = performance.now() + waitMs;
      const taker = { worker, max, claimAfterMs };
      const looked = async () => await untilClosed(context, look(taker, deadline, signal)) ?? [];
      if (waitMs <= 0) return await looked();
      while (!signal.aborted && !context.isClosed() && performance.now() < deadline) {
        if (isLooking) {
          await wakeups.wait(["event turn"], deadline - performance.now(), signal);
          continue;
        }
        isLooking = true;
        try {
          return await looked();
        } finally {
          isLooking = false;
          wakeups.wakeOne("event turn");
        }
      }
      // The turn may have come too late for this one.
      if (!isLooking) wakeups.wakeOne("event turn");
      return [];
    },

    async finish(deliveries) {
      const readable = await unreadable.bury(deliveries);
      for (let at = 0; at < readable.length; at += MAX_ENDS) {
        const some = readable.slice(at, at + MAX_ENDS);
        await new Promise((resolve) => {
          ends.push({ deliveries: some, resolve });
          endTimer ??= setTimeout(writeEnds, END_WAIT_MS);
        });
      }
    },
  };
}

/** What became of offers, some of which a script refused. */
function offeredOf(batch: Offer[], refused: unknown): Offered[] {
  const offered = batch.map(([{ id }]): Offered => ({ result: "accepted", id }));
  const list = listOf(refused);
  for (let at = 0; at + 2 < list.length; at += 3) {
    const result = list[at + 1] as Offered["result"];
    offered[Number(list[at]) - 1] = { result, id: String(list[at + 2]) };
  }
  return offered;
}

/** The highest version; undefined of none. */
function newest(versions: Version[]): Version | undefined {
  return versions.reduce<Version | undefined>(
    (high, one) => high !== undefined && Number(high) >= Number(one) ? high : one,
    undefined,
  );
}

/** How events are told to the script that puts them into the queue. */
function offerArgs(offers: Offer[]): string[] {
  const runs = runsOf(offers.map(([event, bound]) => [String(bound), event.namespace]));
  const args = [String(offers.length), ...runs];
  for (const [event] of offers) args.push(event.id);
  for (const [event] of offers) args.push(contentOf(event));
  for (const [event] of offers) args.push(String(event.receivedAt));
  offers.forEach(([, , dedupe], index) => {
    if (dedupe === undefined) return;
    const expiresAt = Math.max(1, Math.trunc(dedupe.expiresAt));
    args.push(String(index + 1), dedupe.key, dedupe.fingerprint, String(expiresAt));
  });
  return args;
}

/** How ends are told to the script that writes them. */
function finishArgs(deliveries: Delivery[]): string[] {
  const args = runsOf(deliveries.map(({ namespace, state }) => [namespace, state]));
  for (const { id } of deliveries) args.push(id);
  for (const one of deliveries) args.push(String(one.receivedAt), JSON.stringify(one));
  return args;
}

/** What those beside each other have in common is told once: number of runs, then length and facts of each. */
function runsOf(facts: [string, string][]): string[] {
  const runs: { length: number; first: string; second: string }[] = [];
  for (const [first, second] of facts) {
    const last = runs.at(-1);
    if (last?.first === first && last.second === second) last.length++;
    else runs.push({ length: 1, first, second });
  }
  const told = runs.flatMap(({ length, first, second }) => [String(length), first, second]);
  return [String(runs.length), ...told];
}
