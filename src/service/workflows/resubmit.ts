/** Starting a workflow again under a new name. */
import type { Caller } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import type { TraceOrigin } from "../../base/trace_context.ts";
import { nameBaseOf, resubmitSteps } from "../../engine/orders/resubmit.ts";
import { Turns } from "../../platform/turns.ts";
import { goQuote } from "../../expr/values/go_quote.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { requireAccess } from "../access.ts";
import { withCreatorLabels } from "../caller_labels.ts";
import type { ServiceDeps } from "../deps.ts";
import { engineEnv } from "../engine_env.ts";
import { fractionsOf, type Idempotency, orFirstAnswer } from "../idempotency.ts";
import { WORKFLOW } from "../kinds.ts";
import { generateName, isNamespace } from "../object_names.ts";
import { validateNewWorkflow } from "../manifests/validation.ts";
import { checkParameters } from "./control.ts";
import { storeWorkflow, withStoredTemplates } from "./create.ts";
import { isNotFound } from "../problem_kinds.ts";
import { allowedName, findDeletedWorkflow, readWorkflow, type WorkflowRef } from "./reads.ts";
import { requireReadable } from "./stored_workflow.ts";

export interface ResubmitRequest {
  memoized?: boolean;
  parameters?: string[];
  /** Where the new workflow is made. @default that of the old one */
  namespace?: string | undefined;
  idempotency?: Idempotency | undefined;
  /** What caused it, where traces are wanted. */
  trace?: TraceOrigin | undefined;
}

/** Resubmits a workflow by its name, also a deleted one that the archive keeps. */
export async function resubmitWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  ref: WorkflowRef,
  request: ResubmitRequest,
): Promise<Workflow> {
  const { namespace } = ref;
  return await orFirstAnswer(deps, caller, request.idempotency, async () => {
    const name = await allowedName(deps, caller, ref, "get");
    const workflow = await readWorkflow(deps, namespace, name).catch(async (error: unknown) => {
      const deleted = isNotFound(error)
        ? await findDeletedWorkflow(deps, namespace, name)
        : undefined;
      if (deleted === undefined) throw error;
      return requireReadable(deleted);
    });
    return await resubmitFrom(deps, caller, workflow, request);
  });
}

/** Makes and stores a new workflow from a given one. */
export async function resubmitFrom(
  deps: ServiceDeps,
  caller: Caller,
  old: Workflow,
  request: ResubmitRequest,
): Promise<Workflow> {
  checkParameters(request.parameters);
  const namespace = request.namespace || (old.metadata.namespace ?? "");
  if (!isNamespace(namespace)) throw invalid(`${goQuote(namespace)} can't be a namespace`);
  const options = { memoized: request.memoized === true, parameters: request.parameters ?? [] };
  const env = engineEnv(deps);
  // A repeated request must find the workflow of the first one, also if its name is made here.
  const fraction = fractionsOf(request.idempotency);
  const base = nameBaseOf(old.metadata);
  const { randomSuffix } = env;
  env.randomSuffix = fraction === undefined
    ? (length) =>
      deps.host.chooseName(namespace, () => base + randomSuffix(length)).slice(base.length)
    : () => generateName("", fraction);
  const made = await new Turns().run(resubmitSteps(old, options, env));
  // The copy of a suspended workflow is not suspended.
  const { suspend: _suspend, ...spec } = made.spec;
  const metadata = { ...made.metadata, namespace };
  const workflow = withCreatorLabels(deps, { ...made, spec, metadata }, caller);
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  const reached = await validateNewWorkflow(deps, caller, workflow, namespace);
  return await storeWorkflow(deps, caller, {
    namespace,
    workflow: withStoredTemplates(workflow, reached),
    manifests: reached.manifests,
    idempotency: request.idempotency,
    trace: request.trace,
  });
}
