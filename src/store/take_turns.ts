/** The same list, each time rotated by one more, so that a busy shard at its head does not starve the others. */
export function takeTurns<T>(list: readonly T[], turn: number): T[] {
  const start = list.length === 0 ? 0 : turn % list.length;
  return [...list.slice(start), ...list.slice(0, start)];
}
