/** Arguments and results of the scripts of the event queue. */
import type { Delivery, EventStore } from "../../event_port.ts";
import type { Version } from "../../version.ts";
import { contentOf } from "./content.ts";
import { listOf } from "../replies.ts";

/** The arguments of `EventStore.offer`. */
export type Offer = Parameters<EventStore["offer"]>;
/** The outcome of an offer. */
export type Offered = Awaited<ReturnType<EventStore["offer"]>>;

/** The outcomes of offers, from what the script says about those that it refused. */
export function offeredOf(batch: Offer[], refused: unknown): Offered[] {
  const offered = batch.map(([{ id }]): Offered => ({ result: "accepted", id }));
  const list = listOf(refused);
  for (let at = 0; at + 2 < list.length; at += 3) {
    const result = list[at + 1] as Offered["result"];
    offered[Number(list[at]) - 1] = { result, id: String(list[at + 2]) };
  }
  return offered;
}

/** The highest version; undefined if there is none. */
export function newest(versions: Version[]): Version | undefined {
  return versions.reduce<Version | undefined>(
    (high, one) => high !== undefined && Number(high) >= Number(one) ? high : one,
    undefined,
  );
}

/** Arguments of the script that queues events. */
export function offerArgs(offers: Offer[]): string[] {
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

/** Arguments of the script that ends events. */
export function finishArgs(deliveries: Delivery[]): string[] {
  const args = runsOf(deliveries.map(({ namespace, state }) => [namespace, state]));
  for (const { id } of deliveries) args.push(id);
  for (const one of deliveries) args.push(String(one.receivedAt), JSON.stringify(one));
  return args;
}

/**
 * Adjacent events with the same facts form a run, whose facts are passed once: number of runs, then length and facts of
 * each.
 */
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
