/** Removes workflows from the archive when their time is over. All replicas do so; it is fine if another was faster. */
import { defined } from "../../base/defined.ts";
import { isArchivedActor } from "../../actors/actor_ids.ts";
import { archivingStatusLabel } from "../../spec/naming.ts";
import type { ServiceDeps } from "../deps.ts";
import { undefinedWhenNotFound } from "../problem_kinds.ts";

/** Time between two sweeps. */
const SWEEP_MS = 60_000;
const PAGE = 100;

/**
 * Removes deleted workflows that finished longer ago than `ttlMs`, again and again until the signal aborts.
 */
export async function sweepArchive(
  deps: ServiceDeps,
  ttlMs: number,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await removeExpired(deps, deps.clock.now() - ttlMs);
    } catch (error) {
      deps.log.warn({ err: error }, "the archive was not swept");
    }
    await deps.clock.sleep(Math.min(SWEEP_MS, ttlMs), signal);
  }
}

async function removeExpired(deps: ServiceDeps, finishedBefore: number): Promise<void> {
  let cursor: string | undefined;
  do {
    const page = await deps.store.query.list({
      kind: "wf",
      labels: [{
        key: archivingStatusLabel(deps.settings.naming),
        operator: "=",
        values: ["Persisted"],
      }],
      finishedBefore,
      limit: PAGE,
      parts: [],
      ...defined({ continue: cursor }),
    });
    for (const { id, index } of page.items) {
      if (!isArchivedActor(id)) continue;
      await deps.host.execute(index.namespace, index.name, { type: "delete", force: true })
        .catch(undefinedWhenNotFound);
    }
    cursor = page.continue;
  } while (cursor !== undefined);
}
