/** Steps of a graph in a row: what is folded together, and what is laid out as a block. */

/** Each step but the last leads only to the next, and that follows only upon it. A step alone is a chain too. */
export interface Chain {
  /** Numbers of its steps. */
  steps: number[];
  /** Numbers of what it follows upon, and of what follows upon it. */
  before: string;
  after: string;
}

/** All chains of a graph, in the order of their first steps. @param isStep whether a node may be part of one */
export function chainsOf(
  ids: readonly string[],
  edges: readonly (readonly [from: string, to: string])[],
  isStep: (at: number) => boolean = () => true,
): Chain[] {
  const numbers = new Map(ids.map((id, at) => [id, at]));
  const before: number[][] = ids.map(() => []);
  const after: number[][] = ids.map(() => []);
  for (const [from, to] of edges) {
    const [start, end] = [numbers.get(from), numbers.get(to)];
    if (start === undefined || end === undefined) continue;
    before[end]?.push(start);
    after[start]?.push(end);
  }
  const nextOf = (at: number): number | undefined => {
    const next = onlyOne(after[at]);
    const isOnly = next !== undefined && onlyOne(before[next]) !== undefined;
    return isOnly && isStep(at) && isStep(next) ? next : undefined;
  };
  const listed = (all: number[] = []) => all.sort((a, b) => a - b).join();
  return ids.flatMap((_, start) => {
    const last = onlyOne(before[start]);
    if (last !== undefined && nextOf(last) === start || !isStep(start)) return [];
    const steps = [start];
    let end = start;
    for (let at = nextOf(start); at !== undefined; at = nextOf(at)) steps.push(end = at);
    return [{ steps, before: listed(before[start]), after: listed(after[end]) }];
  });
}

function onlyOne(all: readonly number[] = []): number | undefined {
  return all.length === 1 ? all[0] : undefined;
}
