/** Limits of semaphores, kept in config maps. Those of the reference's database are in a config map of the server's own. */
import { unrestrictedCaller } from "../../auth/caller.ts";
import type { Access, Caller, Verb } from "../../auth/port.ts";
import { invalid, isProblem, notFound, Problem, ProblemCode } from "../../base/problem.ts";
import { type ConfigMap, DATABASE_LIMITS, ManifestKind } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { readManifest } from "./reads.ts";
import { changeManifest, createManifest } from "./writes.ts";

const SERVER = unrestrictedCaller();

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
  checkKey(ref);
  const exists = new Problem(
    ProblemCode.AlreadyExists,
    ref.type === SyncConfigType.Database
      ? `Database sync limit already exists in namespace "${ref.namespace}".`
      : "sync limit cannot be created as it already exists",
  );
  if (await findConfigMap(deps, ref) === undefined) {
    // The config map of the database's limits is the server's own.
    const maker = ref.type === SyncConfigType.Database ? SERVER : caller;
    try {
      await createManifest<ConfigMap>(deps, maker, ManifestKind.ConfigMap, ref.namespace, {
        metadata: { name: configMapOf(ref) },
        data: { [ref.key]: String(limit) },
      });
      return answer(ref, limit);
    } catch (error) {
      if (!isProblem(error, ProblemCode.AlreadyExists)) throw error;
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
  await check(deps, caller, ref, "delete");
  if (ref.type === SyncConfigType.Database) await readConfigMap(deps, ref);
  await change(deps, ref, (data) => {
    const { [ref.key]: _removed, ...rest } = data;
    return rest;
  });
}

function checkLimit(limit: number): void {
  if (limit <= 0) throw invalid("limit must be greater than zero");
}

/** Kubernetes takes no other keys; the database of the reference does. */
function checkKey({ type, configMap, key }: SyncLimitRef): void {
  if (type !== SyncConfigType.ConfigMap) return;
  if (key.length <= 253 && /^[-._a-zA-Z0-9]+$/.test(key) && !/^\.(\.|$)/.test(key)) return;
  const quoted = JSON.stringify(key);
  throw invalid(
    `ConfigMap "${configMap}" is invalid: data[${key}]: Invalid value: ${quoted}: a valid config key must consist of ` +
      "alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for " +
      "validation is '[-._a-zA-Z0-9]+')",
  );
}

/** The config map that holds a limit. */
function configMapOf({ type, configMap }: SyncLimitRef): string {
  return type === SyncConfigType.Database ? DATABASE_LIMITS : configMap;
}

/** Rights to limits of the database are rights to workflows, as in the reference. */
async function check(
  { settings }: ServiceDeps,
  caller: Caller,
  ref: SyncLimitRef,
  verb: Verb,
): Promise<void> {
  const { type, namespace } = ref;
  const isDatabase = type !== SyncConfigType.ConfigMap;
  if (isDatabase && settings.syncApi !== true) {
    throw invalid(`unsupported sync config type: ${type}`);
  }
  // Without a limit the config map stays.
  const needed = verb === "delete" && !isDatabase ? "update" : verb;
  const access: Access = isDatabase ? { verb, resource: WORKFLOW.resource, namespace } : {
    verb: needed,
    group: "",
    resource: "configmaps",
    namespace,
    ...(verb !== "create" && { name: ref.configMap }),
  };
  if (await caller.may(access)) return;
  const what = isDatabase ? "database sync limit" : "configmaps";
  throw new Problem(
    ProblemCode.PermissionDenied,
    `Permission denied, you are not allowed to ${needed} ${what} in namespace "${namespace}".`,
  );
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
