/**
 * Callbacks that came before their step. They are kept in the store until the step waits or their time is over. The replica
 * that owns an event by rendezvous hashing tries its callbacks when their workflow changes, and every few seconds. Two owners
 * for a moment do no harm, because a callback has an idempotency key.
 */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import { hashText } from "../../actors/actor_ids.ts";
import { ownerOf } from "../../actors/replicas/rendezvous.ts";
import type { Identity } from "../../auth/port.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { CallbackRequest } from "../../events/match.ts";
import { Pause } from "../../platform/clock.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { type Change, VersionTooOld } from "../../store/port.ts";
import type { Delivery } from "../../store/event_port.ts";
import { manifestPages } from "../../store/manifest_pages.ts";
import { eventCaller } from "./caller.ts";
import type { ServiceDeps } from "../deps.ts";
import { isTransient } from "../problem_kinds.ts";
import { callBack, newGroupSteps } from "./callbacks.ts";
import type { GroupSteps } from "./group_steps.ts";
import { eventKey } from "./identity.ts";

const KIND = ManifestKind.WaitingCallback;
/** Callbacks that may wait in one namespace. */
const MAX_WAITING = 1_000;
const LOOK_EVERY_MS = 2_000;

/** A callback that waits, as it is stored. */
export interface WaitingCallback {
  event: string;
  binding: string;
  request: CallbackRequest;
  sender: Identity;
  /** Epoch ms. */
  expiresAt: number;
}

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

function nameOf({ event, binding, request }: WaitingCallback): string {
  return `${event}.${binding}.${request.action}`;
}

/** Tries the callbacks that wait until the signal aborts. */
export async function runWaitingCallbacks(
  deps: ServiceDeps,
  replica: string,
  signal: AbortSignal,
): Promise<void> {
  const pause = new Pause(deps.clock);
  let following: AbortController | undefined;
  while (!signal.aborted) {
    try {
      const isWaiting = await tryAll(deps, replica);
      // Reading the feed has a cost, so it is read only while something waits.
      if (isWaiting && following === undefined) {
        following = new AbortController();
        void followChanges(deps, AbortSignal.any([signal, following.signal]), pause.end);
      } else if (!isWaiting) {
        following?.abort();
        following = undefined;
      }
    } catch (error) {
      deps.log.warn({ err: error }, "waiting callbacks could not be tried");
    }
    await pause.take(LOOK_EVERY_MS, signal);
  }
  following?.abort();
}

/** Calls `wake` when a step may have begun to wait. */
async function followChanges(
  { store, clock, log }: ServiceDeps,
  signal: AbortSignal,
  wake: () => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const batch of store.query.watch(undefined, signal)) {
        if (batch.some(isOfInterest)) wake();
      }
    } catch (error) {
      if (!(error instanceof VersionTooOld)) log.warn({ err: error }, "watch failed");
      await clock.sleep(LOOK_EVERY_MS, signal);
    }
  }
}

function isOfInterest({ id, put }: Change): boolean {
  if (id.startsWith(`${KIND}/`)) return true;
  return id.startsWith("wf/") &&
    Object.values(put).some((text) => text.includes('"Suspend"') && text.includes('"Running"'));
}

/** Tries all callbacks that wait. @returns false when nothing waits */
async function tryAll(deps: ServiceDeps, replica: string): Promise<boolean> {
  const { store, log } = deps;
  let replicas: readonly string[] | undefined;
  const groups = newGroupSteps(deps);
  for await (const { items } of manifestPages(store.manifests, KIND)) {
    if (items.length === 0) break;
    replicas ??= await store.membership.replicas();
    for (const { namespace, name, text } of items) {
      const waiting = parseWaiting(text);
      if (waiting === undefined) {
        log.warn({ namespace, name }, "a callback that waits cannot be read; it is removed");
        await store.manifests.remove(KIND, namespace, name);
        continue;
      }
      const owner = ownerOf(hashText(waiting.event), replicas);
      if (owner !== undefined && owner !== replica) continue;
      try {
        await tryOne(deps, namespace, name, waiting, groups);
      } catch (error) {
        // It is tried again; the others go on.
        log.warn({ namespace, name, err: error }, "a waiting callback could not be tried");
      }
    }
  }
  return replicas !== undefined;
}

async function tryOne(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  waiting: WaitingCallback,
  groups: GroupSteps,
): Promise<void> {
  const { store, log } = deps;
  const outcome = await outcomeOf(deps, namespace, waiting, groups);
  if (outcome === undefined) return;
  const { event, binding } = waiting;
  const delivery = await store.events.delivery(namespace, event);
  // While the event is in the queue, the record that is written at its end would replace this one.
  if (delivery?.state === "queued") return;
  if (delivery !== undefined) await store.events.amend(withOutcome(delivery, binding, outcome));
  await store.manifests.remove(KIND, namespace, name);
  log.info({ namespace, event, binding, ...outcome }, "waiting callback ended");
}

/** What a callback came to; undefined while it waits. */
async function outcomeOf(
  deps: ServiceDeps,
  namespace: string,
  { event, binding, request, sender, expiresAt }: WaitingCallback,
  groups: GroupSteps,
): Promise<Omit<Delivery["bindings"][number], "binding"> | undefined> {
  try {
    const caller = eventCaller(deps, sender);
    const key = eventKey(event, binding);
    const names = await callBack(deps, caller, namespace, request, { key, groups });
    if (names.length > 0) {
      const outcome = request.action === "resume" ? "resumed" : "stopped";
      return { outcome, workflow: names.join(", ") };
    }
    if (deps.clock.now() < expiresAt) return undefined;
    return { outcome: "error", message: `no step waited within its time: ${described(request)}` };
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    return isTransient(error) ? undefined : { outcome: "error", message: error.message };
  }
}

/** Reads a stored callback; undefined when the text is not one. */
function parseWaiting(text: string): WaitingCallback | undefined {
  const waiting = parseOrUndefined(text);
  if (!isJsonObject(waiting)) return undefined;
  const { event, binding, request, sender, expiresAt } = waiting;
  const isWaiting = typeof event === "string" && typeof binding === "string" &&
    isJsonObject(request) && isJsonObject(sender) && Number.isFinite(expiresAt);
  return isWaiting ? waiting as unknown as WaitingCallback : undefined;
}

/** A callback in words, for messages. */
export function described({ workflow, labelSelector, nodeFieldSelector }: CallbackRequest): string {
  const place = workflow === undefined ? `workflows with ${labelSelector}` : `workflow ${workflow}`;
  return `${nodeFieldSelector} of ${place}`;
}

function withOutcome(
  delivery: Delivery,
  binding: string,
  outcome: Omit<Delivery["bindings"][number], "binding">,
): Delivery {
  const bindings = delivery.bindings.map((one) =>
    one.binding === binding && one.outcome === "waiting" ? { binding, ...outcome } : one
  );
  return { ...delivery, bindings };
}
