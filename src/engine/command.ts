/**
 * What the engine is told. Control requests come from users and may be refused with a `Problem`. Facts come from
 * executors, timers and locks and are never refused; one that is late or repeated changes nothing.
 */
import type { EndPhase, NodePhase, Outputs } from "../spec/manifest.ts";

export interface User {
  subject?: string;
  email?: string;
  preferredUsername?: string;
}

/** What a user asks of one workflow. */
export type ControlRequest =
  | { type: "suspend" }
  /** With `onlyWorkflow` its suspend nodes continue to wait. */
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
  };

/** Outcome of a task, as an executor reports it. */
export interface TaskOutcome {
  phase: EndPhase;
  /** Text of the failure. The engine adds nothing to it. */
  message?: string;
  /** The executor ended the task because its deadline was over. */
  isLate?: boolean;
  /** Outputs that were read: parameters with values, artifacts with locations, result and exit code. */
  outputs?: Outputs;
  /** Requests × time by resource, seconds. */
  resourcesDuration?: Record<string, number>;
  hostNodeName?: string;
  /** For container sets: the outcome of each container, by name. */
  containers?: Record<string, { phase: NodePhase; message?: string; exitCode?: string }>;
}

export type Fact =
  /** The task's process, pod or request is running. `task` is the id of the task. */
  | { type: "task-started"; task: string; podIP?: string; hostNodeName?: string; ready?: boolean }
  | { type: "task-progress"; task: string; progress: string }
  /** The task is still pending; the message says why (quota, image pull …). */
  | { type: "task-pending"; task: string; message: string }
  | { type: "task-ended"; task: string; outcome: TaskOutcome }
  | { type: "timer-fired"; timer: string }
  | { type: "locks-granted"; holder: string }
  /** Others hold the locks. `message` says so to users, `waiting` is the key, `holders` are their names by key. */
  | {
    type: "locks-waiting";
    holder: string;
    message: string;
    waiting: string;
    holders?: Record<string, string[]>;
  };
