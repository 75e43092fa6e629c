/** Why a workflow must not continue: a shutdown, or its deadline. */
import { MAX_TIME } from "../../base/time_of.ts";
import { executedSpec, type WorkflowState } from "../state.ts";
import type { Turn } from "../turn.ts";

export interface StopReason {
  /** Message of a pod that was running. */
  running: string;
  /** Message of a pod that was never started. */
  notStarted: string;
  /** Message of everything else. */
  waiting: string;
  /** Exit handlers end, too. */
  isHard: boolean;
  /** The workflow is out of time; nobody has stopped it. */
  isDeadline: boolean;
}

/** Undefined while the workflow may continue. */
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

/** The final message of a workflow that was shut down, with the message of that request; undefined when it was not. */
export function shutdownMessage({ specs, header }: WorkflowState): string | undefined {
  const { shutdown } = specs.spec;
  if (shutdown === undefined || shutdown === "") return undefined;
  const text = `Stopped with strategy '${shutdown}'`;
  return header.stopMessage === undefined ? text : `${text}: ${header.stopMessage}`;
}

/** When the time of the workflow is up, epoch ms; undefined when it has no deadline. */
export function workflowDeadline(turn: Turn): number | undefined {
  const { activeDeadlineSeconds } = executedSpec(turn.state);
  const { startedAt } = turn.state.header;
  if (activeDeadlineSeconds === undefined || startedAt === undefined) return undefined;
  // Seconds may be any int64, and a date may not.
  return Math.min(Math.max(0, startedAt + activeDeadlineSeconds * 1000), MAX_TIME);
}
