/** Routes of locks: mutexes and semaphores that are in use. */
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { listLocks, type Lock, type LockUser } from "../../service/workflows/lock_list.ts";
import {
  always,
  int64,
  list,
  namedString,
  string,
  struct,
  type StructSchema,
  time,
} from "../../spec/schema/schema.ts";
import { param, type Route, unary } from "../route.ts";

const LOCK_USER = struct("LockUser", () => ({
  namespace: string,
  workflow: string,
  nodeId: string,
  since: time,
  priority: always(int64),
}), "sluice");

const LOCK = struct("Lock", () => ({
  id: always(string),
  kind: always(namedString("string", ["mutex", "semaphore"])),
  namespace: always(string),
  name: always(string),
  type: namedString("string", ["CONFIGMAP", "DATABASE"]),
  cmName: string,
  limit: always(int64),
  holderCount: always(int64),
  waitingCount: always(int64),
  holders: always(list(LOCK_USER)),
  waiting: always(list(LOCK_USER)),
}), "sluice");

const LOCK_LIST: StructSchema = struct("LockList", () => ({
  metadata: always(struct("LockListMeta", () => ({ continue: string }), "sluice")),
  items: always(list(LOCK)),
}), "sluice");

/** Every route of locks. */
export const LOCK_ROUTES: readonly Route[] = [
  unary({
    method: "GET",
    path: "/api/v1/locks/{namespace}",
    operation: "LockService_ListLocks",
    tag: "locks",
    summary: "List mutexes and semaphores that somebody holds or waits for",
    query: { limit: "int64", continue: "string" },
    answer: { type: "object", schema: LOCK_LIST },
    run: async (call) => {
      const page = await listLocks(call.service, call.caller, {
        namespace: param(call, "namespace"),
        limit: call.query.limit ?? 0,
        continue: call.query.continue ?? "",
      });
      return {
        metadata: defined({ continue: page.continue }),
        items: page.items.map(lockWire),
      };
    },
  }),
];

function lockWire(lock: Lock): JsonObject {
  const { holders, waiting, ...facts } = lock;
  return { ...facts, holders: holders.map(userWire), waiting: waiting.map(userWire) };
}

function userWire({ since, ...facts }: LockUser): JsonObject {
  return { ...facts, ...(since !== undefined && { since: new Date(since).toISOString() }) };
}
