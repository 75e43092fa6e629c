/** Work on many nodes that takes several turns: manual retries, and requests about nodes that wait. Plain data. */
import type { ControlRequest } from "./command.ts";

/** A request about single nodes. */
export type NodeRequest = Extract<ControlRequest, { type: "resume" | "set" | "stop" }>;

/** A request about many nodes. */
export interface NodeOrder {
  request: NodeRequest;
  /** Nodes that the request has not reached yet, the next one last. */
  nodes: string[];
}

/** Where a graph has too many edges: a node's creation order, and the first of its predecessors that is not followed. */
export type EdgeLimit = readonly [order: number, predecessor: number];

/** What a manual retry does to nodes, by their ids. */
export interface RetryPlan {
  /** They are removed, with everything below them. */
  remove: ReadonlySet<string>;
  /** Groups that are opened again. Some of them may also be removed. */
  reset: ReadonlySet<string>;
  /** Those of them that begin only after a daemon that begins again. Absent: none. */
  late?: ReadonlySet<string>;
  /** See `Edges`. */
  limit?: EdgeLimit;
}

/** A manual retry that takes several turns. */
export interface Retrying {
  plan: RetryPlan;
  /** What is left to do, the next step last; absent until it is worked out. */
  work?: RetryStep[];
}

/** What a manual retry does to one node. */
export type RetryStep = readonly [action: "remove" | "open" | "keep-parents", node: string];
