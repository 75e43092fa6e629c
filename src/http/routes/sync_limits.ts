/** Routes of semaphore limits. */
import type { Json } from "../../base/json.ts";
import { invalid } from "../../base/problem.ts";
import {
  createSyncLimit,
  deleteSyncLimit,
  getSyncLimit,
  SyncConfigType,
  type SyncLimitRef,
  updateSyncLimit,
} from "../../service/manifests/sync_limits.ts";
import { SYNC_CREATE, SYNC_UPDATE, type SyncBody } from "../requests.ts";
import { param, type Route, unary } from "../route.ts";

function syncType(type: Json | undefined): SyncConfigType {
  switch (type) {
    case undefined:
    case null:
    case 0:
    case "":
    case "0":
    case "CONFIGMAP":
      return SyncConfigType.ConfigMap;
    case 1:
    case "1":
    case "DATABASE":
      return SyncConfigType.Database;
    default:
      throw invalid(`type must be 0 (CONFIGMAP) or 1 (DATABASE), not ${JSON.stringify(type)}`);
  }
}

function syncRef(
  call: { params: Record<string, string> },
  given: { type?: Json; cmName?: string; key?: string },
): SyncLimitRef {
  return {
    type: syncType(given.type),
    namespace: param(call, "namespace"),
    configMap: given.cmName ?? "",
    key: call.params.key ?? given.key ?? "",
  };
}

const SYNC = "/api/v1/sync/{namespace}";
const syncQuery = { type: "string", cmName: "string" } as const;

/** Every route of semaphore limits. */
export const SYNC_LIMIT_ROUTES: readonly Route[] = [
  unary<SyncBody>({
    method: "POST",
    path: SYNC,
    operation: "SyncService_CreateSyncLimit",
    tag: "sync limits",
    summary: "Add a semaphore limit to a config map",
    body: SYNC_CREATE,
    run: async (call) => ({
      ...await createSyncLimit(
        call.service,
        call.caller,
        syncRef(call, call.body),
        call.body.limit ?? 0,
      ),
    }),
  }),
  unary({
    method: "GET",
    path: `${SYNC}/{key}`,
    operation: "SyncService_GetSyncLimit",
    tag: "sync limits",
    summary: "Get a semaphore limit",
    query: syncQuery,
    run: async (call) => ({
      ...await getSyncLimit(call.service, call.caller, syncRef(call, call.query)),
    }),
  }),
  unary<SyncBody>({
    method: "PUT",
    path: `${SYNC}/{key}`,
    operation: "SyncService_UpdateSyncLimit",
    tag: "sync limits",
    summary: "Change a semaphore limit",
    body: SYNC_UPDATE,
    run: async (call) => ({
      ...await updateSyncLimit(
        call.service,
        call.caller,
        syncRef(call, call.body),
        call.body.limit ?? 0,
      ),
    }),
  }),
  unary({
    method: "DELETE",
    path: `${SYNC}/{key}`,
    operation: "SyncService_DeleteSyncLimit",
    tag: "sync limits",
    summary: "Remove a semaphore limit",
    query: syncQuery,
    answer: { type: "empty" },
    run: async (call) => {
      await deleteSyncLimit(call.service, call.caller, syncRef(call, call.query));
      return {};
    },
  }),
];
