/** What bindings have done lately, as the delivery records tell it: the way of an event pays nothing for it. */
import type { Caller } from "../../auth/port.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import type { Delivery } from "../../store/event_port.ts";
import { RECORDS_AT_ONCE } from "./deliveries.ts";

/** Newest records that are looked at. */
const MAX_RECORDS = 1_000;
/** Most bindings that are told; those that did something last come first. */
const MAX_BINDINGS = 2_000;

/** One thing that a binding did. */
export interface BindingDeed {
  /** Of the event. */
  id: string;
  /** When the event came, epoch ms. */
  receivedAt: number;
  outcome: Delivery["bindings"][number]["outcome"];
  workflow?: string;
  message?: string;
}

export interface BindingActivity {
  namespace: string;
  binding: string;
  /** Events that it matched, and events with which it failed, among the records. */
  matched: number;
  failed: number;
  lastMatch?: BindingDeed;
  lastError?: BindingDeed;
}

export interface ActivityReport {
  bindings: BindingActivity[];
  /** Records that were looked at. */
  looked: number;
  /** When the event of the oldest of them came, epoch ms; absent: there is none. */
  since?: number;
}

/** Tells what the bindings of a namespace, or of all ("") have done with the newest events. */
export async function bindingActivity(
  { store }: ServiceDeps,
  caller: Caller,
  namespace: string,
): Promise<ActivityReport> {
  const { resource } = MANIFEST_RESOURCES.WorkflowEventBinding;
  await requireAccess(caller, { verb: "list", resource, namespace });
  const known = new Map<string, BindingActivity>();
  let looked = 0;
  let since: number | undefined;
  let next: string | undefined;
  do {
    const page = await store.events.deliveries({
      limit: RECORDS_AT_ONCE,
      ...(namespace !== "" && { namespace }),
      ...(next !== undefined && { continue: next }),
    });
    for (const delivery of page.items) {
      note(known, delivery);
      since = delivery.receivedAt;
    }
    looked += page.items.length;
    next = page.continue;
  } while (next !== undefined && looked < MAX_RECORDS);
  return { bindings: [...known.values()], looked, ...(since !== undefined && { since }) };
}

/** Newer records are noted before older ones. */
function note(known: Map<string, BindingActivity>, delivery: Delivery): void {
  const { id, namespace, receivedAt } = delivery;
  for (const { binding, outcome, workflow, message } of delivery.bindings) {
    const key = `${namespace}/${binding}`;
    // A record without a name is about the event as a whole.
    if (binding === "" || outcome === "not-matched") continue;
    if (!known.has(key) && known.size >= MAX_BINDINGS) continue;
    const entry = known.get(key) ?? { namespace, binding, matched: 0, failed: 0 };
    known.set(key, entry);
    const deed = {
      id,
      receivedAt,
      outcome,
      ...(workflow !== undefined && { workflow }),
      ...(message !== undefined && { message }),
    };
    if (outcome === "error") {
      entry.failed++;
      entry.lastError ??= deed;
    } else {
      entry.matched++;
      entry.lastMatch ??= deed;
    }
  }
}
