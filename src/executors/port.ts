/**
 * The executor port: runs one task somewhere and tells how it ended. Adapters: process, container, kubernetes, http, and
 * `scripted` in tests. One contract suite runs on all that run containers.
 *
 * Rules:
 * - `start` may be called again with the same task id, also after a crash and on another replica: it is one start. An
 *   adapter finds what is there already (a pid file, a container, a pod) and goes on watching it.
 * - Exactly one `ended` per task is reported in one process's life; after a restart it may be reported again.
 * - `cancel` ends a task gently, then hard after the grace period; a cancelled task reports nothing more.
 */
import type { Fact } from "../engine/command.ts";
import type { TaskSpec } from "../engine/effect.ts";

export interface LogLine {
  /** Epoch ms. */
  at: number;
  text: string;
}

export interface LogQuery {
  /** Container name, normally `main`. */
  container: string;
  follow: boolean;
  tailLines?: number;
  /** Epoch ms; older lines are left out. */
  sinceMs?: number;
  signal: AbortSignal;
}

/** Receives what a task reports, in order. */
export type Report = (fact: Extract<Fact, { task: string }>) => void;

/** Volume claims that were made for one workflow. */
export interface WorkflowClaims {
  namespace: string;
  workflow: string;
  workflowUid: string;
  /** As in `volumeClaimTemplates`. */
  names: string[];
}

export interface Executor {
  /** Name for messages: `process`, `container`, `kubernetes`, … */
  readonly name: string;
  /** Undefined when it can run this template, else the reason, naming what could. */
  refuses(task: TaskSpec): string | undefined;
  /**
   * True when only the replica that started the task can go on with it: a process of its machine, a request of its own.
   * Absent: any replica can adopt it.
   */
  isTied?(task: TaskSpec): boolean;
  /**
   * Where a task lives that its server's death does not end: only a replica at the same place finds it again. Absent or
   * undefined: nowhere, or any replica does.
   */
  placeOf?(task: TaskSpec): string | undefined;
  /**
   * Starts or adopts. Resolves when the start is on its way, or returns when there is nothing to wait for; trouble is
   * reported as an outcome, never thrown.
   */
  start(task: TaskSpec, report: Report): Promise<void> | void;
  cancel(taskId: string, graceMs: number): Promise<void>;
  /** Lines of a task, also after its end as long as they are kept. */
  logs(
    task: { id: string; podName: string; namespace: string },
    query: LogQuery,
  ): AsyncIterable<LogLine>;
  /** Removes what is left of ended tasks (scratch folders, containers, pods). */
  clean(taskIds: string[]): Promise<void>;
  /** Removes volume claims that this executor made for a workflow that has ended. Absent: it makes none. */
  removeClaims?(claims: WorkflowClaims): Promise<void>;
  /** Ends nothing: lets go of watches so that the process can exit. Tasks go on where they can. */
  close(): Promise<void>;
}
