/** Counts of listed entries by the time of their creation. */

/** Listed entries of a namespace, or of a phase; of neither: all. */
export interface CountedEntries {
  namespace?: string;
  /** Not together with a namespace. */
  phase?: string;
  /** Those with a step that waits, by the beginning of their longest wait in place of their creation. Alone. */
  waiting?: true;
}

export interface EntryCounts {
  /** When the oldest entry was created, epoch ms; undefined if there is none, and for those that wait. */
  oldest: number | undefined;
  /** Entries of each span. */
  counts: number[];
}
