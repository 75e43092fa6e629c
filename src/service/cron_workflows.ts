/** Cron workflows as stored objects; running them is the scheduler's business. */
import type { Caller } from "../auth/port.ts";
import { invalid } from "../base/problem.ts";
import { type CronWorkflow, ManifestKind } from "../spec/manifest.ts";
import { requireAccess } from "./access.ts";
import type { ServiceDeps } from "./deps.ts";
import { MANIFEST_RESOURCES } from "./kinds.ts";
import {
  changeManifest,
  createManifest,
  requireManifestAccess,
  updateManifest,
} from "./manifests.ts";
import { requireSameName, withActorLabels, withCreatorLabels } from "./templates.ts";
import { validateCron } from "./validation.ts";

const MISSING = "cron workflow was not found in the request body";

/** Checks and stores a new cron workflow. */
export async function createCronWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  cron: CronWorkflow | undefined,
): Promise<CronWorkflow> {
  if (cron === undefined) throw invalid(MISSING);
  const made = withCreatorLabels(deps, cron, caller);
  await requireManifestAccess(caller, "create", ManifestKind.CronWorkflow, namespace);
  await validateCron(deps, caller, made, namespace);
  return await createManifest(deps, caller, ManifestKind.CronWorkflow, namespace, made);
}

/** Checks a cron workflow and replaces the stored one of its name. */
export async function updateCronWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  pathName: string,
  cron: CronWorkflow | undefined,
): Promise<CronWorkflow> {
  if (cron === undefined) throw invalid(MISSING);
  requireSameName(pathName, cron);
  const changed = withActorLabels(deps, cron, caller);
  const { name = "" } = cron.metadata;
  await requireManifestAccess(caller, "update", ManifestKind.CronWorkflow, namespace, name);
  await validateCron(deps, caller, changed, namespace);
  return await updateManifest(deps, caller, ManifestKind.CronWorkflow, namespace, changed);
}

/** Checks a cron workflow without storing it; needs the rights of a creation. */
export async function lintCronWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  cron: CronWorkflow | undefined,
): Promise<CronWorkflow> {
  if (cron === undefined) throw invalid(MISSING);
  const checked = withCreatorLabels(deps, cron, caller);
  await requireManifestAccess(caller, "create", ManifestKind.CronWorkflow, namespace);
  await validateCron(deps, caller, checked, namespace, { lint: true });
  return checked;
}

/** Switches a cron workflow's schedule off or on. */
export async function suspendCronWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
  suspend: boolean,
): Promise<CronWorkflow> {
  const { resource } = MANIFEST_RESOURCES.CronWorkflow;
  await requireAccess(caller, { verb: "patch", resource, namespace, name });
  return await changeManifest<CronWorkflow>(
    deps,
    ManifestKind.CronWorkflow,
    namespace,
    name,
    (cron) => {
      const { suspend: _before, ...spec } = cron.spec;
      return { ...cron, spec: suspend ? { ...spec, suspend } : spec };
    },
  );
}
