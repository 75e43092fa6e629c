/** Progress of groups: the sum over all nodes below, each counted once. Derived when somebody looks. */
import { parseProgress } from "./runtime.ts";
import { isExecutable, type WorkflowState } from "./state.ts";

export interface Sum {
  done: number;
  total: number;
  resources: Record<string, number>;
}

/** Sums of a node and everything below it. */
export function sumBelow(
  state: WorkflowState,
  children: ReadonlyMap<string, readonly string[]>,
  id: string,
): Sum {
  const sum: Sum = { done: 0, total: 0, resources: {} };
  const seen = new Set([id]);
  for (const at of seen) {
    const node = state.nodes.get(at);
    if (node === undefined) continue;
    if (isExecutable(node.type)) {
      const [done, total] = parseProgress(node.progress ?? "");
      sum.done += done;
      sum.total += total;
      addResources(sum.resources, node.resourcesDuration);
    }
    for (const child of children.get(at) ?? []) seen.add(child);
  }
  return sum;
}

/** Adds seconds by resource. */
export function addResources(
  sum: Record<string, number>,
  more: Readonly<Record<string, number>> | undefined,
): void {
  for (const [resource, seconds] of Object.entries(more ?? {})) {
    sum[resource] = (sum[resource] ?? 0) + seconds;
  }
}
