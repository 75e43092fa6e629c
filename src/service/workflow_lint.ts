/** Checking workflows without storing them. */
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { WORKFLOW } from "./kinds.ts";
import { validateNewWorkflow } from "./validation.ts";
import { labelled, withStoredTemplates } from "./workflow_create.ts";

/** Checks a workflow and returns it as it would be created, without a name or times; needs the rights of a creation. */
export async function lintWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  workflow: Workflow | undefined,
): Promise<Workflow> {
  if (workflow === undefined) throw invalid("unable to get a workflow");
  const checked = labelled(deps, workflow, caller);
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  const stored = await validateNewWorkflow(deps, caller, checked, namespace, { lint: true });
  return withStoredTemplates(checked, stored);
}
