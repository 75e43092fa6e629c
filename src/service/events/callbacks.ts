/** Events that call back steps that wait, to resume or to stop them. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { errorText } from "../../base/error_text.ts";
import { invalid, isProblem, Problem, ProblemCode } from "../../base/problem.ts";
import type { CallbackRequest } from "../../events/match.ts";
import { parseDuration } from "../../expr/values/go_duration.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { GroupReader, GroupSteps } from "./group_steps.ts";
import { EVENT_KEY_TTL_MS } from "./identity.ts";
import { WORKFLOW } from "../kinds.ts";
import { isNotFound, isTransient } from "../problem_kinds.ts";
import { controlWorkflow } from "../workflows/control.ts";

/** How long a callback waits for its step if the binding doesn't say. */
const DEFAULT_WAIT_MS = 10 * 60_000;
const MAX_WAIT_MS = 24 * 3_600_000;
/** Workflows that one callback may reach. */
const MAX_WORKFLOWS = 1_000;

/** How a callback is carried out. */
export interface CallbackOrder {
  /** A repeat finds the first answer under it. */
  key: string;
  /** What caused it, as a `traceparent`. */
  cause?: string | undefined;
  /** What was read for others that are tried at the same time. */
  groups?: GroupSteps;
}

/**
 * Resumes or stops the matching steps that wait. Of workflows that labels choose, one that refuses holds up no other.
 *
 * @returns the workflows whose steps were called back; none when no step waits
 * @throws {Problem} PermissionDenied, InvalidArgument, Unavailable …
 */
export async function callBack(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  request: CallbackRequest,
  { key, cause, groups = newGroupSteps(deps) }: CallbackOrder,
): Promise<string[]> {
  const { action, nodeFieldSelector, message } = request;
  if (nodeFieldSelector === "") throw invalid("the node field selector is empty");
  const found: string[] = [];
  let refusal: unknown;
  for (const name of await workflowsOf(caller, namespace, request, groups)) {
    const idempotency = {
      key: `${key}:${action}:${name}`,
      fingerprint: key,
      ttlMs: EVENT_KEY_TTL_MS,
    };
    try {
      await controlWorkflow(
        deps,
        caller,
        { namespace, name },
        action === "resume"
          ? { type: "resume", nodeFieldSelector }
          : { type: "stop", nodeFieldSelector, ...defined({ message }) },
        { idempotency, cause },
      );
      found.push(name);
    } catch (error) {
      if (!(error instanceof Problem) || isTransient(error)) throw error;
      // There is no such workflow or step yet.
      if (!isNotFound(error)) refusal ??= error;
    }
  }
  // That the step of another one has ended is no fault, as long as one has waited.
  if (refusal !== undefined && (found.length === 0 || !hasEnded(refusal))) throw refusal;
  return found;
}

/** What is read of groups for callbacks that are tried at the same time. */
export function newGroupSteps(deps: ServiceDeps): GroupSteps {
  return new GroupSteps(deps.groups ?? new GroupReader(deps));
}

/** Tells whether a workflow has no step that waits, but one that did. */
function hasEnded(refusal: unknown): boolean {
  return isProblem(refusal, ProblemCode.Aborted);
}

async function workflowsOf(
  caller: Caller,
  namespace: string,
  { workflow, labelSelector = "", nodeFieldSelector }: CallbackRequest,
  groups: GroupSteps,
): Promise<string[]> {
  if (workflow !== undefined) {
    if (workflow === "" || workflow.startsWith("@")) throw invalid("the workflow's name is empty");
    return [workflow];
  }
  if (labelSelector === "") throw invalid("neither a workflow nor labels are given");
  await requireAccess(caller, { verb: "list", resource: WORKFLOW.resource, namespace });
  const labels = parseLabelSelector(labelSelector);
  const names = await groups.workflowsWith(nodeFieldSelector, namespace, labels);
  return names.slice(0, MAX_WORKFLOWS);
}

/**
 * How long a callback waits for a step that does not exist yet, ms.
 * @throws {Problem} InvalidArgument when the duration can't be read
 */
export function waitMsOf({ waitFor }: CallbackRequest): number {
  if (waitFor === undefined || waitFor === "") return DEFAULT_WAIT_MS;
  try {
    const ms = Number(parseDuration(waitFor) / 1_000_000n);
    return Math.min(Math.max(0, ms), MAX_WAIT_MS);
  } catch (cause) {
    throw invalid(
      `waitFor is "${waitFor}", expected a duration like 10m: ${errorText(cause)}`,
    );
  }
}
