/** The check of a manifest at its first look, the same that a server makes before it takes one in. */
import type { Workflow } from "../spec/manifest.ts";
import { validateWorkflow } from "../spec/validate.ts";
import { findStored } from "./failure.ts";
import { type Turn } from "./state.ts";

/** What is wrong with the manifest; undefined when nothing is. @throws {ManifestNeeded} */
export function findInvalidSpec(turn: Turn): string | undefined {
  const { header, specs } = turn.state;
  const workflow: Workflow = { metadata: header.metadata, spec: specs.spec };
  try {
    validateWorkflow(workflow, {
      findTemplate: (kind, namespace, name) => findStored(turn, kind, namespace, name),
    });
    return undefined;
  } catch (error) {
    if (error instanceof Error && (error.name === "SpecError" || error.name === "Problem")) {
      return error.message;
    }
    throw error;
  }
}
