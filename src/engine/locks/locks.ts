/**
 * The lock table: who holds and who waits for which locks. One table serves all workflows; the host keeps it in the actor
 * `locks`. A holder gets all its keys or none. Waiters are served by priority, then by creation time, then by arrival.
 * Times (`now`) are epoch ms.
 */
import { defined } from "../../base/defined.ts";
import type { LockKey } from "../effect.ts";
import { holderName, isHolderOf, type WorkflowHolders, workflowOfNode } from "./holder.ts";

/** What a holder asks for. */
export interface LockDemand {
  holder: string;
  keys: LockKey[];
  priority: number;
  createdAt: number;
}

export interface LockRequest extends LockDemand {
  /** When it asked or, once it holds its keys, when it got them, epoch ms. Absent in tables of older programs. */
  since?: number;
  /** The key that it was told to wait for. */
  waiting?: string;
}

/** Plain data, to be stored as JSON. */
export interface LockTable {
  schema: 1;
  held: Record<string, LockRequest>;
  waiting: LockRequest[];
}

export interface LockNews {
  type: "granted" | "waiting";
  holder: string;
  /** While it waits: the message, the first key that is not free, and the holders of each key. */
  message?: string;
  waiting?: string;
  holders?: Record<string, string[]>;
}

export function emptyLockTable(): LockTable {
  return { schema: 1, held: {}, waiting: [] };
}

/**
 * Asks for locks. Asking again is harmless: a holder is told that it holds them; a waiter keeps its place and gets the new
 * limits. The answer is news about this holder. Changes `table` in place.
 */
export function acquireLocks(table: LockTable, demand: LockDemand, now: number): LockNews[] {
  const { holder } = demand;
  const held = table.held[holder];
  if (held !== undefined) {
    table.held[holder] = { ...demand, ...defined({ since: held.since }) };
    return [{ type: "granted", holder }];
  }
  const at = table.waiting.findIndex((one) => one.holder === holder);
  if (at < 0) table.waiting.push({ ...demand, since: now });
  else table.waiting[at] = { ...demand, ...defined({ since: table.waiting[at]?.since }) };
  sortWaiting(table);
  return grantAll(table, holder, now);
}

/** Gives up what a holder holds or waits for. The news are about those who get it, or now wait for something else. */
export function releaseLocks(table: LockTable, holder: string, now: number): LockNews[] {
  if (table.held[holder] === undefined && !table.waiting.some((one) => one.holder === holder)) {
    return [];
  }
  delete table.held[holder];
  table.waiting = table.waiting.filter((one) => one.holder !== holder);
  return grantAll(table, undefined, now);
}

/** The same for everything that a workflow and its nodes hold or wait for. */
export function releaseWorkflow(
  table: LockTable,
  workflow: WorkflowHolders,
  now: number,
): LockNews[] {
  const all = [...Object.keys(table.held), ...table.waiting.map(({ holder }) => holder)];
  const own = new Set(all.filter((holder) => isHolderOf(workflow, holder)));
  if (own.size === 0) return [];
  for (const holder of own) delete table.held[holder];
  table.waiting = table.waiting.filter(({ holder }) => !own.has(holder));
  return grantAll(table, undefined, now);
}

/** Sets the size of a semaphore for those who wait for it, and grants what has become possible. */
export function resizeLock(
  table: LockTable,
  key: string,
  limit: number,
  now: number,
): LockNews[] {
  for (const request of table.waiting) {
    for (const lock of request.keys) if (lock.key === key) lock.limit = limit;
  }
  return grantAll(table, undefined, now);
}

/** Higher priority first, then the older workflow; otherwise in order of arrival. */
function sortWaiting(table: LockTable): void {
  table.waiting.sort((a, b) => b.priority - a.priority || a.createdAt - b.createdAt);
}

/**
 * Grants locks in the order of waiting. A key that an earlier waiter needs is kept for it, except from nodes of its own workflow.
 * Those who go on waiting are told when it is for another key, and the one who has asked in any case. How many are free may change
 * with every release, for all who wait, so it is not told again.
 */
function grantAll(table: LockTable, asked: string | undefined, now: number): LockNews[] {
  const news: LockNews[] = [];
  const reserved = new Reservations();
  const used = usage(table);
  const left: LockRequest[] = [];
  for (const request of table.waiting) {
    const workflow = workflowOfNode(request.holder);
    const missing = request.keys.find(({ key, limit }) =>
      (used.get(key) ?? 0) + reserved.of(key, workflow) >= limit
    );
    if (missing === undefined) {
      const { waiting: _, ...granted } = request;
      table.held[request.holder] = { ...granted, since: now };
      for (const { key } of request.keys) used.set(key, (used.get(key) ?? 0) + 1);
      news.push({ type: "granted", holder: request.holder });
      continue;
    }
    left.push(request);
    for (const { key } of request.keys) reserved.add(key, workflow);
    if (request.holder !== asked && request.waiting === missing.key) continue;
    request.waiting = missing.key;
    news.push(waitingNews(table, request, missing, used));
  }
  table.waiting = left;
  return news;
}

/** How often each key is kept for somebody who waits. */
class Reservations {
  readonly #all = new Map<string, number>();
  /** Of them those for nodes, by workflow. */
  readonly #own = new Map<string, Map<string, number>>();

  add(key: string, workflow: string | undefined): void {
    this.#all.set(key, (this.#all.get(key) ?? 0) + 1);
    if (workflow === undefined) return;
    const own = this.#own.get(workflow) ?? new Map<string, number>();
    this.#own.set(workflow, own.set(key, (own.get(key) ?? 0) + 1));
  }

  /** How often a key is kept for others than the nodes of a workflow. */
  of(key: string, workflow: string | undefined): number {
    const own = workflow === undefined ? 0 : this.#own.get(workflow)?.get(key) ?? 0;
    return (this.#all.get(key) ?? 0) - own;
  }
}

function usage(table: LockTable): Map<string, number> {
  const used = new Map<string, number>();
  for (const request of Object.values(table.held)) {
    for (const { key } of request.keys) used.set(key, (used.get(key) ?? 0) + 1);
  }
  return used;
}

function waitingNews(
  table: LockTable,
  { holder, keys }: LockRequest,
  missing: LockKey,
  used: Map<string, number>,
): LockNews {
  const free = Math.max(0, missing.limit - (used.get(missing.key) ?? 0));
  const holders: Record<string, string[]> = {};
  for (const { key } of keys) {
    holders[key] = Object.values(table.held)
      .filter((other) => other.keys.some((lock) => lock.key === key))
      .map((other) => holderName(other.holder));
  }
  return {
    type: "waiting",
    holder,
    message: `Waiting for ${missing.key} lock. Lock status: ${free}/${missing.limit}`,
    waiting: missing.key,
    holders,
  };
}
