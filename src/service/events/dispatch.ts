/**
 * Dispatches an event of the queue to the bindings of its namespace and decides what becomes of it: it is over, or it is
 * tried again later. Everything may be repeated: names, uids and idempotency keys derive from the event and the binding.
 */
import type { Delivery, QueuedEvent } from "../../store/event_port.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { reportOutcomes } from "./binding_reports.ts";
import { type BindingOutcome, type EventDispatch, runBindings } from "./binding_runs.ts";
import type { BindingSource, EventBinding } from "./binding_source.ts";
import { eventCaller } from "./caller.ts";
import { deadDelivery, deliveryOf, deliveryOfUnreadable } from "./delivery_outcome.ts";
import { EventTrace } from "./event_trace.ts";
import { type EventEnvelope, readEnvelope } from "./intake.ts";
import type { KeepEvent } from "./kept_events.ts";

/** Attempts after which an event is given up. */
export const MAX_ATTEMPTS = 20;
const FIRST_RETRY_MS = 200;
const MAX_RETRY_MS = 60_000;

/** What becomes of an event: it is over, or it comes back after a time. */
export interface Verdict {
  delivery: Delivery;
  retryAfterMs?: number;
}

/**
 * Dispatches an event to the bindings of its namespace; at once if there are none. Rejects only for defects, never for
 * what a binding does.
 * @param keeps whether the record keeps an event that is no dead letter
 */
export function dispatchEvent(
  deps: ServiceDeps,
  bindings: BindingSource,
  event: QueuedEvent,
  keeps: KeepEvent = () => false,
): Verdict | Promise<Verdict> {
  const envelope = readEnvelope(event.text);
  if (envelope === undefined) return { delivery: deliveryOfUnreadable(event) };
  const known = event.attempts === 0 ? bindings.of(event) : undefined;
  if (known === undefined || known instanceof Promise || known.length > 0) {
    return dispatchInTurn(deps, bindings, event, envelope, keeps);
  }
  const trace = deps.traces && new EventTrace(deps.traces, event, envelope);
  const settled = (envelope.outcomes ?? []).filter((one) => one.transient !== true);
  const { delivery } = verdictOf(deps, event, settled, keeps);
  trace?.end(delivery, deps.clock.now());
  return { delivery };
}

async function dispatchInTurn(
  deps: ServiceDeps,
  bindings: BindingSource,
  event: QueuedEvent,
  envelope: EventEnvelope,
  keeps: KeepEvent,
): Promise<Verdict> {
  let earlier: BindingOutcome[] = envelope.outcomes ?? [];
  try {
    if (event.attempts > 0) earlier = await earlierOutcomes(deps, event, envelope);
    const known = bindings.of(event);
    const current = known instanceof Promise ? await known : known;
    const dispatch: EventDispatch = {
      deps,
      event,
      envelope,
      caller: eventCaller(deps, envelope.sender),
      isRepeat: event.attempts > 0 || envelope.outcomes !== undefined,
      trace: deps.traces && new EventTrace(deps.traces, event, envelope),
    };
    const verdict = await dispatchTo(current, dispatch, earlier, keeps);
    if (verdict.retryAfterMs === undefined) dispatch.trace?.end(verdict.delivery, deps.clock.now());
    return verdict;
  } catch (error) {
    if (!isTransient(error)) throw error;
    deps.log.warn({ event: event.id, err: error }, "event not dispatched; it comes back");
    return tryLater(deps, event, earlier, keeps);
  }
}

async function dispatchTo(
  bindings: readonly EventBinding[],
  dispatch: EventDispatch,
  earlier: readonly BindingOutcome[],
  keeps: KeepEvent,
): Promise<Verdict> {
  const { deps, event } = dispatch;
  if (event.attempts >= MAX_ATTEMPTS) {
    const message = `given up after ${event.attempts} attempts`;
    return { delivery: deadDelivery(event, earlier, message) };
  }
  const settled = earlier.filter((one) => one.transient !== true);
  const fresh = bindings.length === 0 ? [] : await runBindings(dispatch, bindings, settled);
  if (fresh.length > 0) await reportOutcomes(dispatch, fresh);
  return verdictOf(deps, event, [...settled, ...fresh], keeps);
}

function verdictOf(
  deps: ServiceDeps,
  event: QueuedEvent,
  outcomes: BindingOutcome[],
  keeps: KeepEvent,
): Verdict {
  if (outcomes.some((outcome) => outcome.transient)) {
    return tryLater(deps, event, outcomes, keeps);
  }
  const state = outcomes.some(({ outcome }) => outcome === "error") ? "dead" : "done";
  const attempts = event.attempts + 1;
  // A callback that waits may fail in the end, and then the event is a dead letter.
  const isKept = outcomes.some(({ outcome }) => outcome === "waiting") || keeps(event);
  return { delivery: deliveryOf(event, outcomes, { state, attempts }, isKept) };
}

/** The event is tried again later, unless it has been tried often enough. */
function tryLater(
  deps: ServiceDeps,
  event: QueuedEvent,
  outcomes: BindingOutcome[],
  keeps: KeepEvent,
): Verdict {
  const attempts = event.attempts + 1;
  if (attempts >= MAX_ATTEMPTS) {
    return { delivery: deadDelivery(event, outcomes, `given up after ${attempts} attempts`) };
  }
  const delivery = deliveryOf(event, outcomes, { state: "queued", attempts }, keeps(event));
  const wait = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** event.attempts);
  const retryAfterMs = wait * (0.5 + deps.ids.fraction());
  const retryAt = Math.round(deps.clock.now() + retryAfterMs);
  return { delivery: { ...delivery, retryAt }, retryAfterMs };
}

/** What earlier attempts have settled. */
async function earlierOutcomes(
  deps: ServiceDeps,
  event: QueuedEvent,
  envelope: EventEnvelope,
): Promise<BindingOutcome[]> {
  const recorded = await deps.store.events.delivery(event.namespace, event.id);
  // When the record cannot be read, all bindings run again, which makes nothing twice.
  const known = recorded?.unreadable === undefined ? recorded?.bindings ?? [] : [];
  return [...new Map([...envelope.outcomes ?? [], ...known].map((one) => [one.binding, one]))
    .values()];
}
