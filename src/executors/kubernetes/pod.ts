/**
 * Pure: a task as a Pod manifest. The engine gives the pod its name, so creating it twice is creating it once. A container
 * whose outputs are wanted is wrapped (see `wrapper.ts`). A pod that wants none has neither wrapper nor init container,
 * since those cost a second at the start.
 */
import type { JsonObject } from "../../base/json.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { PlannedContainer } from "../container_plan.ts";
import { needsWrapper } from "./needs_wrapper.ts";
import { INSTANCE_LABEL, TASK_ANNOTATION, WORKFLOW_UID_LABEL } from "./pod_marks.ts";
import { type PodOptions, PodParts } from "./pod_parts.ts";
import { mergeObjects } from "./pod_patch.ts";
import { planPod } from "./pod_plan.ts";
import {
  avoidHosts,
  copiedMembers,
  declaredVolumes,
  objectsOf,
  podDeadline,
  withoutUnmounted,
} from "./pod_settings.ts";
import { HELPER_NAME } from "./wrapper.ts";

/** Makes the pod. @throws {Error} when the template can't be a pod, with the reason */
export function podFor(task: TaskSpec, options: PodOptions): JsonObject {
  const { containers: plan, added, helper, spec } = planPod(task, baseSpec(task, options));
  const mains = plan.filter(({ role }) => role === "main");
  const isWrapped = needsWrapper(task, options.labelPrefix) || canTellSidecars(plan);
  const parts = new PodParts(task, options, isWrapped);
  spec["containers"] = [
    ...mains.map((container) => parts.main(container, mains)),
    ...added.main,
    ...plan.filter(({ role }) => role === "sidecar").map((container) =>
      parts.sidecar(container, mains)
    ),
  ];
  const init = [
    ...plan.filter(({ role }) => role === "init").map((container) => parts.plain(container)),
    ...added.init,
  ];
  // Made last: it brings what the others turned out to need.
  if (parts.needsHelper) {
    init.unshift(mergeObjects(parts.helper(mains), { ...helper, name: HELPER_NAME }));
  }
  if (init.length > 0) spec["initContainers"] = init;
  const volumes = [...objectsOf(spec["volumes"]), ...parts.volumes()];
  if (volumes.length > 0) spec["volumes"] = volumes;
  const pod: JsonObject = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: task.podName,
      namespace: task.namespace,
      labels: labels(task, options),
      annotations: { ...annotations(task, options), ...parts.annotations },
    },
    spec,
  };
  return withoutUnmounted(pod, task);
}

/** True when main containers can be wrapped to tell sidecars of their end, at no cost: these need the helper anyway. */
function canTellSidecars(plan: readonly PlannedContainer[]): boolean {
  const hasCommand = ({ spec }: PlannedContainer) => (spec.command ?? []).length > 0;
  return plan.some((container) => container.role === "sidecar" && hasCommand(container)) &&
    plan.every((container) => container.role !== "main" || hasCommand(container));
}

/** Everything of the spec but containers, and volumes of our own. */
function baseSpec(task: TaskSpec, options: PodOptions): JsonObject {
  const spec: JsonObject = {
    restartPolicy: "Never",
    ...copiedMembers(task),
    ...podDeadline(task, options.now),
  };
  if (options.serviceAccount !== undefined && spec["serviceAccountName"] === undefined) {
    spec["serviceAccountName"] = options.serviceAccount;
  }
  avoidHosts(spec, task.avoidHosts ?? []);
  const volumes = declaredVolumes(task);
  if (volumes.length > 0) spec["volumes"] = volumes;
  return spec;
}

function labels(task: TaskSpec, { instance, labelPrefix }: PodOptions): JsonObject {
  const { podSpec, template } = task;
  return {
    ...podSpec.podMetadata?.labels,
    ...template.metadata?.labels,
    [`${labelPrefix}workflow`]: task.workflow,
    [`${labelPrefix}completed`]: "false",
    [INSTANCE_LABEL]: instance,
    [WORKFLOW_UID_LABEL]: task.workflowUid,
  };
}

function annotations(task: TaskSpec, { labelPrefix }: PodOptions): Record<string, string> {
  const { podSpec, template } = task;
  return {
    ...podSpec.podMetadata?.annotations,
    ...template.metadata?.annotations,
    "kubectl.kubernetes.io/default-container": "main",
    [`${labelPrefix}node-id`]: task.nodeId,
    [`${labelPrefix}node-name`]: task.nodeName,
    [TASK_ANNOTATION]: task.id,
  };
}
