/** Ends the time of workflows in the archive. Every replica looks; a removal that another one did is fine. */
import { isArchivedActor } from "../actors/actor_ids.ts";
import { Problem, ProblemCode } from "../base/problem.ts";
import { archivingStatusLabel } from "../spec/naming.ts";
import type { ServiceDeps } from "./deps.ts";

/** Looks are so far apart. */
const SWEEP_MS = 60_000;
const PAGE = 100;

/**
 * Removes deleted workflows that finished longer ago than `ttlMs`, now and then, until the signal aborts.
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
      ...(cursor === undefined ? {} : { continue: cursor }),
    });
    for (const { id, index } of page.items) {
      if (!isArchivedActor(id)) continue;
      await deps.host.execute(index.namespace, index.name, { type: "delete", force: true })
        .catch((error: unknown) => {
          if (!(error instanceof Problem && error.code === ProblemCode.NotFound)) throw error;
        });
    }
    cursor = page.continue;
  } while (cursor !== undefined);
}
