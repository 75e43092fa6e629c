/** Checking workflows without storing them. */
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import type { Workflow } from "../spec/manifest.ts";
import type { ServiceDeps } from "./deps.ts";
import { validateNewWorkflow } from "./validation.ts";
import { labelled, withStoredTemplates } from "./workflow_create.ts";

/** Checks a workflow and returns it as it would be created, without a name or times. */
export async function lintWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  workflow: Workflow | undefined,
): Promise<Workflow> {
  if (workflow === undefined) throw invalid("unable to get a workflow");
  const checked = labelled(workflow, caller);
  const stored = await validateNewWorkflow(deps, checked, namespace, { lint: true });
  return withStoredTemplates(checked, stored);
}
