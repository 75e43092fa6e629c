/** Memoized results. They are looked up before a node begins, and saved when it has succeeded. */
import { isJsonObject } from "../../base/json.ts";
import { parseOrUndefined } from "../../base/json_text.ts";
import type { ConfigMap, Outputs, Template } from "../../spec/manifest.ts";
import { configMapTypeLabel } from "../../spec/naming.ts";
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
  const miss = missOf(template);
  if (miss === undefined) return undefined;
  const { key, cacheName } = miss.status;
  if (!/^[a-zA-Z0-9][-a-zA-Z0-9]*$/.test(key)) throw new NodeFailure(`invalid cache key: ${key}`);
  const maxAgeMs = maxAgeOf(template.memoize?.maxAge);
  const entry = ownEntry(turn, `${cacheName}/${key}`, maxAgeMs) ??
    storedEntry(turn, cacheName, key, maxAgeMs);
  if (entry === undefined) return miss;
  return { status: { ...miss.status, hit: true }, outputs: entry.outputs ?? {} };
}

/** A lookup that finds nothing: for the attempts of a retry node, which itself has looked before them. */
export function missOf({ memoize }: Template): MemoLookup | undefined {
  if (memoize === undefined) return undefined;
  const { key = "", cache } = memoize;
  return { status: { hit: false, key, cacheName: cache?.configMap?.name ?? "" } };
}

/** A result of this workflow, which may not be stored yet. */
function ownEntry(turn: Turn, name: string, maxAgeMs: number): MemoEntry | undefined {
  const entry = readEntry(turn.state.runtime.memos?.get(name));
  return entry === undefined || isTooOld(turn, entry, maxAgeMs) ? undefined : entry;
}

function storedEntry(
  turn: Turn,
  cacheName: string,
  key: string,
  maxAgeMs: number,
): MemoEntry | undefined {
  const map = findStored<ConfigMap>(turn, "ConfigMap", workflowNamespace(turn.state), cacheName);
  if (map === undefined) return undefined;
  const label = configMapTypeLabel(turn.env);
  if (map.metadata.labels?.[label] !== "Cache") {
    throw new NodeFailure(
      `memoization configmap doesn't have ${label} label, refusing to use it`,
    );
  }
  const entry = readEntry(map.data?.[key]);
  if (entry === undefined || isTooOld(turn, entry, maxAgeMs)) return undefined;
  // A result from before keys had owners is made anew.
  return foreignArtifact(turn, entry.outputs?.artifacts) === undefined ? entry : undefined;
}

/** Undefined for a text that is no entry: its result is made anew, and replaces it. */
function readEntry(text: string | undefined): MemoEntry | undefined {
  const entry = text === undefined ? undefined : parseOrUndefined(text);
  return isJsonObject(entry) && isOutputs(entry["outputs"]) ? entry : undefined;
}

/** Users may write entries themselves, so they are looked at before they become those of a node. */
function isOutputs(value: unknown): value is Outputs | null | undefined {
  if (value === undefined || value === null) return true;
  if (!isJsonObject(value)) return false;
  const { parameters = [], artifacts = [], result = "", exitCode = "" } = value;
  return [parameters, artifacts].every(isNamedList) &&
    [result, exitCode].every((text) => typeof text === "string");
}

function isNamedList(value: unknown): boolean {
  return Array.isArray(value) &&
    value.every((one) => isJsonObject(one) && typeof one["name"] === "string");
}

function maxAgeOf(maxAge: string | undefined): number {
  if (maxAge === undefined || maxAge === "") return Infinity;
  return nodeDurationMs(maxAge, (reason) => `invalid maxAge: ${reason}`);
}

function isTooOld(turn: Turn, entry: MemoEntry, maxAgeMs: number): boolean {
  if (maxAgeMs === Infinity) return false;
  // An entry of no time is older than any age.
  const created = Date.parse(entry.creationTimestamp ?? "");
  return Number.isNaN(created) || turn.env.now >= created + maxAgeMs;
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
