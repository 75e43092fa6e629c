/** Pure: the outcome of a task on this machine, from the ends of its containers. */
import type { TaskOutcome } from "../../engine/command.ts";
import { isEndBySignal, isEndFromOutside, type PlannedContainer } from "../container_plan.ts";
import type { ContainerEnd, RunningContainer } from "./runtime.ts";
import { addResources, resourcesDuration } from "../resources_duration.ts";

/** A container of a task that has ended. */
export interface EndedContainer {
  container: PlannedContainer;
  end: ContainerEnd;
  /** Absent when it never ran, because one that it depends on failed. */
  running?: RunningContainer;
}

/**
 * The failure of the first container that ended badly: the main one, then other main ones, then sidecars. One of a set that
 * was ended says less than the one because of which it was.
 */
export function failureOf(
  ended: readonly EndedContainer[],
  main: PlannedContainer | undefined,
): Pick<TaskOutcome, "phase" | "message"> | undefined {
  const rank = ({ container, end }: EndedContainer) => {
    if (container.role !== "main") return 4;
    const isEnded = "code" in end && isEndFromOutside(end.code, end.reason);
    return (container === main ? 0 : 1) + (isEnded ? 2 : 0);
  };
  for (const { container, end } of ended.toSorted((a, b) => rank(a) - rank(b))) {
    if (container.role === "init") continue;
    if ("fault" in end) return { phase: "Error", message: describeEnd(container.name, end) };
    // The server itself ends sidecars.
    if (container.role === "sidecar" && isEndBySignal(end.code)) continue;
    if (end.code !== 0) return { phase: "Failed", message: describeEnd(container.name, end) };
  }
  return undefined;
}

/** The outcome of a task whose init container has ended badly: it failed, unless it could not be run or was ended from outside. */
export function initFailure(
  container: string,
  end: ContainerEnd,
): Pick<TaskOutcome, "phase" | "message"> {
  const isFailed = !("fault" in end) && !isEndBySignal(end.code);
  return { phase: isFailed ? "Failed" : "Error", message: describeEnd(container, end) };
}

/** What the containers used together, as `status.resourcesDuration` counts it. */
export function usedResources(ended: readonly EndedContainer[]): Record<string, number> {
  let sum: Record<string, number> = {};
  for (const { container, end } of ended) {
    if ("fault" in end) continue;
    const seconds = (end.finishedAt - end.startedAt) / 1000;
    sum = addResources(sum, resourcesDuration(container.spec, seconds));
  }
  return sum;
}

/** The outcome of each container of a container set. */
export function containerOutcomes(
  ended: readonly EndedContainer[],
): NonNullable<TaskOutcome["containers"]> {
  const outcomes: NonNullable<TaskOutcome["containers"]> = {};
  for (const { container, end } of ended) {
    if (container.role !== "main") continue;
    if ("fault" in end) {
      outcomes[container.name] = { phase: "Error", message: describeEnd(container.name, end) };
      continue;
    }
    const failed = end.code !== 0;
    outcomes[container.name] = {
      phase: failed ? "Failed" : "Succeeded",
      // The reference puts the container's own message, which is empty, after the colon.
      ...(failed && { message: `${describeEnd(container.name, end)}: ` }),
      exitCode: String(end.code),
    };
  }
  return outcomes;
}

/** How a container ended, for messages. */
function describeEnd(container: string, end: ContainerEnd): string {
  return "fault" in end
    ? `${container}: ${end.fault}`
    : `${container}: ${end.reason ?? "Error"} (exit code ${end.code})`;
}
