/** What lists filter and sort by. Absent for actors that are never listed. */
export interface IndexEntry {
  namespace: string;
  name: string;
  uid: string;
  labels: Record<string, string>;
  /** Workflow phase, "" before the first step. */
  phase: string;
  /** Epoch ms, as the object itself shows them. */
  createdAt: number;
  startedAt?: number;
  finishedAt?: number;
}
