/** The calls that the steps of a group, or a task of a DAG, stand for. */
import type { StepLike } from "../../spec/manifest.ts";
import type { NodeRecord } from "../records.ts";
import type { ExpandedCall, Frame } from "../live.ts";
import type { Turn } from "../turn.ts";
import { isBefore } from "./dag_plan.ts";
import { expandStep, isPlain } from "./expansion.ts";
import { groupIndexOf } from "./frame_steps.ts";
import { memberName } from "./names.ts";
import { type References, stepReferences } from "./references.ts";

/** Every step of a group, loops expanded. @throws as {@link expandStep} */
export function groupCalls(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  group: NodeRecord,
): ExpandedCall[] {
  const index = group.index ?? 0;
  let references: References | undefined;
  const referencesOf = () =>
    references ??= stepReferences(
      turn,
      boundary,
      frame,
      (step) => groupIndexOf(frame, step) < index,
    );
  const calls: ExpandedCall[] = [];
  for (const step of frame.template.steps?.[index] ?? []) {
    addCalls(turn, frame, step, baseName(group, step.name), referencesOf, calls, group);
  }
  return calls;
}

/** @param referencesOf what the step may refer to; asked only if it refers to something */
function addCalls(
  turn: Turn,
  frame: Frame,
  step: StepLike,
  name: string,
  referencesOf: () => References,
  calls: ExpandedCall[],
  group?: NodeRecord,
): void {
  if (isPlain(step, frame)) calls.push({ step, name, arguments: step.arguments ?? {} });
  else for (const call of expandStep(turn, step, name, referencesOf(), group)) calls.push(call);
}

/** Names of the nodes of a group's steps, without a loop's suffix. */
export function groupBaseNames(frame: Frame, group: NodeRecord): string[] {
  const steps = frame.template.steps?.[group.index ?? 0] ?? [];
  return steps.map(({ name }) => baseName(group, name));
}

function baseName(group: NodeRecord, step: string): string {
  return memberName(group.name, step);
}

/** The calls of a task: one, or the elements of its loop. @throws as {@link expandStep} */
export function taskCalls(
  turn: Turn,
  boundary: NodeRecord,
  frame: Frame,
  task: StepLike,
): ExpandedCall[] {
  const referencesOf = () => stepReferences(turn, boundary, frame, isBefore(frame, task.name));
  const calls: ExpandedCall[] = [];
  addCalls(turn, frame, task, memberName(boundary.name, task.name), referencesOf, calls);
  return calls;
}
