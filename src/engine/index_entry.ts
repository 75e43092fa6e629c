/**
 * What lists filter and sort by. Actors that are never listed have no entry. Both times are at or after `createdAt`, so a
 * list that ends at a certain time need not look at newer entries.
 */
export interface IndexEntry {
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Workflow phase, "" before the first step. */
  phase: string;
  /** Epoch ms, as the object shows it; earlier when the object says that it began before it was created. */
  createdAt: number;
  /** Epoch ms, as the object shows them. */
  startedAt?: number;
  finishedAt?: number;
  /** Since when the suspend step waits that waits longest, epoch ms; absent when none waits. */
  waitsSince?: number;
}
