/**
 * The cluster as the source of manifests. Every replica brings the store up to date once before it serves. After that, one
 * replica, chosen by rendezvous hashing, watches the cluster: it keeps the copies in the store up to date, reports faulty
 * objects, and runs Workflow objects. When it leaves, the next one lists everything again.
 */
import { hashText } from "../../actors/actor_ids.ts";
import { ownerOf } from "../../actors/replicas/rendezvous.ts";
import { errorText } from "../../base/error_text.ts";
import {
  CLUSTER_KINDS,
  type ClusterKind,
  collectionPath,
} from "../../kubernetes/cluster_object.ts";
import { type KubeClient, KubeError } from "../../kubernetes/kube_client.ts";
import type { ManifestMirror } from "../../kubernetes/manifest_mirror.ts";
import { followObjects, listObjects, type ObjectSink } from "../../kubernetes/object_watch.ts";
import { DecodeError } from "../../spec/schema/decode.ts";
import { VersionTooOld } from "../../store/port.ts";
import type { ServiceDeps } from "../deps.ts";
import { ManifestChecks } from "./manifest_checks.ts";
import { ObjectCalls } from "./object_calls.ts";
import { WorkflowObjects } from "./workflow_objects.ts";

/** How often a replica checks whether it is its turn to watch. */
const TURN_MS = 1_000;
/** How long a start waits for the API server when the store has earlier copies. */
const PATIENCE_MS = 10_000;
const RETRY_MS = 1_000;
/** How often the leader looks for a first Workflow object. */
const IDLE_MS = 250;
const SYNCED_KEY = "kubernetes/synced";
const STORE_KEY = "kubernetes/store-id";
const LEADER = hashText("kubernetes manifests");

export interface ClusterSourceOptions {
  client: KubeClient;
  group: string;
  /** Empty: all. */
  namespaces: readonly string[];
  replica: string;
  mirror: ManifestMirror;
  /** Status writes a second. */
  statusRate: number;
}

export interface ClusterSource {
  /** Begins nothing new; resolves when everything that was begun is done. */
  stop(): Promise<void>;
}

/** Brings the store up to date, then starts to watch. Resolves when the store's copies may be relied on. */
export async function startClusterSource(
  deps: ServiceDeps,
  options: ClusterSourceOptions,
  stopping: AbortSignal,
): Promise<ClusterSource> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, stopping]);
  await bringUpToDate(deps, options, signal);
  const storeId = await storeIdOf(deps);
  const running = takeTurns(deps, options, storeId, signal);
  return {
    stop() {
      stop.abort();
      return running;
    },
  };
}

/** One collection, and what is done with its objects. */
interface Collection {
  kind: ClusterKind | "Workflow";
  path: string;
  sink: ObjectSink;
}

function manifestCollections(
  { log }: ServiceDeps,
  { group, namespaces, mirror }: ClusterSourceOptions,
  checks?: ManifestChecks,
): Collection[] {
  return CLUSTER_KINDS.flatMap((kind) =>
    placesOf(kind, namespaces).map((namespace) => ({
      kind,
      path: collectionPath(group, kind, namespace),
      sink: {
        async see(object) {
          const { namespace: place = "", name } = object.metadata;
          try {
            await mirror.keep(kind, object);
            checks?.want(kind, object);
          } catch (error) {
            if (!(error instanceof DecodeError)) throw error;
            checks?.malformed(kind, object, error.message);
            await mirror.drop(kind, place, name, object.metadata.resourceVersion);
          }
        },
        async gone({ metadata: { namespace: place = "", name, resourceVersion } }) {
          checks?.forget(kind, place, name);
          await mirror.drop(kind, place, name, resourceVersion);
        },
        async listed(keys, version) {
          const strangers = await mirror.sweep(kind, namespace, keys, version);
          if (strangers > 0 && checks !== undefined) {
            log.warn(
              { kind, manifests: strangers },
              "manifests are in the store only: the cluster has no objects of them",
            );
          }
        },
      },
    }))
  );
}

/** Namespaces to watch one by one. Undefined means all of them, or that the kind has none. */
function placesOf(
  kind: ClusterKind | "Workflow",
  namespaces: readonly string[],
): (string | undefined)[] {
  return kind === "ClusterWorkflowTemplate" || namespaces.length === 0
    ? [undefined]
    : [...namespaces];
}

/**
 * Lists all manifests into the store. A kind that the cluster doesn't have, or doesn't show us, is left out. If the API server
 * stays away, a store that was up to date before is good enough.
 */
async function bringUpToDate(
  deps: ServiceDeps,
  options: ClusterSourceOptions,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, log } = deps;
  const wasSynced = await store.blobs.getBlob(SYNCED_KEY) !== undefined;
  const begun = clock.monotonic();
  for (const { kind, path, sink } of manifestCollections(deps, options)) {
    while (!signal.aborted) {
      try {
        await listObjects({ client: options.client, path, sink }, signal);
        break;
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ kind, path, reason: errorText(error) }, "objects can't be listed");
        if (isMissing(error)) break;
        if (wasSynced && clock.monotonic() - begun > PATIENCE_MS) return;
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }
  if (!wasSynced) await store.blobs.putBlob(SYNCED_KEY, new TextEncoder().encode("yes"));
}

/** The kind does not exist, or we have no right to it. */
function isMissing(error: unknown): boolean {
  return error instanceof KubeError && (error.status === 404 || error.status === 403);
}

/** The name of this store, which its objects carry. */
async function storeIdOf({ store, ids, clock }: ServiceDeps): Promise<string> {
  const known = await store.blobs.getBlob(STORE_KEY);
  if (known !== undefined) return new TextDecoder().decode(known);
  await store.blobs.putBlob(STORE_KEY, new TextEncoder().encode(ids.suffix(12)));
  // Replicas that start at the same moment all write a name. The last one counts for all of them.
  await clock.sleep(2_000);
  return new TextDecoder().decode(await store.blobs.getBlob(STORE_KEY));
}

async function takeTurns(
  deps: ServiceDeps,
  options: ClusterSourceOptions,
  storeId: string,
  signal: AbortSignal,
): Promise<void> {
  const { store, clock, log } = deps;
  let turn: { stop: AbortController; done: Promise<void> } | undefined;
  while (!signal.aborted) {
    const owner = await store.membership.replicas().then(
      (replicas) => ownerOf(LEADER, replicas),
      (error: unknown) => void log.warn({ err: error }, "replicas are not known"),
    );
    const isOurs = owner === options.replica;
    if (isOurs && turn === undefined) {
      log.info("watching the cluster's objects");
      const stop = new AbortController();
      turn = { stop, done: lead(deps, options, storeId, AbortSignal.any([signal, stop.signal])) };
    } else if (!isOurs && turn !== undefined) {
      turn.stop.abort();
      await turn.done;
      turn = undefined;
    }
    await clock.sleep(TURN_MS, signal);
  }
  await turn?.done;
}

async function lead(
  deps: ServiceDeps,
  options: ClusterSourceOptions,
  storeId: string,
  signal: AbortSignal,
): Promise<void> {
  const { client, group, namespaces, statusRate } = options;
  const calls = new ObjectCalls(client, group);
  const objects = new WorkflowObjects(deps, { calls, storeId, rate: statusRate });
  const checks = new ManifestChecks(deps, { client, group });
  const manifests = manifestCollections(deps, options, checks);
  const workflows = placesOf("Workflow", namespaces).map((namespace): Collection => ({
    kind: "Workflow",
    path: collectionPath(group, "Workflow", namespace),
    sink: objects.sink(namespace),
  }));
  await Promise.all([
    ...[...manifests, ...workflows].map((one) => follow(deps, client, one, signal)),
    checks.run(signal),
    objects.run(signal),
    followStore(deps, objects, placesOf("Workflow", namespaces), signal),
  ]);
}

/** Follows one collection. The beginning and the end of trouble are logged. */
function follow(
  { clock, log }: ServiceDeps,
  client: KubeClient,
  { kind, path, sink }: Collection,
  signal: AbortSignal,
): Promise<void> {
  let isInTrouble = false;
  return followObjects({
    client,
    clock,
    path,
    sink,
    onTrouble(error) {
      if (!isInTrouble) {
        log.warn({ kind, path, reason: errorText(error) }, "objects can't be watched");
      }
      isInTrouble = true;
    },
    onListed() {
      if (isInTrouble) log.info({ kind, path }, "objects are watched again");
      isInTrouble = false;
    },
  }, signal);
}

/** Passes on every change of a workflow that was made from an object. Reads the feed only while there are such objects. */
async function followStore(
  { store, clock, log }: ServiceDeps,
  objects: WorkflowObjects,
  places: readonly (string | undefined)[],
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if (objects.size === 0) {
      await clock.sleep(IDLE_MS, signal);
      continue;
    }
    try {
      const version = await store.query.version();
      // Workflows of a namespace that is not watched any more stay as they are: perhaps their objects may not even be read.
      for (const place of places) await objects.compare(place);
      for await (const batch of store.query.watch(version, signal)) {
        for (const change of batch) await objects.changed(change);
        if (objects.size === 0) break;
      }
    } catch (error) {
      if (!(error instanceof VersionTooOld)) {
        log.warn({ reason: errorText(error) }, "changes of workflows are not followed");
      }
      await clock.sleep(RETRY_MS, signal);
    }
  }
}
