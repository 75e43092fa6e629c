/** Checking workflows without storing them. */
import type { Caller } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import { Turns } from "../../platform/turns.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { normalForm } from "../../spec/normal_form.ts";
import { WORKFLOW_SCHEMA } from "../../spec/schema/kinds.ts";
import { requireAccess } from "../access.ts";
import type { ServiceDeps } from "../deps.ts";
import { WORKFLOW } from "../kinds.ts";
import { validateNewWorkflow } from "../manifests/validation.ts";
import { newWorkflow, placeOf, withStoredTemplates } from "./create.ts";

/** Checks a workflow and returns it as it would be created, without name and times. Needs the right to create it. */
export async function lintWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  requested: string,
  workflow: Workflow | undefined,
): Promise<Workflow> {
  if (workflow === undefined) throw invalid("unable to get a workflow");
  const namespace = placeOf(workflow, requested);
  const checked = newWorkflow(deps, workflow, caller);
  await requireAccess(caller, { verb: "create", resource: WORKFLOW.resource, namespace });
  const stored = await validateNewWorkflow(deps, caller, checked, namespace, { lint: true });
  // Each part takes a while for a workflow with very many members.
  const turns = new Turns();
  await turns.pause();
  const shown = normalForm(withStoredTemplates(checked, stored), WORKFLOW_SCHEMA);
  await turns.pause();
  return shown;
}
