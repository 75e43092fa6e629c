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

/** Most bytes of the entries of a cache: a ConfigMap of a cluster holds little more. */
const MAX_SIZE = 1_000_000;
/** What is left of them when the oldest ones go, so that they are not looked for each time. */
const KEPT_SIZE = 750_000;

/** Writes one entry, in the place of the oldest ones of a cache that is full. Writing it again changes nothing. */
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
    const data = { ...withoutOldest(object.data ?? {}, memo), [memo.key]: memo.entry };
    const text = JSON.stringify({ ...object, data });
    const written = await manifests.put(
      { kind: "ConfigMap", namespace, name, labels, text },
      stored?.version,
    );
    if ("version" in written) return;
  }
  throw new Error(`ConfigMap ${namespace}/${name} changes all the time`);
}

/** The data of a cache, with room for an entry. What is no entry stays. */
function withoutOldest(
  data: Record<string, string>,
  { key: newKey, entry: newEntry }: SaveMemo,
): Record<string, string> {
  const sizes = Object.entries(data).filter(([key]) => key !== newKey)
    .map(([key, entry]): [string, number] => [key, sizeOf(key, entry)]);
  let size = sizes.reduce((sum, [, one]) => sum + one, sizeOf(newKey, newEntry));
  if (size <= MAX_SIZE) return data;
  const entries = sizes.flatMap(([key, one]) => {
    const createdAt = createdAtOf(data[key] ?? "");
    return createdAt === undefined ? [] : [{ key, size: one, createdAt }];
  }).sort((a, b) => a.createdAt - b.createdAt);
  const kept = new Map(Object.entries(data));
  for (const oldest of entries) {
    if (size <= KEPT_SIZE) break;
    kept.delete(oldest.key);
    size -= oldest.size;
  }
  return Object.fromEntries(kept);
}

function sizeOf(key: string, entry: string): number {
  return Buffer.byteLength(key) + Buffer.byteLength(entry);
}

/** When an entry was made, epoch ms; undefined for what is no entry. */
function createdAtOf(entry: string): number | undefined {
  const value = parseOrUndefined(entry);
  if (!isJsonObject(value) || typeof value["nodeID"] !== "string") return undefined;
  const createdAt = Date.parse(String(value["creationTimestamp"]));
  return Number.isNaN(createdAt) ? 0 : createdAt;
}
