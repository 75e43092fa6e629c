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
import { decode } from "../../spec/schema/decode.ts";
import { int32, struct, type StructSchema } from "../../spec/schema/schema.ts";
import { parseInteger } from "../query.ts";
import { SYNC_CREATE, SYNC_UPDATE, type SyncBody } from "../requests.ts";
import { param, type Route, unary } from "../route.ts";

/** Types by their names, which the reference's description of its API promises, although it takes only numbers. */
const TYPE_NAMES = new Map<Json | undefined, SyncConfigType>([
  [undefined, SyncConfigType.ConfigMap],
  [null, SyncConfigType.ConfigMap],
  ["CONFIGMAP", SyncConfigType.ConfigMap],
  ["DATABASE", SyncConfigType.Database],
]);

const TYPE_NUMBERS = [SyncConfigType.ConfigMap, SyncConfigType.Database];

function numberedType(type: number): SyncConfigType {
  const known = TYPE_NUMBERS[type];
  if (known === undefined) throw invalid(`unsupported sync config type: ${type}`);
  return known;
}

/** The type that a query names. @throws {Problem} InvalidArgument */
function queryType(type: string | undefined): SyncConfigType {
  return TYPE_NAMES.get(type) ?? numberedType(parseInteger(type ?? "", 32));
}

/** The type that a body names. @throws {Problem} InvalidArgument */
function bodyType(type: Json | undefined, request: StructSchema): SyncConfigType {
  const named = TYPE_NAMES.get(type);
  if (named !== undefined) return named;
  const { type: number } = decode({ type }, numberOf(request)) as { type: number };
  return numberedType(number);
}

/** What a request says of its type when that is no name. */
function numberOf({ name }: StructSchema): StructSchema {
  return struct(name, () => ({ type: { ...int32, goType: "sync.SyncConfigType" } }));
}

function syncRef(
  call: { params: Record<string, string> },
  type: SyncConfigType,
  given: { cmName?: string; key?: string },
): SyncLimitRef {
  return {
    type,
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
        syncRef(call, bodyType(call.body.type, SYNC_CREATE), call.body),
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
      ...await getSyncLimit(
        call.service,
        call.caller,
        syncRef(call, queryType(call.query.type), call.query),
      ),
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
        syncRef(call, bodyType(call.body.type, SYNC_UPDATE), call.body),
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
      await deleteSyncLimit(
        call.service,
        call.caller,
        syncRef(call, queryType(call.query.type), call.query),
      );
      return {};
    },
  }),
];
