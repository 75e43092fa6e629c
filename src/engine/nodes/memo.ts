/** Memoized results. They are looked up before a node begins, and saved when it has succeeded. */
import type { ConfigMap, Outputs, Template } from "../../spec/manifest.ts";
import { emit } from "../change.ts";
import { nodeDurationMs } from "./duration.ts";
import { foreignArtifact } from "./foreign_artifacts.ts";
import { NodeFailure } from "../failure.ts";
import { findStored } from "../stored_manifests.ts";
import { workflowNamespace } from "../state.ts";
import type { NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { rfc3339 } from "../scope/time_text.ts";

export interface MemoLookup {
  status: { hit: boolean; key: string; cacheName: string };
  /** Present on a hit; may be empty. */
  outputs?: Outputs;
}

interface MemoEntry {
  nodeID?: string;
  outputs?: Outputs | null;
  creationTimestamp?: string;
}

/**
 * Looks up the memoized result of a template; undefined when the template does not ask for that.
 * @throws {NodeFailure} on a bad key or age
 */
export function findMemo(turn: Turn, template: Template): MemoLookup | undefined {
  const { memoize } = template;
  if (memoize === undefined) return undefined;
  const key = memoize.key ?? "";
  if (!/^[a-zA-Z0-9][-a-zA-Z0-9]*$/.test(key)) throw new NodeFailure(`invalid cache key: ${key}`);
  const cacheName = memoize.cache?.configMap?.name ?? "";
  const miss: MemoLookup = { status: { hit: false, key, cacheName } };
  const own = turn.state.runtime.memos?.get(`${cacheName}/${key}`);
  if (own !== undefined) {
    return { status: { hit: true, key, cacheName }, outputs: readEntry(own)?.outputs ?? {} };
  }
  const map = findStored<ConfigMap>(turn, "ConfigMap", workflowNamespace(turn.state), cacheName);
  if (map === undefined) return miss;
  const type = map.metadata.labels?.[`${turn.env.labelPrefix}configmap-type`];
  if (type !== "Cache") {
    throw new NodeFailure(
      `memoization configmap doesn't have ${turn.env.labelPrefix}configmap-type label, refusing to use it`,
    );
  }
  const entry = readEntry(map.data?.[key]);
  if (entry === undefined || isTooOld(turn, entry, memoize.maxAge)) return miss;
  // A result from before keys had owners is made anew.
  if (foreignArtifact(turn, entry.outputs?.artifacts) !== undefined) return miss;
  return { status: { hit: true, key, cacheName }, outputs: entry.outputs ?? {} };
}

function readEntry(text: string | undefined): MemoEntry | undefined {
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as MemoEntry;
  } catch {
    return undefined;
  }
}

function isTooOld(turn: Turn, entry: MemoEntry, maxAge: string | undefined): boolean {
  if (maxAge === undefined || maxAge === "") return false;
  const ageMs = nodeDurationMs(maxAge, (reason) => `invalid maxAge: ${reason}`);
  return turn.env.now > Date.parse(entry.creationTimestamp ?? "") + ageMs;
}

/** Saves the outputs of a node that has succeeded after a miss. */
export function saveMemo(turn: Turn, node: NodeRecord): void {
  const status = node.memoizationStatus;
  if (status === undefined) return;
  const at = rfc3339(turn.env.now);
  const entry = JSON.stringify({
    nodeID: node.id,
    outputs: node.outputs ?? {},
    creationTimestamp: at,
    lastHitTimestamp: at,
  });
  const memos = turn.state.runtime.memos ??= new Map();
  memos.set(`${status.cacheName}/${status.key}`, entry);
  emit(turn, {
    type: "save-memo",
    id: `memo/${node.id}/${node.starts ?? 0}`,
    namespace: workflowNamespace(turn.state),
    configMap: status.cacheName,
    key: status.key,
    entry,
  });
}
