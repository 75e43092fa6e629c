/** Cron workflows and the workflows that they made. */
import type { ArchivedEntry } from "../../archive/port.ts";
import { defined } from "../../base/defined.ts";
import { nextTurn } from "../../platform/clock.ts";
import { type CronWorkflow, ManifestKind } from "../../spec/manifest.ts";
import { cronLabel } from "../../spec/naming.ts";
import type { IndexEntry, ListPage } from "../../store/port.ts";
import type { ServiceDeps } from "../deps.ts";
import { readManifest } from "../manifests/reads.ts";
import { undefinedWhenNotFound } from "../problem_kinds.ts";
import { NOT_ARCHIVED } from "../workflows/reads.ts";
import { ownersOf } from "../workflows/stored_workflow.ts";

const KIND = ManifestKind.CronWorkflow;
/** Workflows of a cron workflow that are read at once. */
const CHILDREN_PAGE = 500;

/**
 * A cron workflow with its workflows in the store; undefined when it no longer exists. Those of an earlier one of its name,
 * which were left when that was deleted, are nobody's.
 */
export async function findCron(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<{ cron: CronWorkflow; children: IndexEntry[] } | undefined> {
  const stored = await deps.store.manifests.get(KIND, namespace, name);
  if (stored === undefined) return undefined;
  const cron = await readManifest<CronWorkflow>(deps, KIND, namespace, name).catch(
    undefinedWhenNotFound,
  );
  if (cron === undefined) return undefined;
  const children = await childrenOf(deps, namespace, name, cron.metadata.uid);
  return { cron: { ...cron, metadata: { ...cron.metadata, name, namespace } }, children };
}

/** Active runs that the archive has: they ended, and moved there, before anybody looked. */
export async function archivedRuns(
  { history }: ServiceDeps,
  { status }: CronWorkflow,
  live: ReadonlyMap<string, unknown>,
): Promise<Pick<ArchivedEntry, "uid" | "phase">[]> {
  if (history === undefined) return [];
  const found: Pick<ArchivedEntry, "uid" | "phase">[] = [];
  for (const { uid } of status?.active ?? []) {
    if (typeof uid !== "string" || live.has(uid)) continue;
    // One after the other: each comes with its object, which may be large.
    const row = await history.archive.get(uid);
    if (row !== undefined) found.push({ uid, phase: row.phase });
  }
  return found;
}

/** Those that are kept may be many, so their headers are read page by page. */
async function childrenOf(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  uid: string | undefined,
): Promise<IndexEntry[]> {
  const { query } = deps.history?.live ?? deps.store;
  const key = cronLabel(deps.settings.naming);
  const labels = [{ key, operator: "=" as const, values: [name] }, NOT_ARCHIVED];
  const children: IndexEntry[] = [];
  let from: string | undefined;
  do {
    const page: ListPage = await query.list({
      ...{ kind: "wf", namespace, labels, limit: CHILDREN_PAGE, parts: ["h"] },
      ...defined({ continue: from }),
    });
    for (const { index, parts } of page.items) {
      const owners = ownersOf(parts["h"]);
      const isOwn = owners.some((owner) => owner.controller === true && owner.uid === uid);
      if (isOwn) children.push(index);
    }
    from = page.continue;
    if (from !== undefined) await nextTurn();
  } while (from !== undefined);
  return children;
}
