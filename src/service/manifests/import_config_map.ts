/** Takes ConfigMaps that workflows refer to from another installation. */
import { isDeepStrictEqual } from "node:util";
import type { Caller } from "../../auth/port.ts";
import { invalid } from "../../base/problem.ts";
import { type ConfigMap, ManifestKind } from "../../spec/manifest.ts";
import type { ServiceDeps } from "../deps.ts";
import type { Imported, ImportOptions } from "../imported.ts";
import { MANIFEST_RESOURCES } from "../kinds.ts";
import { checkMetadata, namespaceOf } from "../object_names.ts";
import { objectFrom, requireManifestAccess } from "./reads.ts";
import { changeManifest, createManifest } from "./writes.ts";

const KIND = ManifestKind.ConfigMap;

/**
 * Imports one ConfigMap. One with the same data and labels is not changed.
 * @throws {Problem} PermissionDenied, InvalidArgument for its metadata
 */
export async function importConfigMap(
  deps: ServiceDeps,
  caller: Caller,
  namespace: string,
  given: ConfigMap | undefined,
  { overwrite, dryRun }: ImportOptions,
): Promise<Imported> {
  await requireManifestAccess(caller, "create", KIND, namespace);
  if (given === undefined) throw invalid("config map body not specified");
  const { name = "", labels } = given.metadata;
  await requireManifestAccess(caller, "update", KIND, namespace, name);
  namespaceOf(given.metadata, namespace);
  checkMetadata(deps, MANIFEST_RESOURCES[KIND], { ...given.metadata, namespace });
  const stored = await deps.store.manifests.get(KIND, namespace, name);
  if (stored === undefined) {
    const object = { ...given, metadata: { name, ...(labels && { labels }) } };
    if (dryRun !== true) await createManifest(deps, caller, KIND, namespace, object);
    return { outcome: "created" };
  }
  const known = objectFrom<ConfigMap>(stored);
  const isSame = isDeepStrictEqual(contentOf(known), contentOf(given));
  if (isSame) return { outcome: "unchanged" };
  if (overwrite !== true) return { outcome: "differs", message: "its data or labels differ" };
  if (dryRun !== true) {
    await changeManifest<ConfigMap>(deps, KIND, namespace, name, (old) => ({
      ...given,
      metadata: { ...old.metadata, labels: labels ?? {} },
    }));
  }
  return { outcome: "replaced" };
}

function contentOf({ data = {}, metadata: { labels = {} } }: ConfigMap): object {
  return { data: { ...data }, labels: { ...labels } };
}
