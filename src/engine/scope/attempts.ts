/** The attempts of a retry node, and the variables through which an attempt knows of those before it. */
import { membersOf, memoryOf } from "../live.ts";
import type { NodeRecord } from "../records.ts";

/** Attempts of a retry node, oldest first. */
export function attemptsOf(wrapper: NodeRecord): NodeRecord[] {
  return membersOf(wrapper).filter(({ role }) => role === "attempt");
}

/** How many attempts a retry node has. */
export function attemptCount(wrapper: NodeRecord): number {
  // Its other members are hooks, which are not counted.
  return memoryOf(wrapper).memberCount;
}

/** The first attempt, if there is one. */
export function firstAttempt(wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(wrapper, 0, 1);
}

/** The latest attempt, if there is one. */
export function latestAttempt(wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(wrapper, 0, -1);
}

/** The node that has the outputs: for a retry node its last attempt. */
export function nodeWithOutputs(node: NodeRecord): NodeRecord {
  if (node.type !== "Retry") return node;
  return latestAttempt(node) ?? node;
}

/** Address of the pod. A daemon that is attempted again is found where it was, until its next attempt is ready. */
export function addressOf(node: NodeRecord): string | undefined {
  if (node.type !== "Retry") return node.podIP;
  return membersOf(node).findLast(({ role, podIP }) => role === "attempt" && podIP !== undefined)
    ?.podIP;
}

/** The attempt after `skip` others, from the first or from the last. Walks over those only, not over all attempts. */
function attemptFrom(
  wrapper: NodeRecord,
  skip: number,
  direction: 1 | -1,
): NodeRecord | undefined {
  const members = membersOf(wrapper);
  let left = skip;
  for (let at = direction === 1 ? 0 : members.length - 1; at in members; at += direction) {
    const node = members[at];
    if (node?.role === "attempt" && left-- === 0) return node;
  }
  return undefined;
}

/** `retries` and `lastRetry.*` inside the attempt with this index. */
export function retryLocals(wrapper: NodeRecord, index: number): Record<string, string> {
  const after = attemptCount(wrapper) - index;
  const last = index === 0 ? undefined : attemptFrom(wrapper, after, -1);
  return last === undefined
    ? {
      retries: String(index),
      "lastRetry.exitCode": "0",
      "lastRetry.status": "",
      "lastRetry.duration": "0",
      "lastRetry.message": "",
    }
    : {
      retries: String(index),
      ...lastRetry(last),
      "lastRetry.exitCode": last.outputs?.exitCode ?? "0",
    };
}

/** `lastRetry.*` in the expression of a strategy, after an attempt that has ended. */
export function lastRetry(last: NodeRecord): Record<string, string> {
  const duration = Math.floor(((last.finishedAt ?? 0) - (last.startedAt ?? 0)) / 1000);
  return {
    "lastRetry.exitCode": last.outputs?.exitCode ?? "-1",
    "lastRetry.status": last.phase,
    "lastRetry.duration": String(duration),
    "lastRetry.message": last.message ?? "",
  };
}
