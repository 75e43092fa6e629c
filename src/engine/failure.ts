/** What the engine throws when it cannot carry out a step, or not yet. It is caught inside the engine. */
import type { ManifestRef } from "./engine.ts";
import { ExpressionError, TemplateError, WhenError } from "./scope/expressions.ts";

/** A step cannot be carried out. Its node ends with this text, and so does what waits for the node. */
export class NodeFailure extends Error {
  override readonly name = "NodeFailure";
}

/**
 * Thrown when a stored manifest is not loaded yet. The work is left as it was, to be done again. Not an `Error`: many
 * nodes may need one manifest, and a stack trace for each would be most of the work.
 */
export class ManifestNeeded {
  readonly ref: ManifestRef;
  constructor(ref: ManifestRef) {
    this.ref = ref;
  }

  toString(): string {
    const { kind, namespace, name } = this.ref;
    return `${kind} ${namespace}/${name} is not loaded`;
  }
}

/** Tells whether an error is the fault of a manifest, and not a defect of the engine. */
export function isFailure(
  error: unknown,
): error is NodeFailure | TemplateError | ExpressionError | WhenError {
  return error instanceof NodeFailure || error instanceof TemplateError ||
    error instanceof ExpressionError || error instanceof WhenError;
}
