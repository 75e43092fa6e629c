/** ConfigMaps and Secrets of the manifest store. */
import { Buffer } from "node:buffer";
import type { ConfigSource } from "../../artifacts/config_source.ts";
import type { ConfigMap, Secret } from "../../spec/manifest.ts";
import { manifestObject } from "../../store/manifest_object.ts";
import type { Store } from "../../store/port.ts";

/** ConfigMaps and Secrets for executors and artifact locations. */
export function createStoredConfig({ manifests }: Store): ConfigSource {
  return {
    async configMap(namespace, name) {
      const stored = await manifests.get("ConfigMap", namespace, name);
      return stored && (manifestObject<ConfigMap>(stored).data ?? {});
    },
    async secret(namespace, name) {
      const stored = await manifests.get("Secret", namespace, name);
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
