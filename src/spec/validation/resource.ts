/** Rules for templates that work on a Kubernetes resource. */
import { type Document, isCollection, visit } from "yaml";
import type { Template } from "../manifest.ts";
import { isPlaceholder } from "../placeholder.ts";
import { SpecError } from "../spec_error.ts";
import { parseYaml } from "../yaml/documents.ts";

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
  if (!ACTIONS.includes(action) && !isPlaceholder(action)) {
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

/**
 * Tells whether the first document is YAML, as the reference reads it: a member may stand twice. Expressions are
 * replaced first, since unquoted ones need not be YAML.
 */
function isYaml(manifest: string): boolean {
  const [first] = parseYaml(manifest.replace(EXPRESSION_TAG, "placeholder"), {
    version: "1.1",
    logLevel: "silent",
    uniqueKeys: false,
  });
  return first === undefined || (first.errors.length === 0 && hasPlainKeys(first));
}

/** Tells whether no list or map is a key, as in an unquoted `{{tag}}`, and each alias comes after its anchor. */
function hasPlainKeys(document: Document): boolean {
  const anchors = new Set<string>();
  let isPlain = true;
  const refuse = () => {
    isPlain = false;
    return visit.BREAK;
  };
  visit(document, {
    Value: (_, { anchor }) => void (anchor !== undefined && anchors.add(anchor)),
    Pair: (_, { key }) => isCollection(key) ? refuse() : undefined,
    Alias: (_, { source }) => anchors.has(source) ? undefined : refuse(),
  });
  return isPlain;
}
