/** Calling back steps that wait, from an event: resume or stop. */
import type { Caller } from "../auth/port.ts";
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import type { CallbackRequest } from "../events/match.ts";
import { parseDuration } from "../expr/go_duration.ts";
import { parseLabelSelector } from "../expr/label_selector.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { EVENT_KEY_TTL_MS } from "./event_identity.ts";
import { WORKFLOW } from "./kinds.ts";
import { controlWorkflow } from "./workflow_control.ts";

/** How long a callback waits for its step when the binding doesn't say. */
const DEFAULT_WAIT_MS = 10 * 60_000;
const MAX_WAIT_MS = 24 * 3_600_000;
/** Workflows that one callback may reach. */
const MAX_WORKFLOWS = 1_000;

/**
 * Resumes or stops the steps that wait and match.
 *
 * @param key makes a repeat find the first answer
 * @returns the workflows whose steps were called back; none when no step waits
 * @throws {Problem} PermissionDenied, InvalidArgument, Unavailable …
 */
export async function callBack(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  request: CallbackRequest,
  key: string,
): Promise<string[]> {
  const { action, nodeFieldSelector, message } = request;
  if (nodeFieldSelector === "") throw invalid("the node field selector is empty");
  const found: string[] = [];
  for (const name of await workflowsOf(deps, caller, namespace, request)) {
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
          : { type: "stop", nodeFieldSelector, ...(message === undefined ? {} : { message }) },
        idempotency,
      );
      found.push(name);
    } catch (error) {
      // No such workflow, or no such step in it: not yet.
      if (!(error instanceof Problem && error.code === ProblemCode.NotFound)) throw error;
    }
  }
  return found;
}

async function workflowsOf(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  { workflow, labelSelector }: CallbackRequest,
): Promise<string[]> {
  if (workflow !== undefined) {
    if (workflow === "" || workflow.startsWith("@")) throw invalid("the workflow's name is empty");
    return [workflow];
  }
  if ((labelSelector ?? "") === "") throw invalid("neither a workflow nor labels are given");
  await requireAccess(caller, { verb: "list", resource: WORKFLOW.resource, namespace });
  const { items } = await deps.store.query.list({
    kind: "wf",
    namespace,
    labels: parseLabelSelector(labelSelector ?? ""),
    phases: ["", "Pending", "Running"],
    limit: MAX_WORKFLOWS,
    parts: [],
  });
  return items.map(({ index }) => index.name);
}

/**
 * How long a callback waits for a step that is not there yet, ms.
 * @throws {Problem} InvalidArgument when the duration can't be read
 */
export function waitMsOf({ waitFor }: CallbackRequest): number {
  if (waitFor === undefined || waitFor === "") return DEFAULT_WAIT_MS;
  try {
    const ms = Number(parseDuration(waitFor) / 1_000_000n);
    return Math.min(Math.max(0, ms), MAX_WAIT_MS);
  } catch (cause) {
    throw invalid(
      `waitFor is "${waitFor}", expected a duration like 10m: ${
        cause instanceof Error ? cause.message : String(cause)
      }`,
    );
  }
}
