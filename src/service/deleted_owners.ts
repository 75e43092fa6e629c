/**
 * Workflows go with the cron workflow that owns them, as a cluster's garbage collector would have it. Before the owner is
 * removed, the store gets a note of it, so a crash in between loses nothing: whichever replica finds the note deletes what
 * is left. Only what is noted counts, so workflows that came from elsewhere with an owner that was never here stay.
 */
import { hashText } from "../actors/actor_ids.ts";
import { ownerOf } from "../actors/replicas/rendezvous.ts";
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import { Problem } from "../base/problem.ts";
import type { Clock } from "../platform/clock.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { cronLabel } from "../spec/naming.ts";
import type { ManifestStore, StoredManifest } from "../store/manifest_port.ts";
import type { ListPage } from "../store/port.ts";
import type { DeleteRequest } from "./deletions.ts";
import type { ServiceDeps } from "./deps.ts";
import { isGone, isTransient } from "./problem_kinds.ts";
import { isFromObject } from "./workflows/object_origin.ts";
import { NOT_ARCHIVED } from "./workflows/reads.ts";
import { metadataOf, ownersOf } from "./workflows/stored_workflow.ts";

const KIND = ManifestKind.DeletedOwner;
/** How often the notes of others are looked for. */
const LOOK_EVERY_MS = 30_000;
/** So long after the deletion a run that was just being made may still appear. */
const KEPT_MS = 120_000;
/** Notes that are read, and workflows that are deleted, at once. */
const PAGE = 50;

/** A cron workflow that is being deleted. */
interface DeletedOwner {
  namespace: string;
  name: string;
  uid: string;
  /** Its workflows stay. */
  orphans: boolean;
  /** Epoch ms. */
  at: number;
}

/** Tells whether a deletion leaves the workflows alone. */
export function orphansDependents(
  { propagationPolicy, orphanDependents }: DeleteRequest,
): boolean {
  return propagationPolicy === "Orphan" || orphanDependents === true;
}

/**
 * Notes that a cron workflow goes away although nobody asked for it here: its object in the cluster is gone. What somebody
 * asked for here counts.
 */
export async function noteLostOwner(
  manifests: Pick<ManifestStore, "put">,
  { kind, namespace, name, text }: StoredManifest,
  now: number,
): Promise<void> {
  if (kind !== ManifestKind.CronWorkflow) return;
  const { uid, finalizers } = metadataOf(text) ?? {};
  if (typeof uid !== "string") return;
  // So the cluster notes that it was asked to leave what belongs to the object.
  const orphans = Array.isArray(finalizers) && finalizers.includes("orphan");
  await manifests.put(manifestOf({ namespace, name, uid, orphans, at: now }), undefined);
}

export class DeletedOwners {
  readonly #manifests: Pick<ManifestStore, "put">;
  readonly #clock: Clock;
  /** Uids of those that were noted here, and until when this replica looks after them. */
  readonly #own = new Map<string, number>();
  #awake = Promise.withResolvers<void>();

  constructor(manifests: Pick<ManifestStore, "put">, clock: Clock) {
    this.#manifests = manifests;
    this.#clock = clock;
  }

  /** Notes a cron workflow before it is removed. If it is not removed after all, nothing happens to its workflows. */
  async note(owner: Omit<DeletedOwner, "at">): Promise<void> {
    const at = this.#clock.now();
    await this.#manifests.put(manifestOf({ ...owner, at }), "*");
    this.#own.set(owner.uid, at + KEPT_MS);
  }

  /** A cron workflow that was noted is removed. */
  removed(): void {
    this.#awake.resolve();
  }

  /** Deletes what belongs to noted cron workflows until the signal aborts. */
  async run(deps: ServiceDeps, replica: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#round(deps, replica, signal);
      } catch (error) {
        deps.log.warn({ err: error }, "workflows of deleted cron workflows are not deleted yet");
      }
      const over = new AbortController();
      const pause = this.#clock.sleep(LOOK_EVERY_MS, AbortSignal.any([signal, over.signal]));
      await Promise.race([pause, this.#awake.promise]);
      over.abort();
      this.#awake = Promise.withResolvers<void>();
    }
  }

  async #round(deps: ServiceDeps, replica: string, signal: AbortSignal): Promise<void> {
    const { manifests, membership } = deps.store;
    for (const [uid, until] of this.#own) if (until < this.#clock.now()) this.#own.delete(uid);
    const { items } = await manifests.list(KIND, { limit: 0 });
    if (items.length === 0) return;
    const replicas = await membership.replicas();
    for (const item of items) {
      const owner = parseOwner(item.text);
      if (owner === undefined) {
        await manifests.remove(KIND, item.namespace, item.name, item.version);
        continue;
      }
      const isMine = this.#own.has(owner.uid) ||
        ownerOf(hashText(owner.uid), replicas) === replica;
      if (!isMine || signal.aborted) continue;
      if (!owner.orphans && !await isStored(deps, owner)) {
        await deleteDependents(deps, owner, signal);
      }
      if (deps.clock.now() < owner.at + KEPT_MS || signal.aborted) continue;
      await manifests.remove(KIND, item.namespace, item.name, item.version);
    }
  }
}

/** Tells whether a cron workflow is still there: somebody was faster with a change, or the deletion is under way. */
async function isStored({ store }: ServiceDeps, owner: DeletedOwner): Promise<boolean> {
  const { namespace, name, uid } = owner;
  const stored = await store.manifests.get(ManifestKind.CronWorkflow, namespace, name);
  return stored !== undefined && metadataOf(stored.text)?.["uid"] === uid;
}

/** Deletes the workflows that belong to a cron workflow and to nothing else, page by page. Those in the archive stay. */
async function deleteDependents(
  deps: ServiceDeps,
  { namespace, name, uid }: DeletedOwner,
  signal: AbortSignal,
): Promise<void> {
  const { query } = deps.history?.live ?? deps.store;
  const labels = [
    { key: cronLabel(deps.settings.naming), operator: "=" as const, values: [name] },
    NOT_ARCHIVED,
  ];
  let from: string | undefined;
  do {
    const page: ListPage = await query.list({
      ...{ kind: "wf", namespace, labels, limit: PAGE, parts: ["h"] },
      ...(from !== undefined && { continue: from }),
    });
    await Promise.all(
      page.items.filter((item) => belongsOnlyTo(item, uid))
        .map(({ index }) => deleteOne(deps, namespace, index.name, index.uid)),
    );
    from = page.continue;
  } while (from !== undefined && !signal.aborted);
}

function belongsOnlyTo({ index, parts }: ListPage["items"][number], uid: string): boolean {
  // The cluster deletes its own objects.
  if (isFromObject(index)) return false;
  const owners = ownersOf(parts["h"]);
  return owners.length > 0 && owners.every((owner) => owner.uid === uid);
}

async function deleteOne(
  { host, log }: ServiceDeps,
  namespace: string,
  name: string,
  uid: string,
): Promise<void> {
  try {
    await host.execute(namespace, name, { type: "delete", uid });
  } catch (error) {
    if (isGone(error)) return;
    if (!(error instanceof Problem) || isTransient(error)) throw error;
    log.warn({ namespace, workflow: name, reason: error.message }, "workflow not deleted");
  }
}

function manifestOf(owner: DeletedOwner): Omit<StoredManifest, "version"> {
  const { namespace, uid } = owner;
  return { kind: KIND, namespace, name: uid, text: JSON.stringify(owner), labels: {} };
}

function parseOwner(text: string): DeletedOwner | undefined {
  const owner = parseOrUndefined(text);
  if (!isJsonObject(owner)) return undefined;
  const { namespace, name, uid, orphans, at } = owner;
  const isOwner = typeof namespace === "string" && typeof name === "string" &&
    typeof uid === "string" && typeof orphans === "boolean" && Number.isFinite(at);
  return isOwner ? owner as unknown as DeletedOwner : undefined;
}
