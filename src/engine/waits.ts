/** Suspend nodes that wait, and since when the one waits that waits longest. */
import type { NodeRecord } from "./records.ts";

export interface Waits {
  /** Undefined as long as none has waited. */
  ids: Set<string> | undefined;
  /** Epoch ms; undefined: none waits; null: `waitsSince` has to look. */
  since: number | undefined | null;
}

export function noWaits(): Waits {
  return { ids: undefined, since: undefined };
}

/** Adds a node that waits, or takes it out. */
export function countWait(waits: Waits, { id, startedAt = 0 }: NodeRecord, sign: 1 | -1): void {
  const ids = waits.ids ??= new Set();
  if (sign === 1) {
    ids.add(id);
    if (waits.since !== null) waits.since = Math.min(waits.since ?? Infinity, startedAt);
    return;
  }
  ids.delete(id);
  if (ids.size === 0) waits.since = undefined;
  // Another end changes nothing.
  else if (waits.since === startedAt) waits.since = null;
}

/** Since when the node waits that waits longest, epoch ms; undefined when none waits. */
export function waitsSince(
  waits: Waits,
  nodes: ReadonlyMap<string, NodeRecord>,
): number | undefined {
  if (waits.since === null) {
    let since = Infinity;
    for (const id of waits.ids ?? []) since = Math.min(since, nodes.get(id)?.startedAt ?? 0);
    waits.since = since;
  }
  return waits.since;
}
