/**
 * Artifact keys of an older form, `WORKFLOW/POD/FILE`, which does not begin with the namespace. The workflow whose pods left
 * such an artifact may still read and remove it. Keys of the present form have at least four parts, so they never look alike.
 */
import { foreignKey } from "../../spec/artifact_key.ts";
import type { Artifact, Outputs, TemplateRef } from "../../spec/manifest.ts";
import { podNameOf } from "../scope/names.ts";

/** What must be known of a node, in the engine or in a workflow's status. */
interface KeyedNode {
  id: string;
  name: string;
  type: string;
  templateName?: string | undefined;
  templateRef?: TemplateRef | undefined;
  outputs?: Outputs | undefined;
}

/** A workflow whose nodes may have left such keys. */
interface KeyedWorkflow {
  namespace: string;
  name: string;
  nodes: Iterable<KeyedNode>;
}

/** The former keys of a workflow, if one of the artifacts may have such a key; otherwise none, at no cost. */
export function formerKeys(
  { namespace, name, nodes }: KeyedWorkflow,
  artifacts: readonly Artifact[],
): string[] {
  if (artifacts.every((one) => foreignKey(one, namespace) === undefined)) return [];
  const keys: string[] = [];
  for (const node of nodes) {
    if (node.type !== "Pod") continue;
    const pod = podNameOf(name, node);
    for (const artifact of node.outputs?.artifacts ?? []) {
      const key = foreignKey(artifact, namespace);
      const parts = key?.split("/") ?? [];
      if (key !== undefined && parts.length === 3 && parts[0] === name && parts[1] === pod) {
        keys.push(key);
      }
    }
  }
  return keys;
}
