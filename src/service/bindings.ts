/** Event bindings as stored objects. */
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import { ManifestKind, type WorkflowEventBinding } from "../spec/manifest.ts";
import { validateEventBinding } from "../spec/validate_event_binding.ts";
import type { ServiceDeps } from "./deps.ts";
import { createManifest, requireManifestAccess, updateManifest } from "./manifests.ts";
import { requireSameName, withActorLabels, withCreatorLabels } from "./templates.ts";

const KIND = ManifestKind.WorkflowEventBinding;
const MISSING = "workflow event binding was not found in the request body";

/** Checks and stores a new binding. */
export async function createBinding(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  binding: WorkflowEventBinding | undefined,
): Promise<WorkflowEventBinding> {
  const made = withCreatorLabels(deps, checked(binding), caller);
  return await createManifest(deps, caller, KIND, namespace, made);
}

/** Checks a binding and replaces the stored one of its name. */
export async function updateBinding(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  pathName: string,
  binding: WorkflowEventBinding | undefined,
): Promise<WorkflowEventBinding> {
  const changed = withActorLabels(deps, checked(binding), caller);
  requireSameName(pathName, changed);
  return await updateManifest(deps, caller, KIND, namespace, changed);
}

/** Checks a binding without storing it; needs the rights of a creation. */
export async function lintBinding(
  caller: Caller,
  namespace: string,
  binding: WorkflowEventBinding | undefined,
): Promise<WorkflowEventBinding> {
  await requireManifestAccess(caller, "create", KIND, namespace);
  return checked(binding);
}

function checked(binding: WorkflowEventBinding | undefined): WorkflowEventBinding {
  if (binding === undefined) throw invalid(MISSING);
  validateEventBinding(binding);
  return binding;
}
