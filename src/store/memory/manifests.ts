/** Stored manifests of the memory adapter. */
import {
  continueManifests,
  findConflict,
  manifestId,
  manifestOrder,
  matchesManifest,
  parseManifestContinue,
} from "../manifest_list.ts";
import type { MemoryState } from "./state.ts";
import { publish } from "./state.ts";
import type { ManifestStore, StoredManifest } from "../manifest_port.ts";

/** The methods are properties, so that a wrapper can replace some of them. */
export class MemoryManifests implements ManifestStore {
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  readonly get: ManifestStore["get"] = (kind, namespace, name) => {
    const found = this.#state.manifests.get(manifestId(kind, namespace, name));
    return Promise.resolve(found && copyOf(found));
  };

  // deno-lint-ignore require-await -- so that refusals are rejections
  readonly list: ManifestStore["list"] = async (kind, query) => {
    const after = parseManifestContinue(query.continue);
    const found = [...this.#state.manifests.values()]
      .filter((manifest) => manifest.kind === kind && matchesManifest(manifest, query))
      .filter((manifest) => after === undefined || orderOf(manifest) > after)
      .sort((a, b) => orderOf(a) < orderOf(b) ? -1 : 1);
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
        { continue: continueManifests(orderOf(last)) }),
      version: String(this.#state.version),
    };
  };

  readonly put: ManifestStore["put"] = (manifest, expect) => {
    const { kind, namespace, name, text, labels } = manifest;
    const state = this.#state;
    const id = manifestId(kind, namespace, name);
    const before = state.manifests.get(id);
    const conflict = findConflict(before, expect);
    if (conflict !== undefined) return Promise.resolve({ conflict });
    const version = String(++state.version);
    state.manifests.set(id, { kind, namespace, name, version, text, labels: { ...labels } });
    const type = before === undefined ? "ADDED" : "MODIFIED";
    publish(state, { type, id, version, put: { m: text }, drop: [] });
    return Promise.resolve({ version });
  };

  readonly remove: ManifestStore["remove"] = (kind, namespace, name, expect) => {
    const state = this.#state;
    const id = manifestId(kind, namespace, name);
    const before = state.manifests.get(id);
    if (before === undefined) return Promise.resolve(undefined);
    if (expect !== undefined && before.version !== expect) return Promise.resolve(undefined);
    state.manifests.delete(id);
    const version = String(++state.version);
    publish(state, { type: "DELETED", id, version, put: {}, drop: [] });
    return Promise.resolve(before);
  };
}

function orderOf({ namespace, name }: StoredManifest): string {
  return manifestOrder(namespace, name);
}

function copyOf(manifest: StoredManifest): StoredManifest {
  return { ...manifest, labels: { ...manifest.labels } };
}
