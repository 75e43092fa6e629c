/** Events that call back steps that wait, to resume or to stop them. */
import type { Caller } from "../../auth/port.ts";
import { defined } from "../../base/defined.ts";
import { errorText } from "../../base/error_text.ts";
import { invalid } from "../../base/problem.ts";
import type { CallbackRequest } from "../../events/match.ts";
import { parseDuration } from "../../expr/values/go_duration.ts";
import { parseLabelSelector } from "../../expr/selectors/label_selector.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { EVENT_KEY_TTL_MS } from "./identity.ts";
import { WORKFLOW } from "../kinds.ts";
import { isNotFound } from "../problem_kinds.ts";
import { controlWorkflow } from "../workflows/control.ts";

/** How long a callback waits for its step if the binding doesn't say. */
const DEFAULT_WAIT_MS = 10 * 60_000;
const MAX_WAIT_MS = 24 * 3_600_000;
/** Workflows that one callback may reach. */
const MAX_WORKFLOWS = 1_000;

/**
 * Resumes or stops the matching steps that wait.
 *
 * @param by the key under which a repeat finds the first answer, and what caused it, as a `traceparent`
 * @returns the workflows whose steps were called back; none when no step waits
 * @throws {Problem} PermissionDenied, InvalidArgument, Unavailable …
 */
export async function callBack(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  request: CallbackRequest,
  { key, cause }: { key: string; cause?: string | undefined },
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
          : { type: "stop", nodeFieldSelector, ...defined({ message }) },
        { idempotency, cause },
      );
      found.push(name);
    } catch (error) {
      // There is no such workflow or step yet.
      if (!isNotFound(error)) throw error;
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
