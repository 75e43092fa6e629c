/** Finds pods that no workflow waits for. */
import type { FindUnwanted } from "../../executors/kubernetes/orphan_pods.ts";
import type { NodeStatus } from "../../spec/manifest.ts";
import { Turns } from "../../platform/turns.ts";
import { isUnreadable, workflowSteps } from "./stored_workflow.ts";
import type { WorkflowSource } from "./source.ts";

const ENDED = new Set(["Succeeded", "Failed", "Error", "Skipped", "Omitted"]);

/**
 * Unwanted are all pods of a workflow that is gone or whose name another one has now, and pods that run although their node has
 * ended or is gone. An ended pod of a known workflow stays for its log: `podGC` says when it is deleted.
 */
export function createUnwantedPods(workflows: WorkflowSource): FindUnwanted {
  return async ({ namespace, name, uid }, pods) => {
    const stored = await workflows.find(namespace, name);
    const workflow = stored && await new Turns(namespace).run(workflowSteps(stored));
    // Which pods it waits for is not known.
    if (workflow !== undefined && isUnreadable(workflow)) return [];
    if (workflow?.metadata.uid !== uid) return pods;
    const nodes: Record<string, NodeStatus> = workflow.status?.nodes ?? {};
    return pods.filter(({ nodeId, isDone }) => {
      if (isDone) return false;
      const node = nodes[nodeId];
      // A daemon's node counts as done while its pod runs on.
      return node === undefined || (ENDED.has(node.phase ?? "") && node.daemoned !== true);
    });
  };
}
