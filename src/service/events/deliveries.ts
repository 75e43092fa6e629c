/** What became of accepted events: reading the records, and replaying dead letters. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { invalid, notFound, Problem, ProblemCode, unavailable } from "../../base/problem.ts";
import type { Delivery } from "../../store/event_port.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { type EventEnvelope, queueBound, readEnvelope } from "./intake.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";

const { resource: BINDINGS } = MANIFEST_RESOURCES.WorkflowEventBinding;
const STATES: readonly string[] = ["queued", "done", "dead"] satisfies Delivery["state"][];
const MAX_PAGE = 500;
/** Dead letters that one bulk replay looks at. */
const MAX_REPLAY_SCAN = 100_000;

export interface DeliveryListRequest {
  namespace: string;
  /** `queued`, `done` or `dead`; "" = all. */
  state: string;
  /** 0 asks for the most that a page holds, 500. */
  limit: number;
  continue: string;
}

/** Lists the records of a namespace, newest first. Namespace "" has unreadable events whose namespace is not known. */
export async function listDeliveries(
  deps: ServiceDeps,
  caller: Caller,
  { namespace, state, limit, ...request }: DeliveryListRequest,
): Promise<{ items: Delivery[]; continue?: string }> {
  await requireAccess(caller, { verb: "list", resource: BINDINGS, namespace });
  if (state !== "" && !STATES.includes(state)) {
    throw invalid(`state is "${state}", expected ${STATES.join(", ")}`);
  }
  const page = await deps.store.events.deliveries({
    namespace,
    limit: limit > 0 ? Math.min(limit, MAX_PAGE) : MAX_PAGE,
    ...(state !== "" && { state: state as Delivery["state"] }),
    ...(request.continue !== "" && { continue: request.continue }),
  });
  // An event without a namespace cannot be read by its id, so the list shows its bytes.
  return { ...page, items: page.items.map(namespace === "" ? shown : listed) };
}

/** Reads one record. */
export async function getDelivery(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  id: string,
): Promise<Delivery> {
  await requireAccess(caller, { verb: "get", resource: BINDINGS, namespace });
  return shown(await readDelivery(deps, namespace, id));
}

async function readDelivery(deps: ServiceDeps, namespace: string, id: string): Promise<Delivery> {
  const delivery = id === "" ? undefined : await deps.store.events.delivery(namespace, id);
  if (delivery === undefined) throw notFound(`event delivery "${id}" not found`);
  return delivery;
}

/**
 * A record without the stored event, whose payload may hold what not every reader should see. The bytes of an unreadable
 * event are shown, because there is no other way to find out what it was.
 */
function shown({ event: _, ...delivery }: Delivery): Delivery {
  return delivery;
}

function listed({ unreadable: _, ...delivery }: Delivery): Delivery {
  return shown(delivery);
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
      limit: MAX_PAGE,
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
