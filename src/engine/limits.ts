/**
 * What one workflow may grow to: a number of nodes, and a size of its stored parts. A workflow that outgrows its limits
 * ends in phase Error.
 */
import type { Turn } from "./turn.ts";

/** The settings of the limits, for messages. */
export const NODES_SETTING = "--max-nodes";
const BYTES_SETTING = "--max-workflow-bytes";

/** The workflow would outgrow its limits. It ends with this text. */
export class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";
}

/** @throws {LimitExceeded} when the workflow has as many nodes as it may have */
export function checkNodeCount({ state, env }: Turn): void {
  const most = env.limits?.nodes ?? Infinity;
  if (state.nodes.size < most) return;
  throw new LimitExceeded(
    `the workflow has ${state.nodes.size} nodes and needs more: ${NODES_SETTING} allows ${most}`,
  );
}

/** @throws {LimitExceeded} when a loop has more elements than the workflow may have nodes */
export function checkLoop({ env }: Turn, count: number): void {
  const most = env.limits?.nodes ?? Infinity;
  if (count > most) {
    throw new LimitExceeded(`a loop has ${count} elements: ${NODES_SETTING} allows ${most} nodes`);
  }
}

/** @throws {LimitExceeded} when the workflow holds more than it may hold, or is about to */
export function checkBytes({ state, env, budget }: Turn): void {
  const most = env.limits?.bytes ?? Infinity;
  const size = state.sizes.total + (budget?.stored ?? 0);
  if (size > most) throw new LimitExceeded(tooLarge("the workflow holds", size, most));
  const waiting = state.runtime.callCharacters;
  if (waiting > most) {
    throw new LimitExceeded(tooLarge("the arguments of its loops have", waiting, most));
  }
}

function tooLarge(what: string, size: number, most: number): string {
  return `${what} ${size} bytes: ${BYTES_SETTING} allows ${most}`;
}
