/**
 * How many workflows store and archive have together, by phase and creation. What only the archive has comes from its
 * rollups. Workflows that both have are noted in the archive, so they count once, as the store has them.
 */
import type { ArchivedEntry } from "../../archive/port.ts";
import type { History } from "../deps.ts";
import { notedLive } from "../../archive/noted_live.ts";

/** Workflows that the store is asked for at once. */
const PAGE = 1_000;

/** By phase: the number of each span. */
export type SpanCounts = Record<string, number[]>;

export interface CountedSpans {
  /** Epoch ms, ascending: a span goes from one up to, and not including, the next. */
  bounds: readonly number[];
  /** Undefined: all. */
  namespace?: string | undefined;
}

/**
 * @param countLive counts what is in the store. It comes last, so that a workflow that leaves meanwhile is not counted twice:
 * until the next count it may be missing
 */
export async function countBoth(
  history: History,
  { bounds, namespace }: CountedSpans,
  countLive: () => Promise<SpanCounts>,
): Promise<SpanCounts> {
  const { phases } = await history.archive.createdCounts(bounds, namespace);
  const noted = await notedIn(history, { bounds, namespace });
  const before = await stillLive(history, noted);
  const live = await countLive();
  // What has come back meanwhile is counted in the store.
  const back = await stillLive(history, noted.filter((entry) => !before.has(entry)));
  for (const { phase, createdAt } of [...before, ...back]) {
    const counts = phases[phase];
    const span = bounds.findLastIndex((bound) => bound <= createdAt);
    // One that went to the archive after its rows were counted is not among them.
    if (counts?.[span] !== undefined && counts[span] > 0) counts[span]--;
  }
  return sumOf(phases, live, bounds.length - 1);
}

async function notedIn(
  { archive }: History,
  { bounds, namespace }: CountedSpans,
): Promise<ArchivedEntry[]> {
  const [from = 0, to = 0] = [bounds[0], bounds.at(-1)];
  const found: ArchivedEntry[] = [];
  for await (const page of notedLive(archive)) {
    for (const entry of page) {
      const isInside = entry.createdAt >= from && entry.createdAt < to;
      if (isInside && (namespace ?? entry.namespace) === entry.namespace) found.push(entry);
    }
  }
  return found;
}

async function stillLive(
  { live: { query } }: History,
  entries: readonly ArchivedEntry[],
): Promise<Set<ArchivedEntry>> {
  const found = new Set<ArchivedEntry>();
  for (let first = 0; first < entries.length; first += PAGE) {
    await Promise.all(
      entries.slice(first, first + PAGE).map(async (entry) => {
        if (await query.findByUid(entry.uid) !== undefined) found.add(entry);
      }),
    );
  }
  return found;
}

function sumOf(a: SpanCounts, b: SpanCounts, spans: number): SpanCounts {
  return Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])].map((phase) => [
      phase,
      Array.from({ length: spans }, (_, at) => (a[phase]?.[at] ?? 0) + (b[phase]?.[at] ?? 0)),
    ]),
  );
}
