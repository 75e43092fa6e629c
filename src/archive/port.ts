/**
 * The archive port: finished workflows on disk. Adapters: SQLite (a file of its own, the default beside the embedded store) and
 * PostgreSQL (the reference's tables). One contract suite (`test/contract/archive/archive.test.ts`) runs on both.
 *
 * Ground rules, for every adapter:
 * - A resolved promise means durable.
 * - A row is one finished workflow, by its uid. Names repeat: many rows may have the same namespace and name.
 * - Writing a row again replaces it, unless the stored edition is newer (`edition`). So a writer may repeat itself.
 * - No call counts or reads all rows. Work is in proportion to the page, or bounded by `maxScan`.
 * - Trouble with the backend (down, read-only, full) is a `Problem` with code Unavailable.
 */
import type { EntryFilter } from "../expr/selectors/entry_filter.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";

/** What lists filter and sort by. All times are epoch ms. */
export interface ArchivedEntry {
  uid: string;
  namespace: string;
  name: string;
  /** `Succeeded`, `Failed` or `Error`. */
  phase: string;
  labels: Record<string, string>;
  /** To the second, as in the live store's index. */
  createdAt: number;
  startedAt?: number;
  finishedAt: number;
  /** Parameters by which lists may filter (`--archive-index-parameters`), name → value. */
  parameters?: Record<string, string>;
}

/** A workflow on its way into the archive, or out of it. */
export interface ArchivedWorkflow extends ArchivedEntry {
  /**
   * How often the workflow has ended: 1, and one more with each retry. An older edition never replaces a newer one. Rows of
   * other writers have 0.
   */
  edition: number;
  /** The whole Workflow object with its status, as JSON text. */
  object: string;
}

/** Where a list goes on: after this row, in the order of lists. */
export interface ArchivePosition {
  createdAt: number;
  /** `namespace/name`. */
  place: string;
  uid: string;
}

/** Filters of a list. All given ones must hold; bounds are inclusive. Nothing starts or ends before it is created. */
export interface ArchiveQuery extends EntryFilter {
  /** The parameter has this value. It must be one that is indexed; others are InvalidArgument. */
  parameter?: { name: string; value: string };
  /** 1 to 1,000. */
  limit: number;
  /** Once the objects of the page have this many characters, it ends. */
  maxSize?: number;
  /** Most rows to examine, roughly: a page that finds few among many ends there, with a position to go on from. */
  maxScan?: number;
  after?: ArchivePosition;
  /** Leaves `object` out ("" in each row). */
  withoutObjects?: boolean;
  /** Leaves the nodes and the stored templates out of `object`, before it leaves the backend where that is possible. */
  withoutNodes?: boolean;
}

/**
 * Newest first: by `createdAt`, then by `namespace/name` and by uid as bytes, all descending. The live store's lists have the
 * same order (its ids are `wf/namespace/name`), so the two can be merged.
 */
export interface ArchivePage {
  items: ArchivedWorkflow[];
  /** Absent when there is no more. */
  next?: ArchivePosition;
}

/** Rows that may go. All given filters must hold. */
export interface RetentionRule {
  namespace?: string;
  labels?: LabelTerm[];
  phases?: string[];
  /** Ended before then, epoch ms. */
  finishedBefore: number;
}

/** Where a search for expired rows goes on: after this row. */
export interface ExpiryPosition {
  finishedAt: number;
  uid: string;
}

/** Rows that a retention rule selects, those that ended first. */
export interface ExpiredPage {
  items: ArchivedEntry[];
  /** Absent when there is no more. A page may be short, or empty, and yet have it: each call examines a bounded number of rows. */
  next?: ExpiryPosition;
}

/** How many workflows ended on a day: exact, kept with the rows in one transaction. */
export interface DayCount {
  /** `2026-11-23`, UTC day of the end. */
  day: string;
  namespace: string;
  phase: string;
  /** `namespaced/NAME` or `cluster/NAME`; "" for none. */
  template: string;
  count: number;
  /** Sum of the durations from start to end, ms. */
  durationMs: number;
}

/** How many rows were created when: exact, kept with the rows in one transaction. */
export interface CreatedCounts {
  /** When the oldest was created; absent when there is none. */
  oldest?: number;
  /** By phase: the number of each span. */
  phases: Record<string, number[]>;
}

export interface Archive {
  /**
   * Writes rows, all or none, and notes of each that the store has it too. At most 200 at once. A repeat, which may be late,
   * leaves the note of `noteBack` as it is.
   * @throws {Problem} Unavailable; InvalidArgument when one of the rows can never be stored
   */
  put(rows: readonly ArchivedWorkflow[]): Promise<void>;
  /** By uid. */
  get(uid: string): Promise<ArchivedWorkflow | undefined>;
  /** The newest of a name. */
  findByName(namespace: string, name: string): Promise<ArchivedWorkflow | undefined>;
  list(query: ArchiveQuery): Promise<ArchivePage>;
  /** Tells which of these uids have a row, with its edition. At most 1,000 at once. */
  editions(uids: readonly string[]): Promise<Map<string, number>>;
  /** Removes rows; those that are not there are no error. At most 1,000 at once. */
  remove(uids: readonly string[]): Promise<void>;
  /** Entries that a retention rule selects, at most `limit` (1 to 1,000), after a position. */
  expired(rule: RetentionRule, limit: number, after?: ExpiryPosition): Promise<ExpiredPage>;
  /** Label keys, sorted, at most `limit`. */
  labelKeys(namespace: string | undefined, limit: number): Promise<string[]>;
  /** Values of a label key, sorted, at most `limit`. */
  labelValues(namespace: string | undefined, key: string, limit: number): Promise<string[]>;
  /**
   * Counts per day from rollups, newest day first, then by namespace, phase and template.
   * @param from first day, `2026-11-01`
   * @param to last day
   * @param limit most counts. @default {10_000}
   */
  dayCounts(from: string, to: string, namespace?: string, limit?: number): Promise<DayCount[]>;
  /**
   * Counts rows by phase and creation from rollups.
   * @param bounds epoch ms, ascending: a span goes from one up to, and not including, the next
   */
  createdCounts(bounds: readonly number[], namespace?: string): Promise<CreatedCounts>;
  /** Notes of rows that the store has them too, because they come back there. At most 1,000 at once. */
  noteBack(uids: readonly string[]): Promise<void>;
  /**
   * Takes the notes of `put` away: the workflows have left the store. At most 1,000 at once. Those that have come back since
   * keep their note, unless it is certain that it is wrong.
   * @param isCertain @default {false}
   */
  noteLeft(uids: readonly string[], isCertain?: boolean): Promise<void>;
  /**
   * Rows with such a note, by uid, after a uid, at most `limit`. Of a workflow that the store and the archive have there is
   * one. There may be one of a workflow that has left the store.
   */
  notedLive(limit: number, after?: string): Promise<ArchivedEntry[]>;
  /** Resolves when the backend answers; rejects with Unavailable otherwise. */
  ping(): Promise<void>;
  close(): Promise<void>;
}
