/** Which commands to a workflow are carried out at once, and which a little at a time. */
import { runToEnd, STEP_SIZE, type Steps } from "../../base/steps.ts";
import type { Workflow } from "../../spec/manifest.ts";

/** Does the work at once, unless it is about many nodes. */
export function atOnceIfSmall<T>(nodes: number, steps: Steps<T>): T | Steps<T> {
  return nodes > STEP_SIZE ? steps : runToEnd(steps);
}

/** How many nodes a workflow has, as clients see it. */
export function sizeOf({ status }: Workflow): number {
  return Object.keys(status?.nodes ?? {}).length;
}
