/** The event that a delivery record keeps, and why each binding selects it or not. */
import type { Caller, Identity } from "../../auth/port.ts";
import type { Json } from "../../base/json.ts";
import { notFound } from "../../base/problem.ts";
import { explainSelector } from "../../events/explain.ts";
import { type ConditionPart, HIDDEN } from "../../expr/templates/explain.ts";
import { Turns } from "../../platform/turns.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import {
  bindEvent,
  type EventDispatch,
  failedOutcome,
  inputOf,
  runOf,
  UNREADABLE_BINDING,
} from "./binding_runs.ts";
import { BindingSource, type EventBinding } from "./binding_source.ts";
import { eventCaller } from "./caller.ts";
import { readDelivery } from "./deliveries.ts";
import { readEnvelope } from "./intake.ts";

/** Bindings of one event that are explained; those of its record come first. */
const MAX_EXPLAINED = 100;
/** Headers whose values are credentials: some senders prove themselves by nothing else. An author is none. */
const SECRET_HEADER =
  /token|secret|password|passwd|credential|api-?key|auth(?!or(?!i))|cookie|hook-uuid/;

/** Why a binding, as it is stored now, selects an event or not. */
export interface BindingVerdict {
  binding: string;
  verdict: "selected" | "not-selected" | "error";
  /** The parts of its selector; absent if it does not compile. */
  selector?: ConditionPart;
  message?: string;
}

export interface ExplainedEvent {
  payload: Json;
  /** Headers that begin with `x-`, and attributes of a CloudEvent as `ce-NAME`. The values of those that hold credentials are replaced. */
  metadata: Record<string, string[]>;
  /** Who sent it; what it leads to is done with the rights of this identity. */
  sender: Identity;
  bindings: BindingVerdict[];
  /** Bindings of the namespace that are not explained, because there are too many. */
  unexplained: number;
}

/**
 * Shows the event of a delivery, and explains it by the bindings that are stored now. Needs the right to update bindings:
 * who has it can replay the event through a binding of their own, and so see it anyway.
 *
 * @throws {Problem} NotFound when there is no such record, or it does not keep the event
 */
export async function explainDelivery(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  id: string,
): Promise<ExplainedEvent> {
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  await requireAccess(caller, { verb: "update", resource, namespace });
  const delivery = await readDelivery(deps, namespace, id);
  const text = delivery.event ?? "";
  const envelope = readEnvelope(text);
  if (envelope === undefined) {
    throw notFound(
      `the event of delivery "${id}" is not kept: only dead letters and a sample of the others keep it (--kept-event-rate)`,
    );
  }
  const { payload, metadata, sender } = envelope;
  const { discriminator, receivedAt, attempts } = delivery;
  const dispatch: EventDispatch = {
    deps,
    event: { id, namespace, discriminator, text, receivedAt, attempts },
    envelope,
    caller: eventCaller(deps, sender),
    isRepeat: true,
  };
  const outcomes = new Map(delivery.bindings.map(({ binding, outcome }) => [binding, outcome]));
  const all = await new BindingSource(deps.store.manifests, deps.log).of({ namespace });
  // A record names hundreds that did not match; whoever looks at it asks first about those that did something, or failed.
  const rank = ({ metadata: { name = "" } }: EventBinding) => {
    const outcome = outcomes.get(name);
    return outcome === undefined ? 2 : outcome === "not-matched" ? 1 : 0;
  };
  const explained = [...all].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_EXPLAINED);
  const bindings: BindingVerdict[] = [];
  const turns = new Turns();
  for (const binding of explained) {
    bindings.push(verdictOf(dispatch, binding));
    await turns.pause();
  }
  return {
    payload,
    metadata: withoutSecrets(metadata),
    sender,
    bindings,
    unexplained: all.length - explained.length,
  };
}

function verdictOf(dispatch: EventDispatch, binding: EventBinding): BindingVerdict {
  const { name = "" } = binding.metadata;
  if (binding.unreadable === true) {
    return { binding: name, verdict: "error", message: UNREADABLE_BINDING };
  }
  const { envelope } = dispatch;
  const hasSecrets = Object.keys(envelope.metadata).some((header) => SECRET_HEADER.test(header));
  const shown = { ...envelope, metadata: withoutSecrets(envelope.metadata) };
  const open = hasSecrets ? inputOf({ ...dispatch, envelope: shown }) : undefined;
  const selector = explainSelector(inputOf(dispatch), binding, runOf(dispatch, binding), open);
  const explained = { binding: name, ...(selector && { selector }) };
  try {
    const isSelected = bindEvent(dispatch, binding).isSelected();
    return { ...explained, verdict: isSelected ? "selected" : "not-selected" };
  } catch (error) {
    const { message = "" } = failedOutcome(dispatch, name, error);
    return { ...explained, verdict: "error", message };
  }
}

/** What the parts of a binding's selector say about an event that its caller has given. */
export function explanationOf(
  dispatch: EventDispatch,
  binding: EventBinding,
): ConditionPart | undefined {
  return explainSelector(inputOf(dispatch), binding, runOf(dispatch, binding));
}

function withoutSecrets(metadata: Record<string, string[]>): Record<string, string[]> {
  return Object.fromEntries(
    Object.entries(metadata).map(([name, values]) => [
      name,
      SECRET_HEADER.test(name) ? values.map(() => HIDDEN) : values,
    ]),
  );
}
