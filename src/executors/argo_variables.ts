/** Pure: the variables that every container finds: those of the contract (`ARGO_…`), and the context of its trace. */
import type { TaskSpec } from "../engine/effect.ts";

/** What `ARGO_DEADLINE` says of a task without one: Go's zero time. */
const NO_DEADLINE = "0001-01-01T00:00:00Z";

/** The variables of a container, without `ARGO_TEMPLATE`, whose text depends on how the container gets it. */
export function argoVariables(task: TaskSpec, container: string): Record<string, string> {
  return {
    ARGO_CONTAINER_NAME: container,
    ARGO_NODE_ID: task.nodeId,
    ARGO_WORKFLOW_NAME: task.workflow,
    ARGO_WORKFLOW_UID: task.workflowUid,
    ARGO_POD_NAME: task.podName,
    ARGO_INCLUDE_SCRIPT_OUTPUT: String(task.includeResult),
    ARGO_DEADLINE: task.deadline === undefined
      ? NO_DEADLINE
      : new Date(task.deadline).toISOString(),
    ...(task.traceparent !== undefined && { TRACEPARENT: task.traceparent }),
    ...(task.tracestate !== undefined && { TRACESTATE: task.tracestate }),
  };
}
