/** The calls of one step group. */
import type { ExpansionScope } from "./expansion.ts";
import { expandStep } from "./expansion.ts";
import type { ExpandedCall, Frame } from "./runtime.ts";
import { groupOf } from "./scope.ts";
import type { NodeRecord, Turn } from "./state.ts";

/** Gives the variables that are visible from a step. */
export type KnownFrom = (
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  isVisible: (step: string) => boolean,
) => ExpansionScope;

/** Name of a step's node without a loop's suffix. */
function baseOf(group: NodeRecord, step: string): string {
  return `${group.name}.${step}`;
}

/** Names of the steps' nodes without loops' suffixes. */
export function groupBases(frame: Frame, group: NodeRecord): string[] {
  return (frame.template.steps?.[group.index ?? 0] ?? []).map(({ name }) => baseOf(group, name));
}

/** Every step of the group, loops expanded. @throws as {@link expandStep} */
export function groupCalls(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  group: NodeRecord,
  known: KnownFrom,
): ExpandedCall[] {
  const index = group.index ?? 0;
  const scope = known(turn, boundary, frame, (step) => groupOf(frame, step) < index);
  return (frame.template.steps?.[index] ?? []).flatMap((step) =>
    expandStep(turn, step, baseOf(group, step.name), scope)
  );
}
