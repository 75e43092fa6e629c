/** The names of a workflow's durable timers. Setting a timer again moves it. */
import type { NodeRecord } from "./records.ts";

/** A finished workflow is to be deleted. */
export const TTL_TIMER = "ttl";
/** The time of the whole workflow is up. */
export const DEADLINE_TIMER = "workflow-deadline";
/** The last turn was cut short, so there has to be another one. */
export const GO_ON_TIMER = "go-on";

const OF_NODE = "node/";

/** Name of the one timer that a node may have. */
export function timerId(node: NodeRecord): string {
  return OF_NODE + node.id;
}

/** Id of the node whose timer this is; undefined for one of the workflow as a whole. */
export function nodeOfTimer(timer: string): string | undefined {
  return timer.startsWith(OF_NODE) ? timer.slice(OF_NODE.length) : undefined;
}
