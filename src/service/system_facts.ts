/** What is told about the deployment. */
import type { ReplicaReport } from "../actors/port.ts";
import type { Durability } from "../store/port.ts";

export interface SystemFacts {
  version: string;
  /** Number of shards. */
  shards: number;
  replicas: ReplicaReport[];
  store: {
    kind: string;
    durability: { asked: string; promised: Durability };
    /** How long it took to answer, ms. Absent: it did not answer. */
    answeredAfterMs?: number;
    /** Why it did not answer. */
    trouble?: string;
  };
  events: {
    /** Events queued, in work or waiting for a retry. Absent: the store did not answer. */
    queued?: number;
    /** Beyond this, events are refused. */
    capacity: number;
  };
}
