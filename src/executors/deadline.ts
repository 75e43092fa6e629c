import type { TaskOutcome } from "../engine/command.ts";

/** What becomes of a task whose deadline is over. The message is the reference's, of a pod that ran for too long. */
export const LATE: TaskOutcome = {
  phase: "Failed",
  message: "Pod was active on the node longer than the specified deadline",
  isLate: true,
};
