/** Removes workflows from the archive when their time is over. All replicas do so; it is fine if another was faster. */
import { isArchivedActor } from "../../actors/actor_ids.ts";
import { defined } from "../../base/defined.ts";
import { archivingStatusLabel, PERSISTED } from "../../spec/naming.ts";
import type { ExpiryPosition } from "../../archive/port.ts";
import type { History, ServiceDeps } from "../deps.ts";
import type { Counter } from "../../platform/metrics.ts";
import { Removals } from "../history/removals.ts";

/** Time between two sweeps. */
const SWEEP_MS = 60_000;
const PAGE = 100;

/**
 * Removes deleted workflows that finished longer ago than `ttlMs`, again and again until the signal aborts.
 */
export async function sweepArchive(
  deps: ServiceDeps,
  { ttlMs, failures }: { ttlMs: number; failures: Counter },
  signal: AbortSignal,
): Promise<void> {
  const { clock, log, history } = deps;
  const removals = new Removals({ clock, log, failures });
  const passes = [
    ...(history === undefined ? [] : [removeArchived.bind(undefined, deps, history)]),
    removeStored.bind(undefined, deps, removals),
  ];
  while (!signal.aborted) {
    for (const pass of passes) {
      try {
        await pass(clock.now() - ttlMs);
      } catch (error) {
        log.warn({ err: error }, "the archive was not swept");
      }
    }
    await clock.sleep(Math.min(SWEEP_MS, ttlMs), signal);
  }
}

async function removeStored(
  deps: ServiceDeps,
  removals: Removals,
  finishedBefore: number,
): Promise<void> {
  const { query } = deps.history?.live ?? deps.store;
  let cursor: string | undefined;
  do {
    const page = await query.list({
      kind: "wf",
      labels: [{
        key: archivingStatusLabel(deps.settings.naming),
        operator: "=",
        values: [PERSISTED],
      }],
      finishedBefore,
      limit: PAGE,
      parts: [],
      ...defined({ continue: cursor }),
    });
    const archived = page.items.filter(({ id }) => isArchivedActor(id)).map(({ index }) => index);
    await removals.removeAll(
      archived,
      ({ namespace, name }) => deps.host.execute(namespace, name, { type: "delete", force: true }),
    );
    cursor = page.continue;
  } while (cursor !== undefined);
}

/** The same in the archive beside the store. One that is in the store again is left alone. */
async function removeArchived(
  { settings }: ServiceDeps,
  { archive, live }: History,
  finishedBefore: number,
): Promise<void> {
  const key = archivingStatusLabel(settings.naming);
  const rule = { labels: [{ key, operator: "=" as const, values: [PERSISTED] }], finishedBefore };
  let after: ExpiryPosition | undefined;
  do {
    const { items, next } = await archive.expired(rule, PAGE, after);
    const known = await Promise.all(items.map(({ uid }) => live.query.findByUid(uid)));
    const gone = items.filter((_, at) => known[at] === undefined).map(({ uid }) => uid);
    if (gone.length > 0) await archive.remove(gone);
    after = next;
  } while (after !== undefined);
}
