/** Stored manifests of the memory adapter. */
import {
  continueManifests,
  findConflict,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "./manifest_list.ts";
import type { MemoryState } from "./memory_state.ts";
import { publish } from "./memory_state.ts";
import type { ManifestStore, StoredManifest } from "./port.ts";

export function createMemoryManifests(state: MemoryState): ManifestStore {
  return {
    get(kind, namespace, name) {
      const found = state.manifests.get(manifestId(kind, namespace, name));
      return Promise.resolve(found && copyOf(found));
    },

    // deno-lint-ignore require-await -- so that refusals are rejections
    async list(kind, query) {
      const after = parseManifestContinue(query.continue);
      const order = ({ namespace, name }: StoredManifest) => manifestOrder(namespace, name);
      const found = [...state.manifests.values()]
        .filter((manifest) => manifest.kind === kind && matchesManifest(manifest, query))
        .filter((manifest) => after === undefined || order(manifest) > after)
        .sort((a, b) => order(a) < order(b) ? -1 : 1);
      const items: StoredManifest[] = [];
      let size = 0;
      for (const one of found) {
        const isFull = items.length > 0 && size >= (query.maxSize ?? Infinity);
        if (isFull || (query.limit > 0 && items.length === query.limit)) break;
        items.push(one);
        size += one.text.length;
      }
      const last = items.at(-1);
      return {
        items: items.map(copyOf),
        ...(last !== undefined && found.length > items.length &&
          { continue: continueManifests(order(last)) }),
        version: String(state.version),
      };
    },

    put(manifest, expect) {
      const { kind, namespace, name, text, labels } = manifest;
      const id = manifestId(kind, namespace, name);
      const before = state.manifests.get(id);
      const conflict = findConflict(before, expect);
      if (conflict !== undefined) return Promise.resolve({ conflict });
      const version = String(++state.version);
      state.manifests.set(id, { kind, namespace, name, version, text, labels: { ...labels } });
      publish(state, {
        type: before === undefined ? "ADDED" : "MODIFIED",
        id,
        version,
        put: { m: text },
        drop: [],
      });
      return Promise.resolve({ version });
    },

    remove(kind, namespace, name, expect) {
      const id = manifestId(kind, namespace, name);
      const before = state.manifests.get(id);
      if (before === undefined) return Promise.resolve(undefined);
      if (expect !== undefined && before.version !== expect) return Promise.resolve(undefined);
      state.manifests.delete(id);
      const version = String(++state.version);
      publish(state, { type: "DELETED", id, version, put: {}, drop: [] });
      return Promise.resolve(before);
    },
  };
}

function copyOf(manifest: StoredManifest): StoredManifest {
  return { ...manifest, labels: { ...manifest.labels } };
}
