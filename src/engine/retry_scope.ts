/** What an attempt and a retry expression know about the attempts before. */
import type { NodeRecord, Turn } from "./state.ts";

/** Attempts of a retry node, oldest first. */
export function attemptsOf(turn: Turn, wrapper: NodeRecord): NodeRecord[] {
  return (turn.state.runtime.members.get(wrapper.id) ?? [])
    .map((id) => turn.state.nodes.get(id))
    .filter((node) => node !== undefined)
    .filter((node) => node.role === "attempt");
}

/** `retries` and `lastRetry.*` inside the attempt of this index. */
export function retryLocals(
  turn: Turn,
  wrapper: NodeRecord,
  index: number,
): Record<string, string> {
  const last = index === 0 ? undefined : attemptsOf(turn, wrapper)[index - 1];
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
