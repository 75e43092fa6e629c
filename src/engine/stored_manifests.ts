/** Manifests that a workflow refers to. */
import type { ManifestKind } from "../spec/manifest.ts";
import { ManifestNeeded } from "./failure.ts";
import type { Turn } from "./turn.ts";

/**
 * A stored manifest; undefined when it does not exist.
 * @throws {ManifestNeeded} when it is not loaded
 */
export function findStored<T>(
  turn: Turn,
  kind: ManifestKind,
  namespace: string,
  name: string,
): T | undefined {
  const found = turn.env.findManifest(kind, namespace, name);
  if (found === undefined) throw new ManifestNeeded({ kind, namespace, name });
  return found === null ? undefined : found as T;
}

/** Asks the caller to load a manifest. */
export function needManifest(turn: Turn, { ref }: ManifestNeeded): void {
  const needs = turn.state.pending.needs ??= new Map();
  needs.set(`${ref.kind}/${ref.namespace}/${ref.name}`, ref);
}
