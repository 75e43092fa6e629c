/** Switching the schedule of a cron workflow off and on. */
import type { Caller } from "../../auth/port.ts";
import { type CronWorkflow, ManifestKind } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import { requireManifestAccess } from "../manifests/reads.ts";
import { changeManifest } from "../manifests/writes.ts";

/** Switches a cron workflow's schedule off or on. */
export async function suspendCronWorkflow(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  name: string,
  suspend: boolean,
): Promise<CronWorkflow> {
  const kind = ManifestKind.CronWorkflow;
  await requireManifestAccess(caller, "patch", kind, namespace, name);
  return await changeManifest<CronWorkflow>(deps, kind, namespace, name, (cron) => {
    const { suspend: before = false, ...spec } = cron.spec;
    // What changes nothing has no new version: an update that is based on the old one still fits.
    if (before === suspend) return cron;
    const metadata = { ...cron.metadata, generation: (cron.metadata.generation ?? 1) + 1 };
    return { ...cron, metadata, spec: suspend ? { ...spec, suspend } : spec };
  });
}
