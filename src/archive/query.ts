/** What lists of the archive mean, for both adapters: which rows a query selects, in which order, how rows are counted. */
import { invalid } from "../base/problem.ts";
import { timeOf } from "../base/time_of.ts";
import { passesFilter } from "../expr/selectors/entry_filter.ts";
import { matchesLabels } from "../expr/selectors/label_selector.ts";
import type {
  ArchivedEntry,
  ArchivePosition,
  ArchiveQuery,
  DayCount,
  ExpiryPosition,
  RetentionRule,
} from "./port.ts";

/** Most rows of a page. */
export const MAX_LIMIT = 1_000;
/** Most rows that are written at once. */
export const MAX_PUT = 200;
/** Most uids that are named at once. */
export const MAX_UIDS = 1_000;

/** Newest of all times. */
const LATEST_MS = 8.64e15;

/** `namespace/name`, by which rows of the same time are ordered. */
export function placeOf({ namespace, name }: Pick<ArchivedEntry, "namespace" | "name">): string {
  return `${namespace}/${name}`;
}

/** Where a row stands in lists. */
export function positionOf(entry: ArchivedEntry): ArchivePosition {
  return { createdAt: entry.createdAt, place: placeOf(entry), uid: entry.uid };
}

/** Where a row stands among those that expire. */
export function expiryOf({ finishedAt, uid }: ArchivedEntry): ExpiryPosition {
  return { finishedAt, uid };
}

/** Negative when `a` comes before `b` in a list. */
export function comparePositions(a: ArchivePosition, b: ArchivePosition): number {
  return b.createdAt - a.createdAt || compareBytes(b.place, a.place) || compareBytes(b.uid, a.uid);
}

/** Order of texts as UTF-8 has them. */
export function compareBytes(a: string, b: string): number {
  if (a === b) return 0;
  return Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** The first position of lists that a query can select: nothing starts or ends before it is created. */
export function beginningOf(query: ArchiveQuery): ArchivePosition {
  const bound = Math.min(query.startedBefore ?? LATEST_MS, query.finishedBefore ?? LATEST_MS);
  // Before everything that was created then: no place is empty.
  const top = { createdAt: bound + 1, place: "", uid: "" };
  return query.after === undefined || comparePositions(query.after, top) < 0 ? top : query.after;
}

/** @throws {Problem} InvalidArgument for a query that the archive can't answer */
export function checkQuery(query: ArchiveQuery, indexedParameters: ReadonlySet<string>): void {
  if (!Number.isInteger(query.limit) || query.limit < 1 || query.limit > MAX_LIMIT) {
    throw invalid(`limit must be 1 to ${MAX_LIMIT}`);
  }
  const { parameter } = query;
  if (parameter !== undefined && !indexedParameters.has(parameter.name)) {
    throw invalid(
      `Workflows of the archive cannot be found by the parameter ${
        JSON.stringify(parameter.name)
      }: ` +
        "name it in --archive-index-parameters before they end",
    );
  }
}

/** @throws {Problem} InvalidArgument for more than this many */
export function checkCount(what: string, count: number, most: number): void {
  if (count > most) throw invalid(`at most ${most} ${what} at once, not ${count}`);
}

/** Tells whether a list shows a row. */
export function matchesEntry(entry: ArchivedEntry, query: ArchiveQuery): boolean {
  const { parameter } = query;
  return (parameter === undefined || entry.parameters?.[parameter.name] === parameter.value) &&
    passesFilter(entry, query);
}

/** Tells whether a retention rule selects a row. */
export function isExpired(entry: ArchivedEntry, rule: RetentionRule): boolean {
  return entry.finishedAt < rule.finishedBefore &&
    (rule.namespace === undefined || entry.namespace === rule.namespace) &&
    (rule.phases === undefined || rule.phases.includes(entry.phase)) &&
    (rule.labels === undefined || matchesLabels(rule.labels, entry.labels));
}

/** What a row adds to the count of its day. */
export function countOf(
  entry: Pick<ArchivedEntry, "namespace" | "phase" | "startedAt" | "finishedAt">,
  template: string,
): DayCount {
  const { namespace, phase, startedAt, finishedAt } = entry;
  return {
    day: dayOf(finishedAt),
    namespace,
    phase,
    template,
    count: 1,
    durationMs: startedAt === undefined ? 0 : Math.max(0, finishedAt - startedAt),
  };
}

/** Most counts of days that are given at once. */
export const MOST_DAY_COUNTS = 10_000;

/** The UTC day of a time, `2026-11-23`. */
export function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

/** When a day begins, epoch ms. @param parameter that gives it @throws {Problem} InvalidArgument when it is no day */
export function beginOfDay(day: string, parameter: string): number {
  const time = /^\d{4}-\d\d-\d\d$/.test(day) ? timeOf(day) : undefined;
  if (time === undefined) {
    throw invalid(`${parameter}: ${JSON.stringify(day)} is not a day, as 2026-11-23`);
  }
  return time;
}

/** Changes of counts, summed up by what they count. */
export class Tally<T extends object> {
  readonly #sums = new Map<string, { item: T; sums: number[] }>();

  /** Adds amounts to what is counted under an item. */
  add(item: T, ...amounts: number[]): void {
    const key = JSON.stringify(Object.values(item));
    const known = this.#sums.get(key);
    if (known === undefined) this.#sums.set(key, { item, sums: amounts });
    else known.sums = known.sums.map((sum, index) => sum + (amounts[index] ?? 0));
  }

  /** What has changed, always in the same order, so that two writers never wait for each other in a circle. */
  changes(): { item: T; sums: number[] }[] {
    return [...this.#sums].filter(([, { sums }]) => sums.some((sum) => sum !== 0))
      .sort(([a], [b]) => compareBytes(a, b)).map(([, change]) => change);
  }
}
