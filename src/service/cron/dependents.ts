/** Deletes the workflows of cron workflows that were deleted. */
import { hashText } from "../../actors/actor_ids.ts";
import { ownerOf } from "../../actors/replicas/rendezvous.ts";
import { Problem } from "../../base/problem.ts";
import { ManifestKind } from "../../spec/manifest.ts";
import { cronLabel } from "../../spec/naming.ts";
import type { ListPage } from "../../store/port.ts";
import {
  type DeletedOwner,
  type DeletedOwners,
  NOTE_KEPT_MS,
  parseDeletedOwner,
} from "../deleted_owners.ts";
import type { ServiceDeps } from "../deps.ts";
import { isGone, isTransient } from "../problem_kinds.ts";
import { isFromObject } from "../workflows/object_origin.ts";
import { NOT_ARCHIVED } from "../workflows/reads.ts";
import { metadataOf, ownersOf } from "../workflows/stored_workflow.ts";

const KIND = ManifestKind.DeletedOwner;
/** Workflows that are deleted at once. */
const PAGE = 50;

/** Deletes what belongs to noted cron workflows until the signal aborts. All replicas do so; a repeat does no harm. */
export async function deleteOwned(
  deps: ServiceDeps,
  replica: string,
  signal: AbortSignal,
): Promise<void> {
  const { deletedOwners } = deps;
  while (deletedOwners !== undefined && !signal.aborted) {
    try {
      await deleteOnce(deps, deletedOwners, replica, signal);
    } catch (error) {
      deps.log.warn({ err: error }, "workflows of deleted cron workflows are not deleted yet");
    }
    await deletedOwners.rest(signal);
  }
}

async function deleteOnce(
  deps: ServiceDeps,
  deletedOwners: DeletedOwners,
  replica: string,
  signal: AbortSignal,
): Promise<void> {
  const { manifests, membership } = deps.store;
  const { items } = await manifests.list(KIND, { limit: 0 });
  if (items.length === 0) return;
  const replicas = await membership.replicas();
  for (const item of items) {
    const owner = parseDeletedOwner(item.text);
    if (owner === undefined) {
      await manifests.remove(KIND, item.namespace, item.name, item.version);
      continue;
    }
    const isMine = deletedOwners.isOwn(owner) ||
      ownerOf(hashText(owner.uid), replicas) === replica;
    if (!isMine || signal.aborted) continue;
    if (!owner.orphans && !await isStored(deps, owner)) {
      await deleteDependents(deps, owner, signal);
    }
    if (deps.clock.now() < owner.at + NOTE_KEPT_MS || signal.aborted) continue;
    await manifests.remove(KIND, item.namespace, item.name, item.version);
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
