/** ConfigMaps and Secrets of the manifest store. */
import { Buffer } from "node:buffer";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { ConfigMap, Secret } from "../../spec/manifest.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { Store } from "../../store/port.ts";

/** ConfigMaps and Secrets for executors and artifact locations. */
export function createStoredConfig({ manifests }: Store): ConfigSource {
  const read = async (kind: "ConfigMap" | "Secret", namespace: string, name: string) => {
    const stored = await manifests.get(kind, namespace, name);
    // It may well be there: who is told that it is not would look in the wrong place.
    const refusal = stored === undefined ? manifests.refusal?.(kind, namespace, name) : undefined;
    if (refusal === undefined) return stored;
    throw new Problem(
      ProblemCode.PermissionDenied,
      `The server may not read ${kind} "${name}" in namespace ${namespace}: ${refusal}`,
    );
  };
  return {
    async configMap(namespace, name) {
      const stored = await read("ConfigMap", namespace, name);
      return stored && (manifestObject<ConfigMap>(stored).data ?? {});
    },
    async secret(namespace, name) {
      const stored = await read("Secret", namespace, name);
      if (!stored) return undefined;
      return secretTexts(manifestObject<Secret>(stored));
    },
  };
}

/** The texts of a secret by key. As in Kubernetes, `stringData` takes precedence over `data`. */
export function secretTexts({ data = {}, stringData = {} }: Secret): Record<string, string> {
  const decoded = Object.entries(data).map(([key, value]) => [
    key,
    Buffer.from(value, "base64").toString("utf8"),
  ]);
  return { ...Object.fromEntries(decoded), ...stringData };
}
