/** Deletes the workflows of cron workflows and workflows that were deleted. */
import { hashText } from "../actors/actor_ids.ts";
import { ownerOf } from "../actors/replicas/rendezvous.ts";
import { Problem } from "../base/problem.ts";
import { ManifestKind } from "../spec/manifest.ts";
import { cronLabel, ownedByLabel } from "../spec/naming.ts";
import { manifestPages } from "../store/manifest_pages.ts";
import type { ListPage } from "../store/port.ts";
import {
  type DeletedOwner,
  type DeletedOwners,
  NOTE_KEPT_MS,
  parseDeletedOwner,
  withDependents,
} from "./deleted_owners.ts";
import type { ServiceDeps } from "./deps.ts";
import { isDeleted } from "./history/archived_form.ts";
import { isGone, isTransient } from "./problem_kinds.ts";
import { isFromObject } from "./workflows/object_origin.ts";
import { NOT_ARCHIVED } from "./workflows/reads.ts";
import { metadataOf, ownersOf } from "./workflows/stored_workflow.ts";

const KIND = ManifestKind.DeletedOwner;
const LATER = "workflows of deleted owners are not deleted yet";
/** Workflows that are deleted at once. */
const PAGE = 50;

/** Deletes what belongs to noted owners until the signal aborts. All replicas do so; a repeat does no harm. */
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
      deps.log.warn({ err: error }, LATER);
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
  for await (const { items } of manifestPages(manifests, KIND)) {
    const replicas = items.length === 0 ? [] : await membership.replicas();
    for (const item of items) {
      const owner = parseDeletedOwner(item.text);
      if (owner === undefined) {
        await manifests.remove(KIND, item.namespace, item.name, item.version);
        continue;
      }
      const isMine = deletedOwners.isOwn(owner) ||
        ownerOf(hashText(owner.uid), replicas) === replica;
      if (!isMine || signal.aborted) continue;
      try {
        if (!owner.orphans && !await isStored(deps, owner)) {
          await deleteDependents(deps, owner, signal);
        }
      } catch (error) {
        // Its note stays, so it is tried again; the others go on.
        const { namespace, name } = owner;
        deps.log.warn({ namespace, owner: name, err: error }, LATER);
        continue;
      }
      if (deps.clock.now() < owner.at + NOTE_KEPT_MS || signal.aborted) continue;
      await manifests.remove(KIND, item.namespace, item.name, item.version);
    }
    if (signal.aborted) break;
  }
}

/** Tells whether an owner is still there: somebody was faster with a change, or the deletion is under way. */
async function isStored(deps: ServiceDeps, owner: DeletedOwner): Promise<boolean> {
  if (owner.kind === "Workflow") return await isWorkflowThere(deps, owner);
  const { store } = deps;
  const { namespace, name, uid } = owner;
  const stored = await store.manifests.get(ManifestKind.CronWorkflow, namespace, name);
  return stored !== undefined && metadataOf(stored.text)?.["uid"] === uid;
}

/** Tells whether a workflow is there, and not only as a deleted one in the archive. */
async function isWorkflowThere(
  { store, history, settings: { naming } }: ServiceDeps,
  { namespace, name, uid }: Pick<DeletedOwner, "namespace" | "name" | "uid">,
): Promise<boolean> {
  const { items } = await (history?.live ?? store).query.list({
    ...{ kind: "wf", namespace, limit: 1, parts: [] },
    name: { value: name, match: "exact" },
    labels: [NOT_ARCHIVED],
  });
  if (items[0]?.index.uid === uid) return true;
  const archived = await history?.archive.get(uid);
  return archived !== undefined && !isDeleted(archived.labels, naming);
}

/** Deletes the workflows that belong to an owner and to nothing else that is there, page by page. Those in the archive stay. */
async function deleteDependents(
  deps: ServiceDeps,
  { kind, namespace, name, uid }: DeletedOwner,
  signal: AbortSignal,
): Promise<void> {
  const { query } = deps.history?.live ?? deps.store;
  const [key, value] = kind === "Workflow"
    ? [ownedByLabel(uid), ""]
    : [cronLabel(deps.settings.naming), name];
  const labels = [{ key, operator: "=" as const, values: [value] }, NOT_ARCHIVED];
  let from: string | undefined;
  do {
    const page: ListPage = await query.list({
      ...{ kind: "wf", namespace, labels, limit: PAGE, parts: ["h"] },
      ...(from !== undefined && { continue: from }),
    });
    await Promise.all(page.items.map(async (item) => {
      if (!await belongsOnlyTo(deps, item, uid)) return;
      await deleteOne(deps, namespace, item.index.name, item.index.uid);
    }));
    from = page.continue;
  } while (from !== undefined && !signal.aborted);
}

async function belongsOnlyTo(
  deps: ServiceDeps,
  { index, parts }: ListPage["items"][number],
  uid: string,
): Promise<boolean> {
  // The cluster deletes its own objects.
  if (isFromObject(index)) return false;
  const owners = ownersOf(parts["h"]);
  const others = owners.filter((owner) => owner.uid !== uid);
  if (others.length === owners.length) return false;
  for (const { kind, name = "", uid: otherUid } of others) {
    if (kind !== "Workflow" || otherUid === undefined) return false;
    const other = { namespace: index.namespace, name, uid: otherUid };
    if (await isWorkflowThere(deps, other)) return false;
  }
  return true;
}

async function deleteOne(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  uid: string,
): Promise<void> {
  const { host, log } = deps;
  try {
    await withDependents(
      deps,
      { namespace, name, uid },
      () => host.execute(namespace, name, { type: "delete", uid }),
    );
  } catch (error) {
    if (isGone(error)) return;
    if (!(error instanceof Problem) || isTransient(error)) throw error;
    log.warn({ namespace, workflow: name, reason: error.message }, "workflow not deleted");
  }
}
