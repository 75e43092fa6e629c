/** Starting a workflow again under a new name. */
import type { Caller } from "../auth/port.ts";
import { resubmitWorkflow as copyOf } from "../engine/resubmit.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import { withCreator } from "./caller_labels.ts";
import type { ServiceDeps } from "./deps.ts";
import type { Idempotency } from "./idempotency.ts";
import { WORKFLOW } from "./kinds.ts";
import { validateNewWorkflow } from "./validation.ts";
import { checkParameters } from "./workflow_control.ts";
import { storeWorkflow, withStoredTemplates } from "./workflow_create.ts";
import { readWorkflow, resolveName, type WorkflowRef } from "./workflow_reads.ts";

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
  const made = copyOf(old, {
    memoized: request.memoized === true,
    parameters: request.parameters ?? [],
  }, {
    now: deps.clock.now(),
    randomSuffix: (length) => deps.ids.suffix(length),
    findManifest: () => undefined,
    ...deps.settings.naming,
  });
  const { labels: copied, ...metadata } = made.metadata;
  const labels = withCreator(copied, caller.identity, deps.settings.naming.labelPrefix);
  // A workflow that was put on hold is not resubmitted to be on hold again.
  const { suspend: _suspend, ...spec } = made.spec;
  const workflow: Workflow = {
    ...made,
    spec,
    metadata: { ...metadata, namespace, ...(labels === undefined ? {} : { labels }) },
  };
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  const storedTemplates = await validateNewWorkflow(deps, caller, workflow, namespace);
  return await storeWorkflow(deps, caller, {
    namespace,
    workflow: withStoredTemplates(workflow, storedTemplates),
    idempotency: request.idempotency,
  });
}
