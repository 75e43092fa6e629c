/** What happens when a cron workflow is due: decision, workflow, status and history. All of it may be repeated. */
import { CronRunner } from "../../actors/cron_runner.ts";
import { unrestrictedCaller } from "../../auth/caller.ts";
import { defined } from "../../base/defined.ts";
import type { JsonObject } from "../../base/json.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import { isCompleted } from "../../engine/records.ts";
import { rfc3339 } from "../../engine/scope/time_text.ts";
import {
  afterChildEnded,
  childrenToDelete,
  cronChild,
  cronCompletedLabel,
  decideRun,
  type DueRun,
  lastScheduleAnnotation,
  newCronStatus,
  scheduleText,
} from "../../events/cron.ts";
import { mustStop } from "../../events/cron_conditions.ts";
import { skippedAnnotation, type SkipReason, withSkip } from "../../spec/cron_skips.ts";
import {
  type CronWorkflow,
  type CronWorkflowStatus,
  ManifestKind,
  type Workflow,
} from "../../spec/manifest.ts";
import { apiVersionOf, backfillLabel } from "../../spec/naming.ts";
import { withDependents } from "../deleted_owners.ts";
import type { ServiceDeps } from "../deps.ts";
import { loadTemplates } from "../manifests/template_access.ts";
import { changeManifest } from "../manifests/writes.ts";
import { isTransient, undefinedWhenNotFound } from "../problem_kinds.ts";
import { storeWorkflow } from "../workflows/create.ts";
import { archivedRuns, findCron } from "./children.ts";

const KIND = ManifestKind.CronWorkflow;
/** Longer than the time in which a due time may be looked at again. */
const KEY_TTL_MS = 3_600_000;

/**
 * Runs a cron workflow at a due time.
 * @throws {Problem} Unavailable, DeadlineExceeded: try again
 */
async function runCron(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  { dueMs, missed }: DueRun,
): Promise<void> {
  const found = await findCron(deps, namespace, name);
  if (found === undefined) return;
  const { cron, children } = found;
  if (Date.parse(cron.status?.lastScheduledTime ?? "") >= dueMs) return;
  const active = children.filter(({ phase }) => !isCompleted(phase));
  // Whoever stored it had the right to use everything that it reaches.
  const { workflowSpec } = cron.spec;
  const findTemplate = await loadTemplates(deps, unrestrictedCaller(), workflowSpec, namespace);
  const run = { now: () => deps.clock.now(), random: deps.ids.fraction };
  const decision = decideRun(cron, active.length, { findTemplate }, run, deps.settings.naming);
  deps.log.info({ namespace, cron: name, due: rfc3339(dueMs), missed, decision: decision.type });
  if (decision.type !== "error" && hasCondition(cron, "SpecError")) {
    await changeStatus(deps, namespace, name, (status) => withoutConditions(status, ["SpecError"]));
  }
  switch (decision.type) {
    case "skip":
      // That it is switched off tells enough; the others would be a riddle.
      if (decision.reason === "suspended" || decision.reason === "stopped") return;
      return await noteSkip(deps, namespace, name, dueMs, decision.reason);
    case "stop":
      return await stopForGood(deps, namespace, name);
    case "error":
      if (decision.condition === "SubmissionError") {
        return await noteFailure(deps, namespace, name, dueMs, decision.message);
      }
      return await changeStatus(
        deps,
        namespace,
        name,
        (status) => withCondition(status, "SpecError", decision.message),
      );
    case "submit":
      if (decision.replaceActive) {
        for (const child of active) await terminate(deps, namespace, child.name);
      }
      return await submit(deps, cron, namespace, dueMs);
  }
}

async function submit(
  deps: ServiceDeps,
  cron: CronWorkflow,
  namespace: string,
  dueMs: number,
): Promise<void> {
  const { name = "", uid = "" } = cron.metadata;
  const workflow = cronChild(cron, dueMs, deps.settings.naming);
  const key = `cron:${uid}:${dueMs}`;
  let made: Workflow;
  try {
    made = await storeWorkflow(deps, unrestrictedCaller(), {
      namespace,
      workflow: { ...workflow, metadata: { ...workflow.metadata, namespace } },
      idempotency: { key, fingerprint: key, ttlMs: KEY_TTL_MS },
    });
  } catch (error) {
    if (!(error instanceof Problem) || isTransient(error)) throw error;
    // Somebody made a workflow of this name: that is the run of this time.
    if (error.code === ProblemCode.AlreadyExists) return;
    deps.log.warn({ namespace, cron: name, reason: error.message }, "cron workflow not submitted");
    const message = `Failed to submit Workflow: ${error.message}`;
    return await noteFailure(deps, namespace, name, dueMs, message);
  }
  const { metadata } = made;
  const reference = {
    ...referenceTo(deps, namespace, metadata.name ?? "", metadata.uid ?? ""),
    ...defined({ resourceVersion: metadata.resourceVersion }),
  };
  const annotations = {
    [lastScheduleAnnotation(deps.settings.naming)]: scheduleText(cron.spec),
  };
  await changeStatus(deps, namespace, name, (status) => {
    const others = (status.active ?? []).filter((one) => one["uid"] !== metadata.uid);
    return {
      ...withoutConditions(status, ["SubmissionError"]),
      active: [...others, reference],
      lastScheduledTime: rfc3339(dueMs),
      phase: "Active",
    };
  }, annotations);
}

/** Keeps why it did not run, for those who look. */
async function noteSkip(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  dueMs: number,
  reason: SkipReason,
): Promise<void> {
  await changeManifest<CronWorkflow>(
    deps,
    KIND,
    namespace,
    name,
    (cron) => withSkipNoted(deps, cron, dueMs, reason),
  ).catch(undefinedWhenNotFound);
}

/** A run that was refused counts as one that failed: once, though its due time may be looked at again. */
async function noteFailure(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  dueMs: number,
  message: string,
): Promise<void> {
  await changeManifest<CronWorkflow>(deps, KIND, namespace, name, (cron) => {
    const noted = withSkipNoted(deps, cron, dueMs, "error");
    if (noted === cron) return cron;
    const status = withCondition(
      { ...newCronStatus(), ...cron.status },
      "SubmissionError",
      message,
    );
    return { ...noted, status: { ...status, failed: status.failed + 1 } };
  }).catch(undefinedWhenNotFound);
}

/** The same object if the due time is noted already. */
function withSkipNoted(
  deps: ServiceDeps,
  cron: CronWorkflow,
  dueMs: number,
  reason: SkipReason,
): CronWorkflow {
  const key = skippedAnnotation(deps.settings.naming);
  const { annotations } = cron.metadata;
  const ranAt = Date.parse(cron.status?.lastScheduledTime ?? "") || undefined;
  const text = withSkip(annotations?.[key], dueMs, reason, ranAt);
  if (text === annotations?.[key]) return cron;
  return { ...cron, metadata: { ...cron.metadata, annotations: { ...annotations, [key]: text } } };
}

/**
 * Brings the status up to date with the workflows, and deletes those that exceed the limits of the history.
 * @throws {Problem} Unavailable, DeadlineExceeded: try again
 */
async function reconcileCron(
  deps: ServiceDeps,
  namespace: string,
  name: string,
): Promise<void> {
  const found = await findCron(deps, namespace, name);
  if (found === undefined) return;
  const { cron, children } = found;
  const byUid = new Map<string, { phase: string }>(children.map((child) => [child.uid, child]));
  for (const child of await archivedRuns(deps, cron, byUid)) byUid.set(child.uid, child);
  const settle = (before: CronWorkflowStatus): CronWorkflowStatus => {
    let status = before;
    const known = new Set((before.active ?? []).map(({ uid }) => uid));
    // Somebody has submitted, resubmitted or retried one by hand: it is a run like the others.
    const others = children.filter(({ uid, phase }) => !isCompleted(phase) && !known.has(uid))
      .map((child) => referenceTo(deps, namespace, child.name, child.uid));
    if (others.length > 0) status = { ...status, active: [...status.active ?? [], ...others] };
    for (const { uid } of before.active ?? []) {
      if (typeof uid !== "string") continue;
      const child = byUid.get(uid);
      if (child === undefined) {
        const active = (status.active ?? []).filter((one) => one["uid"] !== uid);
        status = { ...status, active: active.length > 0 ? active : null };
      } else if (isCompleted(child.phase)) {
        status = afterChildEnded(status, uid, child.phase === "Succeeded");
      }
    }
    return status;
  };
  const before = cron.status ?? newCronStatus();
  const after = settle(before);
  if (after !== before) {
    await changeStatus(deps, namespace, name, settle);
    if (stops({ ...cron, status: after }, deps)) await stopForGood(deps, namespace, name);
  }
  // A backfill may be of many times. It would lose what it has done, and do it again when it is repeated.
  const backfill = backfillLabel(deps.settings.naming);
  const regular = children.filter(({ labels }) => labels[backfill] === undefined);
  const finished = regular.filter(({ phase }) => isCompleted(phase)).map((child) => ({
    name: child.name,
    succeeded: child.phase === "Succeeded",
    finishedMs: child.finishedAt ?? child.createdAt,
  }));
  const uids = new Map(children.map((child) => [child.name, child.uid]));
  for (const child of childrenToDelete(cron.spec, finished)) {
    await remove(deps, { namespace, name: child, uid: uids.get(child) });
  }
}

function stops(cron: CronWorkflow, deps: ServiceDeps): boolean {
  try {
    return mustStop(cron, { now: () => deps.clock.now(), random: deps.ids.fraction });
  } catch {
    // The next run reports a condition that fails.
    return false;
  }
}

async function stopForGood(deps: ServiceDeps, namespace: string, name: string): Promise<void> {
  const label = cronCompletedLabel(deps.settings.naming);
  await changeManifest<CronWorkflow>(deps, KIND, namespace, name, (cron) => {
    const { metadata, status } = cron;
    if (status?.phase === "Stopped" && metadata.labels?.[label] === "true") return cron;
    return {
      ...cron,
      metadata: { ...metadata, labels: { ...metadata.labels, [label]: "true" } },
      status: { ...newCronStatus(), ...status, phase: "Stopped" },
    };
  }).catch(undefinedWhenNotFound);
}

async function changeStatus(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  change: (status: CronWorkflowStatus) => CronWorkflowStatus,
  annotations?: Record<string, string>,
): Promise<void> {
  await changeManifest<CronWorkflow>(deps, KIND, namespace, name, (cron) => {
    const before = { ...newCronStatus(), ...cron.status };
    const status = change(before);
    if (annotations === undefined) return status === before ? cron : { ...cron, status };
    const { metadata } = cron;
    const all = { ...metadata.annotations, ...annotations };
    return { ...cron, metadata: { ...metadata, annotations: all }, status };
  }).catch(undefinedWhenNotFound);
}

function hasCondition(cron: CronWorkflow, type: string): boolean {
  return (cron.status?.conditions ?? []).some((condition) => condition.type === type);
}

function withoutConditions(
  status: CronWorkflowStatus,
  types: readonly string[],
): CronWorkflowStatus {
  const rest = (status.conditions ?? []).filter(({ type }) => !types.includes(type));
  return { ...status, conditions: rest.length > 0 ? rest : null };
}

/** How a status refers to a workflow. */
function referenceTo(
  deps: ServiceDeps,
  namespace: string,
  name: string,
  uid: string,
): JsonObject {
  return { apiVersion: apiVersionOf(deps.settings.naming), kind: "Workflow", name, namespace, uid };
}

function withCondition(
  status: CronWorkflowStatus,
  type: string,
  message: string,
): CronWorkflowStatus {
  const { conditions } = status;
  if (conditions?.some((one) => one.type === type && one.message === message)) return status;
  const others = (conditions ?? []).filter((condition) => condition.type !== type);
  return { ...status, conditions: [...others, { type, status: "True", message }] };
}

async function terminate(deps: ServiceDeps, namespace: string, name: string): Promise<void> {
  await deps.host.execute(namespace, name, { type: "control", request: { type: "terminate" } })
    .catch(ignoreRefusal);
}

async function remove(
  deps: ServiceDeps,
  child: { namespace: string; name: string; uid: string | undefined },
): Promise<void> {
  const { namespace, name } = child;
  const command = { type: "delete" } as const;
  await withDependents(deps, child, () => deps.host.execute(namespace, name, command))
    .catch(ignoreRefusal);
}

/** For `catch`: a refusal means that the workflow has ended or is gone. */
function ignoreRefusal(error: unknown): void {
  if (!(error instanceof Problem) || isTransient(error)) throw error;
}

/** Starts to run the cron workflows that this replica owns. */
export function startCronRunner(deps: ServiceDeps, replica: string): CronRunner {
  const { store, clock, ids, log } = deps;
  const runner = new CronRunner({
    ...{ store, clock, ids, log, replica },
    naming: deps.settings.naming,
    run: (namespace, name, due) => runCron(deps, namespace, name, due),
    reconcile: (namespace, name) => reconcileCron(deps, namespace, name),
  });
  runner.start();
  return runner;
}
