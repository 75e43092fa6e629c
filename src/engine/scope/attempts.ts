/** The attempts of a retry node, and the variables through which an attempt knows of those before it. */
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";

/** Attempts of a retry node, oldest first. */
export function attemptsOf(turn: Turn, wrapper: NodeRecord): NodeRecord[] {
  return (turn.state.runtime.members.get(wrapper.id) ?? [])
    .map((id) => turn.state.nodes.get(id))
    .filter((node) => node !== undefined)
    .filter((node) => node.role === "attempt");
}

/** How many attempts a retry node has. */
export function attemptCount({ state }: Turn, wrapper: NodeRecord): number {
  // Its other members are hooks, which are not counted.
  return state.runtime.memberCounts.get(wrapper.id) ?? 0;
}

/** The first attempt, if there is one. */
export function firstAttempt(turn: Turn, wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(turn, wrapper, 0, 1);
}

/** The latest attempt, if there is one. */
export function latestAttempt(turn: Turn, wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(turn, wrapper, 0, -1);
}

/** The node that has the outputs: for a retry node its last attempt. */
export function nodeWithOutputs(turn: Turn, node: NodeRecord): NodeRecord {
  if (node.type !== "Retry") return node;
  return latestAttempt(turn, node) ?? node;
}

/** The attempt after `skip` others, from the first or from the last. Walks over those only, not over all attempts. */
function attemptFrom(
  { state }: Turn,
  wrapper: NodeRecord,
  skip: number,
  direction: 1 | -1,
): NodeRecord | undefined {
  const members = state.runtime.members.get(wrapper.id) ?? [];
  let left = skip;
  for (let at = direction === 1 ? 0 : members.length - 1; at in members; at += direction) {
    const node = state.nodes.get(members[at] ?? "");
    if (node?.role === "attempt" && left-- === 0) return node;
  }
  return undefined;
}

/** `retries` and `lastRetry.*` inside the attempt with this index. */
export function retryLocals(
  turn: Turn,
  wrapper: NodeRecord,
  index: number,
): Record<string, string> {
  const after = attemptCount(turn, wrapper) - index;
  const last = index === 0 ? undefined : attemptFrom(turn, wrapper, after, -1);
  return last === undefined
    ? {
      retries: String(index),
      "lastRetry.exitCode": "0",
      "lastRetry.status": "",
      "lastRetry.duration": "0",
      "lastRetry.message": "",
    }
    : { retries: String(index), ...lastRetry(last) };
}

/** `lastRetry.*` after an attempt that has ended. */
export function lastRetry(last: NodeRecord): Record<string, string> {
  const duration = Math.floor(((last.finishedAt ?? 0) - (last.startedAt ?? 0)) / 1000);
  return {
    "lastRetry.exitCode": last.outputs?.exitCode ?? "-1",
    "lastRetry.status": last.phase,
    "lastRetry.duration": String(duration),
    "lastRetry.message": last.message ?? "",
  };
}
