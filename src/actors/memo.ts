/** Keeps memoized outputs in a ConfigMap of the manifest store, as the reference does. */
import { isJsonObject } from "../base/json.ts";
import { parseOrUndefined } from "../base/json_text.ts";
import type { ConfigMap } from "../spec/manifest.ts";
import { configMapTypeLabel } from "../spec/naming.ts";
import type { Effect } from "../engine/effect.ts";
import type { ManifestStore } from "../store/manifest_port.ts";

type SaveMemo = Extract<Effect, { type: "save-memo" }>;

/** Writers that meet on one ConfigMap try again so many times. */
const MAX_TRIES = 20;

/** Writes one entry. Writing it again changes nothing. */
export async function saveMemo(
  manifests: ManifestStore,
  memo: SaveMemo,
  labelPrefix: string,
): Promise<void> {
  const { namespace, configMap: name } = memo;
  for (let attempt = 0; attempt < MAX_TRIES; attempt++) {
    const stored = await manifests.get("ConfigMap", namespace, name);
    const labels = stored?.labels ?? { [configMapTypeLabel({ labelPrefix })]: "Cache" };
    const known = stored && parseOrUndefined(stored.text);
    // One that cannot be read is made anew: it is a cache.
    const object: ConfigMap = isJsonObject(known) ? known as unknown as ConfigMap : {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name, namespace, labels },
    };
    if (object.data?.[memo.key] === memo.entry) return;
    const text = JSON.stringify({ ...object, data: { ...object.data, [memo.key]: memo.entry } });
    const written = await manifests.put(
      { kind: "ConfigMap", namespace, name, labels, text },
      stored?.version,
    );
    if ("version" in written) return;
  }
  throw new Error(`ConfigMap ${namespace}/${name} changes all the time`);
}
