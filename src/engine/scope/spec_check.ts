/** Validates a manifest when its workflow begins, in the same way as the server does when it is submitted. */
import { Problem } from "../../base/problem.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { validateWorkflow } from "../../spec/validation/validate.ts";
import { findStored } from "../stored_manifests.ts";
import type { Turn } from "../turn.ts";

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
    if (!(error instanceof Problem)) throw error;
    return error.message;
  }
}
