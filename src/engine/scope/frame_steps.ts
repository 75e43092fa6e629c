/** The steps or tasks that are written in the template of a Steps or DAG node. */
import type { NodePhase, StepLike } from "../../spec/manifest.ts";
import { NodeFailure } from "../failure.ts";
import type { NodeRecord } from "../records.ts";
import type { Frame, PlacedStep } from "../live.ts";

function indexOf(frame: Frame): ReadonlyMap<string, PlacedStep> {
  return frame.steps ??= makeIndex(frame);
}

function makeIndex({ template }: Frame): Map<string, PlacedStep> {
  const index = new Map<string, PlacedStep>();
  for (const [group, steps] of (template.steps ?? []).entries()) {
    for (const step of steps) index.set(step.name, { step, group });
  }
  for (const step of template.dag?.tasks ?? []) index.set(step.name, { step, group: 0 });
  return index;
}

/** A step or task by name. */
export function findStep(frame: Frame, name: string): StepLike | undefined {
  return indexOf(frame).get(name)?.step;
}

/** A task by name. @throws {NodeFailure} when there is no such task */
export function getTask(frame: Frame, name = ""): StepLike {
  const task = findStep(frame, name);
  if (task === undefined) throw new NodeFailure(`task ${name} not found`);
  return task;
}

/** Index of the group that holds a step; -1 when there is no such step. */
export function groupIndexOf(frame: Frame, name: string): number {
  return indexOf(frame).get(name)?.group ?? -1;
}

/** Name of the node under which the nodes of a step are: the boundary of a task, the group of a step. */
export function placeOf({ name }: NodeRecord, frame: Frame, step: string): string {
  return frame.template.dag === undefined ? `${name}[${groupIndexOf(frame, step)}]` : name;
}

/** Names of all steps or tasks, in the order in which they are written. */
export function stepNames(frame: Frame): Iterable<string> {
  return indexOf(frame).keys();
}

/** Tells whether the group of a step goes on when the step has ended in this phase, which is a failure. */
export function tolerates(step: StepLike | undefined, phase: NodePhase): boolean {
  const { failed, error } = step?.continueOn ?? {};
  return phase === "Failed" ? failed === true : phase === "Error" && error === true;
}
