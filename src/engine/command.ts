/**
 * What an engine is told. Control requests come from users and may be refused (`Problem`); facts come from executors,
 * timers and locks, and are never refused: a late or repeated one changes nothing.
 */
import type { NodePhase, Outputs } from "../spec/manifest.ts";

export interface User {
  subject?: string;
  email?: string;
  preferredUsername?: string;
}

/** What a user asks of one workflow. */
export type ControlRequest =
  | { type: "suspend" }
  /** `onlyWorkflow`: its suspend nodes go on waiting. */
  | { type: "resume"; nodeFieldSelector?: string; user?: User; onlyWorkflow?: true }
  | { type: "stop"; nodeFieldSelector?: string; message?: string }
  | { type: "terminate" }
  | {
    type: "retry";
    restartSuccessful?: boolean;
    nodeFieldSelector?: string;
    parameters?: string[];
  }
  | {
    type: "set";
    nodeFieldSelector?: string;
    phase?: string;
    message?: string;
    /** JSON text of an object of strings, as the API has it. */
    outputParameters?: string;
    user?: User;
  };

/** Outcome of a task, as an executor reports it. */
export interface TaskOutcome {
  phase: Extract<NodePhase, "Succeeded" | "Failed" | "Error">;
  /** Failure text; the engine adds nothing to it. */
  message?: string;
  /** Values read from outputs: parameters with value, artifacts with location, result, exitCode. */
  outputs?: Outputs;
  /** Requests × time by resource, seconds. */
  resourcesDuration?: Record<string, number>;
  hostNodeName?: string;
  /** For container sets: outcome of each container by name. */
  containers?: Record<string, { phase: NodePhase; message?: string; exitCode?: string }>;
}

export type Fact =
  /** The task's process, pod or request is running. `task` is the id of the StartTask effect. */
  | { type: "task-started"; task: string; podIP?: string; hostNodeName?: string; ready?: boolean }
  | { type: "task-progress"; task: string; progress: string }
  /** Still pending, with the reason (quota, image pull …). */
  | { type: "task-pending"; task: string; message: string }
  | { type: "task-ended"; task: string; outcome: TaskOutcome }
  | { type: "timer-fired"; timer: string }
  | { type: "locks-granted"; holder: string }
  /** The lock is held by others; `message` is the waiting text, `waiting` the key. */
  | {
    type: "locks-waiting";
    holder: string;
    message: string;
    waiting: string;
    holders?: Record<string, string[]>;
  }
  | { type: "locks-failed"; holder: string; message: string }
  /** Look at the workflow again (after a start, a changed parallelism limit, a manifest that arrived). */
  | { type: "wake" };
