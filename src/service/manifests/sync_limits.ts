/** Limits of semaphores, kept in config maps. Those of the reference's database are in a config map of the server's own. */
import type { Caller, Verb } from "../../auth/port.ts";
import { invalid, notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { type ConfigMap, DATABASE_LIMITS, ManifestKind } from "../../spec/manifest.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { readManifest } from "./reads.ts";
import { changeManifest, createManifest } from "./writes.ts";

/** Where limits are kept. */
export const SyncConfigType = { ConfigMap: "CONFIGMAP", Database: "DATABASE" } as const;
export type SyncConfigType = typeof SyncConfigType[keyof typeof SyncConfigType];

/** Which limit is meant. */
export interface SyncLimitRef {
  type: SyncConfigType;
  namespace: string;
  configMap: string;
  key: string;
}

export interface SyncLimit {
  /** 1 for `DATABASE`; absent otherwise. */
  type?: 1;
  namespace: string;
  cmName?: string;
  key: string;
  limit: number;
}

/** Adds a limit; creates the config map if there is none. */
export async function createSyncLimit(
  deps: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
  limit: number,
): Promise<SyncLimit> {
  checkLimit(limit);
  await check(deps, caller, ref, "create");
  const exists = new Problem(
    ProblemCode.AlreadyExists,
    ref.type === SyncConfigType.Database
      ? `Database sync limit already exists in namespace "${ref.namespace}".`
      : "sync limit cannot be created as it already exists",
  );
  if (await findConfigMap(deps, ref) === undefined) {
    try {
      await createManifest<ConfigMap>(deps, caller, ManifestKind.ConfigMap, ref.namespace, {
        metadata: { name: configMapOf(ref) },
        data: { [ref.key]: String(limit) },
      });
      return answer(ref, limit);
    } catch (error) {
      if (!(error instanceof Problem) || error.code !== ProblemCode.AlreadyExists) throw error;
    }
  }
  await change(deps, ref, (data) => {
    if (Object.hasOwn(data, ref.key)) throw exists;
    return { ...data, [ref.key]: String(limit) };
  });
  return answer(ref, limit);
}

/** Reads a limit. */
export async function getSyncLimit(
  deps: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
): Promise<SyncLimit> {
  await check(deps, caller, ref, "get");
  const { data = {} } = await readConfigMap(deps, ref);
  if (!Object.hasOwn(data, ref.key)) throw notFound(missing(ref));
  const limit = Number(data[ref.key]);
  if (!Number.isInteger(limit)) {
    throw invalid(
      `invalid limit format for key ${ref.key} in configmap ${ref.namespace}/${ref.configMap}`,
    );
  }
  return answer(ref, limit);
}

/** Changes a limit that exists. */
export async function updateSyncLimit(
  deps: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
  limit: number,
): Promise<SyncLimit> {
  checkLimit(limit);
  await check(deps, caller, ref, "update");
  if (ref.type === SyncConfigType.Database) await readConfigMap(deps, ref);
  await change(deps, ref, (data) => {
    if (!Object.hasOwn(data, ref.key)) {
      throw notFound(
        ref.type === SyncConfigType.Database
          ? missing(ref)
          : `${missing(ref)} - please create it first`,
      );
    }
    return { ...data, [ref.key]: String(limit) };
  });
  return answer(ref, limit);
}

/** Removes a limit. A missing key is no error, a missing config map is one. */
export async function deleteSyncLimit(
  deps: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
): Promise<void> {
  await check(deps, caller, ref, "update");
  if (ref.type === SyncConfigType.Database) await readConfigMap(deps, ref);
  await change(deps, ref, (data) => {
    const { [ref.key]: _removed, ...rest } = data;
    return rest;
  });
}

function checkLimit(limit: number): void {
  if (limit <= 0) throw invalid("limit must be greater than zero");
}

/** The config map that holds a limit. */
function configMapOf({ type, configMap }: SyncLimitRef): string {
  return type === SyncConfigType.Database ? DATABASE_LIMITS : configMap;
}

async function check(
  { settings }: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
  verb: Verb,
): Promise<void> {
  if (ref.type !== SyncConfigType.ConfigMap && settings.syncApi !== true) {
    throw invalid(`unsupported sync config type: ${ref.type}`);
  }
  await requireAccess(caller, {
    verb,
    group: "",
    resource: "configmaps",
    namespace: ref.namespace,
    ...(verb !== "create" && { name: configMapOf(ref) }),
  });
}

async function readConfigMap(deps: ServiceDeps, ref: SyncLimitRef): Promise<ConfigMap> {
  const isDatabase = ref.type === SyncConfigType.Database;
  // Clients don't know the config map of the database's limits: without it there is no limit.
  if (isDatabase && await findConfigMap(deps, ref) === undefined) throw notFound(missing(ref));
  return await readManifest(deps, ManifestKind.ConfigMap, ref.namespace, configMapOf(ref));
}

async function findConfigMap(deps: ServiceDeps, ref: SyncLimitRef) {
  const name = configMapOf(ref);
  if (name === "") return undefined;
  return await deps.store.manifests.get(ManifestKind.ConfigMap, ref.namespace, name);
}

async function change(
  deps: ServiceDeps,
  ref: SyncLimitRef,
  next: (data: Record<string, string>) => Record<string, string>,
): Promise<void> {
  await changeManifest<ConfigMap>(
    deps,
    ManifestKind.ConfigMap,
    ref.namespace,
    configMapOf(ref),
    (map) => ({ ...map, data: next(map.data ?? {}) }),
  );
}

function missing(ref: SyncLimitRef): string {
  if (ref.type === SyncConfigType.Database) {
    return `Database sync limit not found in namespace "${ref.namespace}".`;
  }
  return `key ${ref.key} not found in configmap ${ref.namespace}/${ref.configMap}`;
}

function answer(ref: SyncLimitRef, limit: number): SyncLimit {
  const { namespace, key } = ref;
  return ref.type === SyncConfigType.Database
    ? { type: 1, namespace, key, limit }
    : { namespace, cmName: ref.configMap, key, limit };
}
