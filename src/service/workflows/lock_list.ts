/** Mutexes and semaphores that somebody holds or waits for: who, and since when. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { holderName } from "../../engine/locks/holder.ts";
import type { LockRequest, LockTable } from "../../engine/locks/locks.ts";
import { type ConfigMap, DATABASE_LIMITS, ManifestKind } from "../../spec/manifest.ts";
import { manifestObject, UnreadableManifest } from "../../store/manifest_object.ts";
import { requireWorkflowList } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";

/** Locks of a page. */
const DEFAULT_PAGE = 100;
const MAX_PAGE = 500;
/** Holders, and those who wait, that are named for each lock. */
const MAX_USERS = 100;

/** A workflow or one of its nodes that holds a lock or waits for it. Without a name: the caller may not see it. */
export interface LockUser {
  namespace?: string;
  workflow?: string;
  /** Absent: the lock belongs to the workflow itself. */
  nodeId?: string;
  /** When it got the lock, or began to wait for it, epoch ms. */
  since?: number;
  priority: number;
}

export interface Lock {
  /** As the messages of workflows name it: `NAMESPACE/Mutex/NAME`, `NAMESPACE/ConfigMap/NAME/KEY`, `NAMESPACE/Database/KEY`. */
  id: string;
  kind: "mutex" | "semaphore";
  namespace: string;
  /** Of a mutex; of a semaphore, the key of its limit. */
  name: string;
  /** Where the limit of a semaphore is kept, as the routes of limits take it. */
  type?: "CONFIGMAP" | "DATABASE";
  cmName?: string;
  /** Most holders at a time. */
  limit: number;
  holderCount: number;
  waitingCount: number;
  /** At most 100, those that have held it longest first. */
  holders: LockUser[];
  /** At most 100, in the order in which they will get it. */
  waiting: LockUser[];
}

export interface LockListRequest {
  /** "" lists all namespaces. */
  namespace: string;
  /** 0: 100; at most 500. */
  limit: number;
  /** Of the page before; "" is the beginning. */
  continue: string;
}

/** Lists locks in the order of their ids. */
export async function listLocks(
  deps: ServiceDeps,
  caller: Caller,
  request: LockListRequest,
): Promise<{ items: Lock[]; continue?: string }> {
  await requireWorkflowList(caller, request.namespace);
  const prefix = request.namespace === "" ? "" : `${request.namespace}/`;
  const all = usersByLock(await deps.lockTable());
  const ids = [...all.keys()].filter((id) => id.startsWith(prefix) && id > request.continue).sort();
  const size = request.limit <= 0 ? DEFAULT_PAGE : Math.min(request.limit, MAX_PAGE);
  const page = ids.slice(0, size);
  const limits = limitReader(deps);
  const shown = userFilter(caller);
  const items: Lock[] = [];
  for (const id of page) {
    const lock = all.get(id);
    if (lock === undefined) continue;
    const place = placeOf(id, lock.kind);
    items.push({
      id,
      kind: lock.kind,
      ...place,
      limit: await limits(place) ?? lock.limit,
      holderCount: lock.holders.length,
      waitingCount: lock.waiting.length,
      holders: await shown(lock.holders.sort(compareSince)),
      waiting: await shown(lock.waiting),
    });
  }
  return { items, ...defined({ continue: ids.length > size ? page.at(-1) : undefined }) };
}

interface Users {
  kind: Lock["kind"];
  /** As it was when somebody asked last. */
  limit: number;
  holders: LockRequest[];
  waiting: LockRequest[];
}

function usersByLock(table: LockTable): Map<string, Users> {
  const all = new Map<string, Users>();
  const add = (request: LockRequest, role: "holders" | "waiting") => {
    for (const { kind, key, limit } of request.keys) {
      const users = all.get(key) ?? { kind, limit, holders: [], waiting: [] };
      users[role].push(request);
      all.set(key, users);
    }
  };
  for (const request of Object.values(table.held)) add(request, "holders");
  for (const request of table.waiting) add(request, "waiting");
  return all;
}

type Place = Pick<Lock, "namespace" | "name" | "type" | "cmName">;

/** Reads an id; see `lockKeys` in the engine, which writes it. */
function placeOf(id: string, kind: Lock["kind"]): Place {
  const [namespace = "", where = "", ...rest] = id.split("/");
  if (kind === "mutex") return { namespace, name: rest.join("/") };
  if (where === "Database") return { namespace, name: rest.join("/"), type: "DATABASE" };
  const [cmName = "", ...key] = rest;
  return { namespace, name: key.join("/"), type: "CONFIGMAP", cmName };
}

/** Reads the limits of semaphores as they are now, each config map once. */
function limitReader(deps: ServiceDeps): (place: Place) => Promise<number | undefined> {
  const maps = new Map<string, Record<string, string>>();
  return async ({ namespace, name, type, cmName = DATABASE_LIMITS }) => {
    if (type === undefined) return 1;
    const key = `${namespace}/${cmName}`;
    const data = maps.get(key) ?? await readLimits(deps, namespace, cmName);
    maps.set(key, data);
    const text = data[name] ?? "";
    return /^\s*\d+\s*$/.test(text) ? Number(text) : undefined;
  };
}

async function readLimits(
  { store }: ServiceDeps,
  namespace: string,
  name: string,
): Promise<Record<string, string>> {
  const stored = await store.manifests.get(ManifestKind.ConfigMap, namespace, name);
  if (stored === undefined) return {};
  try {
    return manifestObject<ConfigMap>(stored).data ?? {};
  } catch (error) {
    if (error instanceof UnreadableManifest) return {};
    throw error;
  }
}

/** Names those whom the caller may see. A lock may have users in other namespaces than its own. */
function userFilter(caller: Caller): (requests: readonly LockRequest[]) => Promise<LockUser[]> {
  const rights = new Map<string, Promise<boolean>>();
  const maySee = (namespace: string) => {
    const known = rights.get(namespace) ??
      caller.may({ verb: "list", resource: "workflows", namespace });
    rights.set(namespace, known);
    return known;
  };
  return (requests) =>
    Promise.all(
      requests.slice(0, MAX_USERS).map(async ({ holder, since, priority }): Promise<LockUser> => {
        const [namespace = "", workflow = "", nodeId] = holderName(holder).split("/");
        const facts = { priority, ...defined({ since }) };
        if (!await maySee(namespace)) return facts;
        return { namespace, workflow, ...defined({ nodeId }), ...facts };
      }),
    );
}

function compareSince(a: LockRequest, b: LockRequest): number {
  return (a.since ?? 0) - (b.since ?? 0);
}
