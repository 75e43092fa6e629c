/** What became of accepted events: reading the records, and replaying dead letters. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, notFound, Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import { deliveryPosition } from "../../store/delivery_record.ts";
import type { Delivery, EventStore } from "../../store/event_port.ts";
import { continueAfter } from "../../store/list_query.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { type EventEnvelope, queueBound, readEnvelope } from "./intake.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";

const { resource: BINDINGS } = MANIFEST_RESOURCES.WorkflowEventBinding;
const STATES: readonly string[] = ["queued", "done", "dead"] satisfies Delivery["state"][];
const MAX_PAGE = 500;
/** Records that a page with filters looks at. */
const MAX_FILTER_SCAN = 2_000;
/** Records that are read at once: a dead letter may hold an event of a megabyte, and only the rest of it is kept. */
export const RECORDS_AT_ONCE = 50;
/** Dead letters that one bulk replay looks at. */
const MAX_REPLAY_SCAN = 100_000;

export interface DeliveryListRequest {
  /** "" for all namespaces. */
  namespace: string;
  /** `queued`, `done` or `dead`; "" = all. */
  state: string;
  /** Only events that were sent to this one; absent: all. */
  discriminator?: string;
  /** Only events with which this binding did something, or failed; absent: all. */
  binding?: string;
  /** 0 asks for the most that a page holds, 500. */
  limit: number;
  continue: string;
}

/** A record as callers see it. */
export type ShownDelivery = Omit<Delivery, "event"> & {
  /** The event is kept: `explainDelivery` shows it. */
  hasEvent?: true;
};

export interface DeliveryPage {
  items: ShownDelivery[];
  continue?: string;
}

/**
 * Lists records, newest first. A page that has looked at enough of them ends, with a token to go on from. Unreadable events
 * whose namespace is not known are only in the list of all namespaces.
 */
export async function listDeliveries(
  deps: ServiceDeps,
  caller: Caller,
  request: DeliveryListRequest,
): Promise<DeliveryPage> {
  const { namespace, state, discriminator, binding } = request;
  await requireAccess(caller, { verb: "list", resource: BINDINGS, namespace });
  if (state !== "" && !STATES.includes(state)) {
    throw invalid(`state is "${state}", expected ${STATES.join(", ")}`);
  }
  const limit = request.limit > 0 ? Math.min(request.limit, MAX_PAGE) : MAX_PAGE;
  const isFiltered = discriminator !== undefined || binding !== undefined;
  const items: ShownDelivery[] = [];
  let next: string | undefined = request.continue || undefined;
  let looked = 0;
  do {
    const page: Awaited<ReturnType<EventStore["deliveries"]>> = await deps.store.events.deliveries({
      limit: isFiltered ? RECORDS_AT_ONCE : Math.min(RECORDS_AT_ONCE, limit - items.length),
      ...defined({
        namespace: namespace || undefined,
        state: (state || undefined) as Delivery["state"] | undefined,
        continue: next,
      }),
    });
    looked += page.items.length;
    next = page.continue;
    for (const [index, delivery] of page.items.entries()) {
      if (!isAbout(delivery, discriminator, binding)) continue;
      // An event without a namespace cannot be read by its id, so the list shows its bytes.
      items.push(delivery.namespace === "" ? shown(delivery) : listed(delivery));
      if (items.length < limit) continue;
      const isLast = index === page.items.length - 1;
      return { items, ...defined({ continue: isLast ? next : tokenAfter(delivery) }) };
    }
  } while (next !== undefined && looked < MAX_FILTER_SCAN);
  return { items, ...defined({ continue: next }) };
}

function tokenAfter(delivery: Delivery): string {
  return continueAfter(deliveryPosition(delivery));
}

function isAbout(
  delivery: Delivery,
  discriminator: string | undefined,
  binding: string | undefined,
): boolean {
  return (discriminator === undefined || delivery.discriminator === discriminator) &&
    (binding === undefined ||
      delivery.bindings.some((one) => one.binding === binding && one.outcome !== "not-matched"));
}

/** Reads one record. */
export async function getDelivery(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  id: string,
): Promise<ShownDelivery> {
  await requireAccess(caller, { verb: "get", resource: BINDINGS, namespace });
  return shown(await readDelivery(deps, namespace, id));
}

/** @throws {Problem} NotFound */
export async function readDelivery(
  deps: ServiceDeps,
  namespace: string,
  id: string,
): Promise<Delivery> {
  const delivery = id === "" ? undefined : await deps.store.events.delivery(namespace, id);
  if (delivery === undefined) throw notFound(`event delivery "${id}" not found`);
  return delivery;
}

/**
 * A record without the stored event, whose payload may hold what not every reader should see. The bytes of an unreadable
 * event are shown, because there is no other way to find out what it was.
 */
function shown({ event, ...delivery }: Delivery): ShownDelivery {
  return event === undefined ? delivery : { ...delivery, hasEvent: true };
}

/** A list tells only how many bytes there are. */
function listed({ unreadable, ...delivery }: Delivery): ShownDelivery {
  return { ...shown(delivery), ...(unreadable && { unreadable: { bytes: unreadable.bytes } }) };
}

/**
 * Puts a dead letter back into the queue, for the bindings that failed. It keeps the rights of its original sender.
 * @throws {Problem} NotFound, FailedPrecondition when it is not a dead letter, Unavailable when the queue is full
 */
export async function replayDelivery(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  id: string,
): Promise<void> {
  await requireReplay(caller, namespace);
  const delivery = await readDelivery(deps, namespace, id);
  if (!await replay(deps, delivery, queueBound(deps))) {
    throw unavailable("operation queue full");
  }
}

export interface ReplayRequest {
  namespace: string;
  /** Only those with this discriminator. */
  discriminator?: string;
  /** Only those in which this binding failed. */
  binding?: string;
  /** Epoch ms, inclusive. */
  receivedAfter?: number;
  receivedBefore?: number;
}

/**
 * Puts dead letters back into the queue until it is full.
 * @returns how many were put back, and how many matching ones are left for another call
 */
export async function replayDeliveries(
  deps: ServiceDeps,
  caller: Caller,
  request: ReplayRequest,
): Promise<{ replayed: number; remaining: number }> {
  const { namespace } = request;
  await requireReplay(caller, namespace);
  const bound = queueBound(deps);
  let replayed = 0;
  let remaining = 0;
  let isFull = false;
  let next: string | undefined;
  let scanned = 0;
  do {
    const page = await deps.store.events.deliveries({
      namespace,
      state: "dead",
      limit: RECORDS_AT_ONCE,
      ...defined({ continue: next }),
    });
    for (const delivery of page.items) {
      if (!fits(delivery, request) || envelopeOf(delivery) === undefined) continue;
      if (!isFull && await replay(deps, delivery, bound)) replayed++;
      else {
        isFull = true;
        remaining++;
      }
    }
    next = page.continue;
    scanned += page.items.length;
  } while (next !== undefined && scanned < MAX_REPLAY_SCAN);
  return { replayed, remaining };
}

function fits(delivery: Delivery, request: ReplayRequest): boolean {
  const { discriminator, binding, receivedAfter = 0, receivedBefore = Infinity } = request;
  return (discriminator === undefined || delivery.discriminator === discriminator) &&
    (binding === undefined ||
      delivery.bindings.some((one) => one.binding === binding && one.outcome === "error")) &&
    delivery.receivedAt >= receivedAfter && delivery.receivedAt <= receivedBefore;
}

/** The event that a dead letter keeps; undefined when it can't be read. */
function envelopeOf({ event }: Delivery): EventEnvelope | undefined {
  return event === undefined ? undefined : readEnvelope(event);
}

/** @returns false when the queue is full */
async function replay(deps: ServiceDeps, delivery: Delivery, bound: number): Promise<boolean> {
  const { id, namespace, discriminator, receivedAt, size, state } = delivery;
  if (state !== "dead") {
    throw new Problem(ProblemCode.FailedPrecondition, `event delivery "${id}" is ${state}`);
  }
  const envelope = envelopeOf(delivery);
  if (envelope === undefined) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `event delivery "${id}" cannot be replayed: its stored event cannot be read; send the event again`,
    );
  }
  envelope.outcomes = delivery.bindings.filter(({ outcome }) => outcome !== "error");
  const text = JSON.stringify(envelope);
  const { result } = await deps.store.events.offer(
    { id, namespace, discriminator, receivedAt, size, text },
    bound,
  );
  return result !== "full";
}

async function requireReplay(caller: Caller, namespace: string): Promise<void> {
  requireNamespace(namespace);
  await requireAccess(caller, { verb: "update", resource: BINDINGS, namespace });
}

function requireNamespace(namespace: string): void {
  if (namespace === "") throw invalid("the path must name a namespace");
}
