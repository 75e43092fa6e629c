/** Rules for templates that work on a Kubernetes resource. */
import { parseAllDocuments } from "yaml";
import type { Template } from "../manifest.ts";
import { isPlaceholder } from "../placeholder.ts";
import { SpecError } from "../spec_error.ts";

const ACTIONS = ["get", "create", "apply", "delete", "replace", "patch"];
const EXPRESSION_TAG = /\{\{\s*=\s*.+?\s*\}\}/g;

/**
 * @param place the template's place in messages
 * @throws {SpecError}
 */
export function checkResourceTemplate(place: string, template: Template): void {
  const resource = template.resource;
  if (resource === undefined) return;
  const action = resource.action ?? "";
  const isKnownLater = isPlaceholder(action) || action.startsWith("{{=");
  if (!ACTIONS.includes(action) && !isKnownLater) {
    throw new SpecError(`${place}.resource.action must be one of: ${ACTIONS.join(", ")}`);
  }
  if (action === "delete" || action === "get") return;
  const manifest = resource.manifest ?? "";
  const from = resource.manifestFrom;
  if (manifest === "" && from === undefined) {
    throw new SpecError(
      `either ${place}.resource.manifest or ${place}.resource.manifestFrom must be specified`,
    );
  }
  if (manifest !== "" && from !== undefined) {
    throw new SpecError(
      "shouldn't have both `manifest` and `manifestFrom` specified in `Manifest` for resource template",
    );
  }
  const wanted = from?.artifact?.name;
  if (
    wanted !== undefined && !(template.inputs?.artifacts ?? []).some(({ name }) => name === wanted)
  ) {
    throw new SpecError(`artifact ${wanted} in \`manifestFrom\` refer to a non-exist artifact`);
  }
  if (manifest !== "" && !isPlaceholder(manifest) && !isYaml(manifest)) {
    throw new SpecError(`${place}.resource.manifest must be a valid yaml`);
  }
}

/** Expressions are replaced first: unquoted ones need not be YAML. */
function isYaml(manifest: string): boolean {
  const documents = parseAllDocuments(manifest.replace(EXPRESSION_TAG, "placeholder"), {
    version: "1.1",
    logLevel: "silent",
  });
  return !("errors" in documents) && documents.every(({ errors }) => errors.length === 0);
}
