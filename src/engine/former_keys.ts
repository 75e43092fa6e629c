/**
 * Keys of artifacts from before keys began with the namespace: `WORKFLOW/POD/FILE`. The workflow whose pods left them may
 * still read and remove them. A key of today has four parts at least, so none is taken for one of these.
 */
import { foreignKey } from "../spec/artifact_key.ts";
import type { Artifact, Outputs, TemplateRef } from "../spec/manifest.ts";
import { podName } from "./names.ts";

/** What is asked of a node, in the engine and in a workflow's status. */
interface KeyedNode {
  name: string;
  type: string;
  templateName?: string;
  templateRef?: TemplateRef;
  outputs?: Outputs;
}

/** A workflow whose nodes may have left such keys. */
interface KeyedWorkflow {
  namespace: string;
  name: string;
  nodes: Iterable<KeyedNode>;
}

/** The former keys of a workflow, if some of the artifacts may need them; else none, which costs nothing. */
export function formerKeys(
  { namespace, name, nodes }: KeyedWorkflow,
  artifacts: readonly Artifact[],
): string[] {
  if (artifacts.every((one) => foreignKey(one, namespace) === undefined)) return [];
  const keys: string[] = [];
  for (const node of nodes) {
    if (node.type !== "Pod") continue;
    const pod = podName(name, node.name, node.templateRef?.template ?? node.templateName);
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
