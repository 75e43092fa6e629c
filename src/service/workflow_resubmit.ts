/** Starting a workflow again under a new name. */
import type { Caller } from "../auth/port.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import { withCreator } from "./caller_labels.ts";
import type { ServiceDeps } from "./deps.ts";
import type { Idempotency } from "./idempotency.ts";
import { WORKFLOW } from "./kinds.ts";
import { validateNewWorkflow } from "./validation.ts";
import { checkParameters } from "./workflow_control.ts";
import { storeWorkflow } from "./workflow_create.ts";
import { readWorkflow, resolveName, type WorkflowRef } from "./workflow_reads.ts";
import { resubmitted } from "./resubmitted.ts";

export interface ResubmitRequest {
  memoized?: boolean;
  parameters?: string[];
  idempotency?: Idempotency | undefined;
}

/** Resubmits a workflow that is in the store. */
export async function resubmitWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: ResubmitRequest,
): Promise<Workflow> {
  const { namespace } = ref;
  const name = await resolveName(deps, caller, namespace, ref.name);
  await requireAccess(caller, { verb: "get", resource: WORKFLOW.resource, namespace, name });
  const workflow = await readWorkflow(deps, namespace, name);
  return await resubmitFrom(deps, caller, workflow, request);
}

/** Makes and stores a new workflow from a given one. */
export async function resubmitFrom(
  deps: ServiceDeps,
  caller: Caller,
  old: Workflow,
  request: ResubmitRequest,
): Promise<Workflow> {
  checkParameters(request.parameters);
  const namespace = old.metadata.namespace ?? "";
  const made = resubmitted(old, {
    memoized: request.memoized === true,
    parameters: request.parameters ?? [],
    nowMs: deps.clock.now(),
    suffix: (length) => deps.ids.suffix(length),
  });
  const { labels: copied, ...metadata } = made.metadata;
  const labels = withCreator(copied, caller.identity);
  const workflow: Workflow = {
    ...made,
    metadata: { ...metadata, namespace, ...(labels === undefined ? {} : { labels }) },
  };
  await validateNewWorkflow(deps, workflow, namespace);
  return await storeWorkflow(deps, caller, {
    namespace,
    workflow,
    idempotency: request.idempotency,
  });
}
