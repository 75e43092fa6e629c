/** What an attempt and a retry expression know about the attempts before. */
import type { NodeRecord, Turn } from "./state.ts";

/** Attempts of a retry node, oldest first. */
export function attemptsOf(turn: Turn, wrapper: NodeRecord): NodeRecord[] {
  return (turn.state.runtime.members.get(wrapper.id) ?? [])
    .map((id) => turn.state.nodes.get(id))
    .filter((node) => node !== undefined)
    .filter((node) => node.role === "attempt");
}

/** How many attempts a retry node has. */
export function attemptCount({ state }: Turn, wrapper: NodeRecord): number {
  // Besides attempts it has hooks only.
  return state.runtime.memberCounts.get(wrapper.id) ?? 0;
}

export function firstAttempt(turn: Turn, wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(turn, wrapper, 0, 1);
}

export function latestAttempt(turn: Turn, wrapper: NodeRecord): NodeRecord | undefined {
  return attemptFrom(turn, wrapper, 0, -1);
}

/** The attempt that has `skip` others on one side: a walk over those, and not over all that there are. */
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

/** `retries` and `lastRetry.*` inside the attempt of this index. */
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

/** `lastRetry.*` about an attempt that has ended. */
export function lastRetry(last: NodeRecord): Record<string, string> {
  const duration = Math.floor(((last.finishedAt ?? 0) - (last.startedAt ?? 0)) / 1000);
  return {
    "lastRetry.exitCode": last.outputs?.exitCode ?? "-1",
    "lastRetry.status": last.phase,
    "lastRetry.duration": String(duration),
    "lastRetry.message": last.message ?? "",
  };
}
