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

/** The offers that were accepted. */
export function acceptedOf(batch: Offer[], refused: unknown): Offer[] {
  const list = listOf(refused);
  if (list.length === 0) return batch;
  const numbers = new Set<number>();
  for (let at = 0; at + 2 < list.length; at += 3) numbers.add(Number(list[at]));
  return batch.filter((_, index) => !numbers.has(index + 1));
}

/** The highest version; undefined if there is none. */
export function newest(versions: Version[]): Version | undefined {
  return versions.reduce<Version | undefined>(
    (high, one) => high !== undefined && Number(high) >= Number(one) ? high : one,
    undefined,
  );
}

/**
 * Arguments of the script that queues events and ends others.
 * @param before how many arguments precede these
 */
export function offerArgs(offers: Offer[], ended: Delivery[], before: number): string[] {
  const args = [String(offers.length), "", ""];
  args[1] = addRuns(args, offers, ([, bound]) => String(bound), ([{ namespace }]) => namespace);
  for (const [event] of offers) args.push(event.id);
  for (const [event] of offers) args.push(contentOf(event));
  for (const [event] of offers) args.push(String(event.receivedAt));
  offers.forEach(([, , dedupe], index) => {
    if (dedupe === undefined) return;
    const expiresAt = Math.max(1, Math.trunc(dedupe.expiresAt));
    args.push(String(index + 1), dedupe.key, dedupe.fingerprint, String(expiresAt));
  });
  if (ended.length > 0) {
    args[2] = String(before + args.length + 1);
    addEnded(args, ended);
  }
  return args;
}

/** Arguments of the script that ends events. */
export function finishArgs(deliveries: Delivery[]): string[] {
  const args: string[] = [];
  addEnded(args, deliveries);
  return args;
}

function addEnded(args: string[], deliveries: Delivery[]): void {
  const place = args.push("") - 1;
  args[place] = addRuns(args, deliveries, ({ namespace }) => namespace, ({ state }) => state);
  for (const { id } of deliveries) args.push(id);
  for (const one of deliveries) args.push(String(one.receivedAt), JSON.stringify(one));
}

/**
 * Adjacent events with the same two facts form a run, whose facts are passed once: length and facts of each.
 * @returns number of runs
 */
function addRuns<T>(
  args: string[],
  all: readonly T[],
  firstOf: (one: T) => string,
  secondOf: (one: T) => string,
): string {
  let runs = 0;
  let length = 0;
  all.forEach((one, index) => {
    length++;
    const [first, second] = [firstOf(one), secondOf(one)];
    const next = all[index + 1];
    if (next !== undefined && firstOf(next) === first && secondOf(next) === second) return;
    args.push(String(length), first, second);
    runs++;
    length = 0;
  });
  return String(runs);
}
