/** Why a workflow must not go on: a shutdown, or its deadline. */
import { executedSpec, type Turn, type WorkflowState } from "./state.ts";

export interface StopReason {
  /** Text of a pod that was running. */
  running: string;
  /** Text of a pod that was never started. */
  notStarted: string;
  /** Text of everything else that waited. */
  waiting: string;
  /** Exit handlers end as well. */
  isHard: boolean;
  /** Out of time, not stopped by somebody. */
  isDeadline: boolean;
}

/** Undefined while the workflow may go on. */
export function stopReason(turn: Turn): StopReason | undefined {
  const { shutdown } = turn.state.specs.spec;
  if (shutdown !== undefined && shutdown !== "") {
    return {
      running: `workflow shutdown with strategy:  ${shutdown}`,
      notStarted: `workflow shutdown with strategy: ${shutdown}`,
      waiting: `Stopped with strategy '${shutdown}'`,
      isHard: shutdown === "Terminate",
      isDeadline: false,
    };
  }
  const deadline = workflowDeadline(turn);
  if (deadline === undefined || turn.env.now < deadline) return undefined;
  const text = "Step exceeded its deadline";
  return { running: text, notStarted: text, waiting: text, isHard: false, isDeadline: true };
}

/** The final message of a workflow that was shut down, with what whoever stopped it said; undefined when none was. */
export function shutdownMessage({ specs, header }: WorkflowState): string | undefined {
  const { shutdown } = specs.spec;
  if (shutdown === undefined || shutdown === "") return undefined;
  const text = `Stopped with strategy '${shutdown}'`;
  return header.stopMessage === undefined ? text : `${text}: ${header.stopMessage}`;
}

/** Epoch ms at which the workflow has used up its time. */
export function workflowDeadline(turn: Turn): number | undefined {
  const { activeDeadlineSeconds } = executedSpec(turn.state);
  const { startedAt } = turn.state.header;
  if (activeDeadlineSeconds === undefined || startedAt === undefined) return undefined;
  return startedAt + activeDeadlineSeconds * 1000;
}
