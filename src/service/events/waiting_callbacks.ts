/**
 * Callbacks that came before their step. They are kept in the store until the step waits or their time is over. The replica
 * that owns an event by rendezvous hashing tries its callbacks when a step begins to wait that they choose, and every half
 * minute in case that went unnoticed. Two owners for a moment do no harm, because a callback has an idempotency key.
 */
import { hashText } from "../../actors/actor_ids.ts";
import { ownerOf } from "../../actors/replicas/rendezvous.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { CallbackRequest } from "../../events/match.ts";
import { Pause, untilBeat } from "../../platform/clock.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { VersionTooOld } from "../../store/port.ts";
import type { Delivery } from "../../store/event_port.ts";
import { manifestPages } from "../../store/manifest_pages.ts";
import { reportOutcomes } from "./binding_reports.ts";
import { eventCaller } from "./caller.ts";
import { tellOfDeadEvent } from "./dead_events.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { CallbackLookout, type KnownCallback, type WaitingCallback } from "./callback_lookout.ts";
import { callBack, newGroupSteps } from "./callbacks.ts";
import type { GroupSteps } from "./group_steps.ts";
import { eventKey } from "./identity.ts";
import type { KeepEvent } from "./kept_events.ts";

type BindingOutcome = Delivery["bindings"][number];

const KIND = ManifestKind.WaitingCallback;
/** Callbacks that may wait in one namespace. */
const MAX_WAITING = 1_000;
const LOOK_EVERY_MS = 2_000;
/** How often all that wait are tried. */
const TRY_ALL_EVERY_MS = 30_000;

/**
 * Keeps a callback until its step waits.
 * @throws {Problem} ResourceExhausted when too many wait
 */
export async function keepWaiting(
  { store }: ServiceDeps,
  namespace: string,
  waiting: WaitingCallback,
): Promise<void> {
  const { items } = await store.manifests.list(KIND, { namespace, limit: MAX_WAITING });
  const name = nameOf(waiting);
  if (items.length >= MAX_WAITING && !items.some((item) => item.name === name)) {
    throw new Problem(
      ProblemCode.ResourceExhausted,
      `${MAX_WAITING} callbacks wait in namespace "${namespace}" already`,
    );
  }
  await store.manifests.put(
    { kind: KIND, namespace, name, text: JSON.stringify(waiting), labels: {} },
    "*",
  );
}

/** Ids of the events whose callbacks wait, by namespace. */
export async function waitingEvents(
  { store }: Pick<ServiceDeps, "store">,
): Promise<Map<string, string[]>> {
  const events = new Map<string, string[]>();
  for await (const { items } of manifestPages(store.manifests, KIND)) {
    for (const { namespace, name } of items) {
      const known = events.get(namespace) ?? [];
      events.set(namespace, known);
      // The id of an event has no dot.
      known.push(name.split(".", 1)[0] ?? "");
    }
  }
  return events;
}

function nameOf({ event, binding, request }: WaitingCallback): string {
  return `${event}.${binding}.${request.action}`;
}

/**
 * Tries the callbacks that wait until the signal aborts.
 * @param keeps whether the record keeps an event whose callbacks have come to a good end
 */
export async function runWaitingCallbacks(
  deps: ServiceDeps,
  replica: string,
  signal: AbortSignal,
  keeps: KeepEvent = () => false,
): Promise<void> {
  const { clock, host, log } = deps;
  const pause = new Pause(clock);
  const lookout = new CallbackLookout((event) => {
    const owner = ownerOf(hashText(event), host.replicas);
    return owner === undefined || owner === replica;
  });
  let lookAt = -Infinity;
  let owners = "";
  let following: AbortController | undefined;
  while (!signal.aborted) {
    try {
      if (clock.monotonic() >= lookAt || owners !== host.replicas.join(" ")) {
        owners = host.replicas.join(" ");
        lookAt = clock.monotonic() + TRY_ALL_EVERY_MS;
        const isAny = await lookAtAll(deps, lookout);
        if (!isAny) lookAt = -Infinity;
        // Reading the feed has a cost, so it is read only while something waits.
        if (isAny && following === undefined) {
          following = new AbortController();
          const ending = AbortSignal.any([signal, following.signal]);
          void followChanges(deps, lookout, ending, pause.end, () => lookAt = -Infinity);
        } else if (!isAny) {
          following?.abort();
          following = undefined;
        }
      }
      await tryThoseDue(deps, lookout, keeps);
    } catch (error) {
      log.warn({ err: error }, "waiting callbacks could not be tried");
      lookAt = -Infinity;
    }
    await pause.take(untilBeat(clock.monotonic(), LOOK_EVERY_MS), signal);
  }
  following?.abort();
}

/** Learns from the feed. @param wake some are due now. @param lost what happened before must be looked for */
async function followChanges(
  { store, clock, log }: ServiceDeps,
  lookout: CallbackLookout,
  signal: AbortSignal,
  wake: () => void,
  lost: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      const version = await store.query.version();
      lost();
      wake();
      for await (const batch of store.query.watch(version, signal)) {
        let isAnyDue = false;
        for (const change of batch) if (lookout.note(change)) isAnyDue = true;
        if (isAnyDue) wake();
      }
    } catch (error) {
      if (!(error instanceof VersionTooOld)) log.warn({ err: error }, "watch failed");
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}

/** Makes all that are stored due, and forgets the others. @returns false when nothing waits on any replica */
async function lookAtAll({ store, log }: ServiceDeps, lookout: CallbackLookout): Promise<boolean> {
  let isAny = false;
  const gone = lookout.keys();
  for await (const { items } of manifestPages(store.manifests, KIND)) {
    for (const { namespace, name, text } of items) {
      gone.delete(`${namespace}/${name}`);
      if (lookout.add(namespace, name, text)) isAny = true;
      else {
        log.warn({ namespace, name }, "a callback that waits cannot be read; it is removed");
        await store.manifests.remove(KIND, namespace, name);
      }
    }
  }
  for (const key of gone) lookout.forget(key);
  return isAny;
}

async function tryThoseDue(
  deps: ServiceDeps,
  lookout: CallbackLookout,
  keeps: KeepEvent,
): Promise<void> {
  const { clock, log } = deps;
  const groups = newGroupSteps(deps);
  for (const known of lookout.takeDue(clock.monotonic(), clock.now())) {
    const { namespace, name } = known;
    try {
      const state = await tryOne(deps, known, groups, keeps);
      if (state === "ended") lookout.forget(`${namespace}/${name}`);
      else if (state === "undecided") lookout.tryAgain(known);
    } catch (error) {
      // It is tried again; the others go on.
      log.warn({ namespace, name, err: error }, "a waiting callback could not be tried");
      lookout.tryAgain(known);
    }
  }
}

/** @returns `undecided` when it must be tried again although nothing changes */
async function tryOne(
  deps: ServiceDeps,
  { namespace, name, waiting }: KnownCallback,
  groups: GroupSteps,
  keeps: KeepEvent,
): Promise<"waits" | "undecided" | "ended"> {
  const { store } = deps;
  const outcome = await outcomeOf(deps, namespace, waiting, groups);
  if (typeof outcome === "string") return outcome;
  const { event, binding } = waiting;
  const delivery = await store.events.delivery(namespace, event);
  // While the event is in the queue, the record that is written at its end would replace this one.
  if (delivery?.state === "queued") return "undecided";
  const amended = delivery && withOutcome(delivery, { binding, ...outcome }, keeps);
  const hasDied = amended?.state === "dead" && delivery?.state !== "dead";
  if (hasDied) await tellOfDeadEvent(deps, amended);
  if (amended !== undefined) await store.events.amend(amended);
  await store.manifests.remove(KIND, namespace, name);
  if (hasDied) deps.eventMetrics?.deadLetters.inc();
  await reportOutcomes({ deps, event: { id: event, namespace } }, [{ binding, ...outcome }]);
  return "ended";
}

/** What a callback came to, if it has ended. */
async function outcomeOf(
  deps: ServiceDeps,
  namespace: string,
  { event, binding, request, sender, expiresAt }: WaitingCallback,
  groups: GroupSteps,
): Promise<Omit<BindingOutcome, "binding"> | "waits" | "undecided"> {
  try {
    const caller = eventCaller(deps, sender);
    const key = eventKey(event, binding);
    const names = await callBack(deps, caller, namespace, request, { key, groups });
    if (names.length > 0) {
      const outcome = request.action === "resume" ? "resumed" : "stopped";
      return { outcome, workflow: names.join(", ") };
    }
    if (deps.clock.now() < expiresAt) return "waits";
    return { outcome: "error", message: `no step waited within its time: ${described(request)}` };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return isTransient(error) ? "undecided" : { outcome: "error", message: error.message };
  }
}

/** A callback in words, for messages. */
export function described({ workflow, labelSelector, nodeFieldSelector }: CallbackRequest): string {
  const place = workflow === undefined ? `workflows with ${labelSelector}` : `workflow ${workflow}`;
  return `${nodeFieldSelector} of ${place}`;
}

/** The record with the end of a callback. If that is an error, the event is a dead letter, as for any other error. */
function withOutcome(
  { event, ...delivery }: Delivery,
  ended: BindingOutcome,
  keeps: KeepEvent,
): Delivery {
  const bindings = delivery.bindings.map((one) =>
    one.binding === ended.binding && one.outcome === "waiting" ? ended : one
  );
  const state = bindings.some(({ outcome }) => outcome === "error") ? "dead" : delivery.state;
  const amended: Delivery = { ...delivery, state, bindings };
  const isOpen = state === "dead" || bindings.some(({ outcome }) => outcome === "waiting");
  const isKept = event !== undefined &&
    (isOpen || keeps({ namespace: delivery.namespace, text: event }));
  return isKept ? { ...amended, event } : amended;
}
