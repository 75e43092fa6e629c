/** How the engine's own decisions are cut short. Both are caught inside the engine. */
import type { ManifestKind } from "../spec/manifest.ts";
import type { ManifestRef } from "./engine.ts";
import type { Turn } from "./state.ts";

/** A step can't be carried out; its node, and what waits for it, end with this text. */
export class NodeFailure extends Error {
  override readonly name = "NodeFailure";
}

/** A stored manifest is not loaded yet; the work is left as it was, to be done again. */
export class ManifestNeeded extends Error {
  override readonly name = "ManifestNeeded";
  readonly ref: ManifestRef;
  constructor(ref: ManifestRef) {
    super(`${ref.kind} ${ref.namespace}/${ref.name} is not loaded`);
    this.ref = ref;
  }
}

/**
 * A stored manifest; undefined when it does not exist.
 * @throws {ManifestNeeded}
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

const FAILURES = new Set(["NodeFailure", "TemplateError", "ExpressionError", "WhenError"]);

/** Errors that are the node's, not ours. */
export function isFailure(error: unknown): error is Error {
  return error instanceof Error && FAILURES.has(error.name);
}
