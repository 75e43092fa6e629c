/**
 * Cron workflows: when one is due, whether it then runs, and the workflow that it makes. Pure: the caller remembers up
 * to which time due times were checked, and fires each of them once. The names of the workflows derive from the due
 * time, so a repeat finds the workflow that is already there.
 */
import { defined } from "../base/defined.ts";
import { Problem } from "../base/problem.ts";
import { cronClock, MAX_SCHEDULES, nextDue, parseSchedule } from "../spec/cron_schedule.ts";
import {
  type CronWorkflow,
  type CronWorkflowSpec,
  type CronWorkflowStatus,
  type ObjectMeta,
  type Workflow,
} from "../spec/manifest.ts";
import { apiVersionOf, cronLabel, type Naming, scheduledTimeAnnotation } from "../spec/naming.ts";
import { validateCronWorkflow, type ValidationContext } from "../spec/validation/validate.ts";
import type { RunOptions } from "../expr/values/run_context.ts";
import { CronConditionError, mayRun, mustStop } from "./cron_conditions.ts";

/** Annotation of the cron workflow: the schedules for which its last due time was computed. */
export function lastScheduleAnnotation({ apiGroup }: Naming): string {
  return `cronworkflows.${apiGroup}/last-used-schedule`;
}

/** Label of the cron workflow: it will never run again. */
export function cronCompletedLabel({ apiGroup }: Naming): string {
  return `cronworkflows.${apiGroup}/completed`;
}

/** Labels that tell who made a cron workflow: what it makes has the same creator. */
const CREATOR = ["creator", "creator-email", "creator-preferred-username"];
/** Finished workflows that are kept if the spec does not say: those that succeeded, and others. */
const DEFAULT_HISTORY = { succeeded: 3, failed: 1 };
/** How far back the last missed time is searched for, step by step; the first step is enough for most schedules. */
const LOOK_BACK_MS = [3_600_000, 86_400_000, 32 * 86_400_000, 366 * 86_400_000];

/** A time at which a cron workflow is due. */
export interface DueRun {
  /** Epoch milliseconds, on a whole second. */
  dueMs: number;
  /** It was noticed late: nobody was looking when it came due. */
  missed: boolean;
}

/** How far the due times of a cron workflow have been checked. */
export interface CronProgress {
  /**
   * Epoch milliseconds up to which, inclusive, they have been checked; for a new or changed cron workflow, the time of
   * the change.
   */
  lookedAtMs: number;
  /** When it last ran; undefined if it never did. Without it, nothing counts as missed. */
  lastScheduledMs: number | undefined;
}

/**
 * The first time after `afterMs` at which any schedule is due.
 *
 * @returns epoch milliseconds; undefined when there is none
 */
export function nextRunMs(cron: CronWorkflow, afterMs: number): number | undefined {
  const times = schedulesOf(cron).flatMap(({ next }) => next(afterMs) ?? []);
  return times.length === 0 ? undefined : Math.min(...times);
}

/**
 * The times that became due since the last check, oldest first, each once. Of several missed times, only the last of
 * each schedule counts, only within `startingDeadlineSeconds`, and only if it is later than that of a schedule before it.
 *
 * @param graceMs a time that passed no longer ago than this counts as reached, not as missed
 */
export function dueRuns(
  cron: CronWorkflow,
  { lookedAtMs, lastScheduledMs }: CronProgress,
  nowMs: number,
  graceMs: number,
): DueRun[] {
  const runs = new Map<number, DueRun>();
  const deadlineMs = (cron.spec.startingDeadlineSeconds ?? 0) * 1000;
  let missedFrom = Math.max(lookedAtMs, nowMs - deadlineMs);
  for (const { next } of schedulesOf(cron)) {
    const reached: number[] = [];
    let due = next(Math.max(lookedAtMs, nowMs - graceMs));
    while (due !== undefined && due <= nowMs) {
      reached.push(due);
      due = next(due);
    }
    for (const dueMs of reached) runs.set(dueMs, { dueMs, missed: false });
    if (reached.length > 0 || lastScheduledMs === undefined || deadlineMs === 0) continue;
    const missed = lastDue(next, missedFrom, nowMs - graceMs);
    if (missed !== undefined && !runs.has(missed) && nowMs < missed + deadlineMs) {
      runs.set(missed, { dueMs: missed, missed: true });
      missedFrom = missed;
    }
  }
  return [...runs.values()].sort((a, b) => a.dueMs - b.dueMs);
}

type Next = (afterMs: number) => number | undefined;

function schedulesOf(cron: CronWorkflow): { next: Next }[] {
  const clock = cronClock(cron);
  // More of them are refused; a cluster may have them all the same.
  return (cron.spec.schedules ?? []).slice(0, MAX_SCHEDULES).flatMap((text) => {
    try {
      const schedule = parseSchedule(text);
      return [{ next: (afterMs: number) => nextDue(schedule, afterMs, clock) }];
    } catch (error) {
      // A schedule that can't be read never comes due; the next run of another schedule reports it.
      if (error instanceof RangeError) return [];
      throw error;
    }
  });
}

/** The last due time after `fromMs` and up to `toMs`. */
function lastDue(next: Next, fromMs: number, toMs: number): number | undefined {
  for (const back of LOOK_BACK_MS) {
    const start = Math.max(fromMs, toMs - back);
    let last: number | undefined;
    let due = next(start);
    while (due !== undefined && due <= toMs) {
      last = due;
      due = next(due);
    }
    if (last !== undefined || start === fromMs) return last;
  }
  return undefined;
}

/** What happens at a due time. */
export type CronDecision =
  /** Submit the workflow; with `replaceActive`, first terminate those that still run. */
  | { type: "submit"; replaceActive: boolean }
  /** Nothing now. */
  | { type: "skip"; reason: "suspended" | "stopped" | "condition" | "active" }
  /** Never again: `stopStrategy` holds. */
  | { type: "stop" }
  /** It cannot run; `message` goes into this condition. */
  | { type: "error"; condition: "SpecError" | "SubmissionError"; message: string };

/**
 * Decides what happens when a cron workflow is due.
 *
 * @param active how many of its workflows are still running
 * @param run clock for its conditions
 */
export function decideRun(
  cron: CronWorkflow,
  active: number,
  context: ValidationContext,
  run: RunOptions,
  naming: Naming,
): CronDecision {
  try {
    validateCronWorkflow(cron, context, { naming });
  } catch (error) {
    if (error instanceof Problem) {
      return { type: "error", condition: "SpecError", message: error.message };
    }
    throw error;
  }
  const stops = conditionOf(() => mustStop(cron, run));
  if (typeof stops === "string") {
    const check = `failed to check CronWorkflow '${cron.metadata.name ?? ""}' stopping condition`;
    const message = `${check}: failed to evaluate stop expression: ${stops}`;
    return { type: "error", condition: "SpecError", message };
  }
  if (stops) return { type: "stop" };
  if (cron.spec.suspend === true) return { type: "skip", reason: "suspended" };
  if (cron.status?.phase === "Stopped") return { type: "skip", reason: "stopped" };
  const runs = conditionOf(() => mayRun(cron, run));
  if (typeof runs === "string") {
    return { type: "error", condition: "SubmissionError", message: `run policy error: ${runs}` };
  }
  if (!runs) return { type: "skip", reason: "condition" };
  if (active > 0 && cron.spec.concurrencyPolicy === "Forbid") {
    return { type: "skip", reason: "active" };
  }
  return {
    type: "submit",
    replaceActive: active > 0 && cron.spec.concurrencyPolicy === "Replace",
  };
}

/** What a condition says; a text tells why it says nothing. */
function conditionOf(ask: () => boolean): boolean | string {
  try {
    return ask();
  } catch (error) {
    if (error instanceof CronConditionError) return error.message;
    throw error;
  }
}

/** The workflow that a cron workflow makes at a due time. */
export function cronChild(cron: CronWorkflow, dueMs: number, naming: Naming): Workflow {
  const { name = "", namespace } = cron.metadata;
  const { labels, annotations, finalizers } = cron.spec.workflowMetadata ?? {};
  const creator = Object.entries(cron.metadata.labels ?? {})
    .filter(([key]) => CREATOR.some((label) => key === `${naming.labelPrefix}${label}`));
  return {
    metadata: {
      name: `${name}-${Math.floor(dueMs / 1000)}`,
      ...defined({ namespace, finalizers }),
      labels: { ...Object.fromEntries(creator), ...labels, [cronLabel(naming)]: name },
      annotations: { ...annotations, [scheduledTimeAnnotation(naming)]: secondsText(dueMs) },
      ...ownedBy(cron, naming),
    },
    spec: cron.spec.workflowSpec,
  };
}

/** Makes a cron workflow the owner of what it makes. Without a uid, which stored ones have, there is nothing to refer to. */
export function ownedBy(
  { metadata: { name = "", uid = "" } }: CronWorkflow,
  naming: Naming,
): Pick<ObjectMeta, "ownerReferences"> {
  if (uid === "") return {};
  return {
    ownerReferences: [{
      apiVersion: apiVersionOf(naming),
      kind: "CronWorkflow",
      name,
      uid,
      controller: true,
      blockOwnerDeletion: true,
    }],
  };
}

/** The schedules with their time zone, as {@link lastScheduleAnnotation} keeps them. */
export function scheduleText({ schedules = [], timezone = "" }: CronWorkflowSpec): string {
  return schedules.map((text) => timezone === "" ? text : `CRON_TZ=${timezone} ${text}`).join(",");
}

/** Status of a cron workflow that has not run. */
export function newCronStatus(): CronWorkflowStatus {
  return {
    active: null,
    lastScheduledTime: null,
    succeeded: 0,
    failed: 0,
    phase: "",
    conditions: null,
  };
}

/**
 * Status after one of its workflows has ended.
 *
 * @param uid uid of the workflow; one that is no longer active is not counted again
 */
export function afterChildEnded(
  status: CronWorkflowStatus,
  uid: string,
  succeeded: boolean,
): CronWorkflowStatus {
  const active = (status.active ?? []).filter((reference) => reference.uid !== uid);
  if (active.length === (status.active ?? []).length) return status;
  return {
    ...status,
    active: active.length === 0 ? null : active,
    succeeded: status.succeeded + (succeeded ? 1 : 0),
    failed: status.failed + (succeeded ? 0 : 1),
  };
}

/** A finished workflow of a cron workflow. */
export interface FinishedChild {
  name: string;
  succeeded: boolean;
  /** Epoch milliseconds. */
  finishedMs: number;
}

/** Names of the finished workflows beyond the history limits, oldest first. */
export function childrenToDelete(
  spec: CronWorkflowSpec,
  children: readonly FinishedChild[],
): string[] {
  const limits = {
    succeeded: historyLimit(spec.successfulJobsHistoryLimit) ?? DEFAULT_HISTORY.succeeded,
    failed: historyLimit(spec.failedJobsHistoryLimit) ?? DEFAULT_HISTORY.failed,
  };
  const oldestFirst = [...children].sort((a, b) => a.finishedMs - b.finishedMs);
  return [true, false].flatMap((succeeded) => {
    const alike = oldestFirst.filter((child) => child.succeeded === succeeded);
    const kept = succeeded ? limits.succeeded : limits.failed;
    return alike.slice(0, Math.max(0, alike.length - kept)).map(({ name }) => name);
  });
}

/** A negative limit says nothing: whoever writes one does not ask for everything to be deleted. */
function historyLimit(limit: number | undefined): number | undefined {
  return limit !== undefined && limit < 0 ? undefined : limit;
}

function secondsText(atMs: number): string {
  return new Date(atMs).toISOString().replace(/\.\d+Z$/, "Z");
}
