/**
 * What lists filter and sort by. Absent for actors that are never listed. No time is before `createdAt`, so that a list
 * that is bounded by one of them needs to look at nothing that is newer.
 */
export interface IndexEntry {
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Workflow phase, "" before the first step. */
  phase: string;
  /** Epoch ms; as the object itself shows it, but for one that says that it began before it was made. */
  createdAt: number;
  /** Epoch ms, as the object itself shows them. */
  startedAt?: number;
  finishedAt?: number;
}
