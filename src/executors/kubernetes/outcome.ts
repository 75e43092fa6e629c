/** Pure: what a pod's status says of its task. */
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import { LATE } from "../deadline.ts";
import { progressAnnotation } from "./pod_marks.ts";
import { isEndBySignal } from "../container_plan.ts";
import { HELPER_NAME, MESSAGE_PREFIX } from "./wrapper.ts";
import { addResources, resourcesDuration } from "../resources_duration.ts";

/** The members of a pod that are read here. */
export interface Pod {
  metadata: {
    name: string;
    namespace: string;
    uid: string;
    resourceVersion: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
  };
  spec: { nodeName?: string; containers: { name: string }[] };
  status?: {
    phase?: string;
    message?: string;
    reason?: string;
    podIP?: string;
    conditions?: { type: string; status: string; reason?: string; message?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

interface ContainerStatus {
  name: string;
  ready?: boolean;
  state?: ContainerState;
  lastState?: ContainerState;
}

interface ContainerState {
  waiting?: { reason?: string; message?: string };
  running?: { startedAt?: string };
  terminated?: {
    exitCode: number;
    reason?: string;
    message?: string;
    startedAt?: string;
    finishedAt?: string;
  };
}

/** Why a pod is not running yet, as users see it; undefined when there is nothing to say. */
export function pendingMessage({ status = {} }: Pod, task: TaskSpec): string | undefined {
  for (const { state } of statuses(status)) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || reason === "PodInitializing" || reason === "ContainerCreating") {
      continue;
    }
    return message === undefined ? reason : `${reason}: ${message}`;
  }
  // The main containers begin when all sidecars run. One that ends each time it is started is told of, not shown as waiting.
  for (const { name, state } of status.initContainerStatuses ?? []) {
    if (state?.terminated !== undefined && isSidecar(task, name)) {
      return describe(name, state.terminated);
    }
  }
  const unscheduled = status.conditions?.find((condition) =>
    condition.type === "PodScheduled" && condition.status === "False"
  );
  return unscheduled && `${unscheduled.reason ?? "Unschedulable"}: ${unscheduled.message ?? ""}`;
}

/** True once a main container runs or has run. */
export function hasStarted({ status = {} }: Pod): boolean {
  return (status.containerStatuses ?? []).some(({ state }) =>
    state?.running !== undefined || state?.terminated !== undefined
  );
}

/** True unless the last state of a pod shows that no main container has run; of one that vanished unseen it is not known. */
export function hasMaybeStarted(pod: Pod): boolean {
  return pod.status === undefined || hasStarted(pod);
}

/** Progress `N/M` that a pod's annotation tells. */
export function podProgress({ metadata }: Pod, labelPrefix: string): string | undefined {
  const text = metadata.annotations?.[progressAnnotation(labelPrefix)];
  return text !== undefined && /^\d+\/\d+$/.test(text) ? text : undefined;
}

export function isReady({ status = {} }: Pod): boolean {
  return status.conditions?.some((condition) =>
    condition.type === "Ready" && condition.status === "True"
  ) === true;
}

/** True when nothing but the outputs is left to wait for. */
export function hasEnded({ status = {}, spec }: Pod): boolean {
  if (status.phase === "Succeeded" || status.phase === "Failed") return true;
  const ended = (status.containerStatuses ?? []).filter(({ state }) => state?.terminated);
  return spec.containers.length > 0 && ended.length === spec.containers.length;
}

/** Phase, message and used resources; outputs come from elsewhere. */
export function podOutcome(pod: Pod, task: TaskSpec): TaskOutcome {
  const { status = {}, spec } = pod;
  const failure = failureOf(pod, task);
  const outcome: TaskOutcome = { phase: "Succeeded", ...failure };
  if (spec.nodeName !== undefined) outcome.hostNodeName = spec.nodeName;
  outcome.resourcesDuration = usedResources(pod, task);
  if (task.template.containerSet !== undefined) {
    outcome.containers = {};
    for (const { name, state } of status.containerStatuses ?? []) {
      const { terminated } = state ?? {};
      if (terminated === undefined) continue;
      outcome.containers[name] = terminated.exitCode === 0
        ? { phase: "Succeeded", exitCode: "0" }
        : {
          phase: "Failed",
          message: `${name}: ${terminated.reason ?? "Error"} (exit code ${terminated.exitCode}): ${
            ownMessage(terminated.message)
          }`,
          exitCode: String(terminated.exitCode),
        };
    }
  }
  return outcome;
}

/** Exit code of the container whose outputs count. */
export function mainExit({ status = {} }: Pod): { code: number; message: string } | undefined {
  const main = status.containerStatuses?.find(({ name }) => name === "main");
  const terminated = main?.state?.terminated;
  return terminated && { code: terminated.exitCode, message: terminated.message ?? "" };
}

function failureOf(
  { metadata, status = {} }: Pod,
  task: TaskSpec,
): Pick<TaskOutcome, "phase" | "message" | "isLate"> | undefined {
  if (status.reason === "DeadlineExceeded") return LATE;
  if (status.phase === "Failed" && (status.message ?? "") !== "") {
    return { phase: "Failed", message: status.message ?? "" };
  }
  for (const { name, state } of status.initContainerStatuses ?? []) {
    const { terminated } = state ?? {};
    if (terminated === undefined || terminated.exitCode === 0 || isSidecar(task, name)) continue;
    const isOurs = name === HELPER_NAME || isEndBySignal(terminated.exitCode);
    return { phase: isOurs ? "Error" : "Failed", message: describe(name, terminated) };
  }
  const containers = [...(status.containerStatuses ?? [])].sort((a, b) =>
    Number(b.name === "main") - Number(a.name === "main")
  );
  for (const { name, state } of containers) {
    const { terminated, waiting, running } = state ?? {};
    if (terminated !== undefined && terminated.exitCode !== 0) {
      const isOurs = terminated.exitCode === 65 &&
        terminated.message?.startsWith("cannot send the outputs") === true;
      return { phase: isOurs ? "Error" : "Failed", message: describe(name, terminated) };
    }
    if (running !== undefined && status.phase === "Failed") {
      // Its node is gone, and told no more of it.
      const reason = status.reason ?? `${name} container did not complete successfully`;
      return { phase: "Failed", message: `pod failed: ${reason}` };
    }
    if (terminated === undefined && status.phase === "Failed") {
      return {
        phase: "Error",
        message: `Pod failed before ${name} container starts due to ${
          waiting?.reason ?? "Unknown"
        }: ${waiting?.message ?? status.reason ?? ""}`,
      };
    }
  }
  if (status.phase === "Failed") {
    const { name, namespace } = metadata;
    const message = `can't find failed message for pod ${name} namespace ${namespace}`;
    return { phase: "Failed", message: status.reason ?? message };
  }
  return sidecarFailure(status, task);
}

/** What a sidecar failed with while the main containers ran. After them the cluster ends it, whatever it exits with. */
function sidecarFailure(
  status: NonNullable<Pod["status"]>,
  task: TaskSpec,
): Pick<TaskOutcome, "phase" | "message" | "isLate"> | undefined {
  const ends = (status.containerStatuses ?? []).map(({ state }) =>
    Date.parse(state?.terminated?.finishedAt ?? "")
  );
  const isFailure = (exitCode: number) => exitCode !== 0 && !isEndBySignal(exitCode);
  for (const { name, state, lastState } of status.initContainerStatuses ?? []) {
    if (!isSidecar(task, name)) continue;
    // None is started again after the main containers.
    const before = lastState?.terminated;
    if (before !== undefined && isFailure(before.exitCode)) {
      return { phase: "Failed", message: describe(name, before) };
    }
    const last = state?.terminated;
    if (
      last !== undefined && isFailure(last.exitCode) &&
      Date.parse(last.finishedAt ?? "") < Math.max(...ends)
    ) {
      return { phase: "Failed", message: describe(name, last) };
    }
  }
  return undefined;
}

function describe(
  name: string,
  { exitCode, reason = "Error", message }: NonNullable<ContainerState["terminated"]>,
): string {
  const own = ownMessage(message);
  return `${name}: ${reason} (exit code ${exitCode})${own === "" ? "" : `: ${own}`}`;
}

/** The program's own words: what the wrapper sends home isn't any. */
function ownMessage(message: string | undefined): string {
  return message === undefined || message.startsWith(MESSAGE_PREFIX) ? "" : message.trim();
}

function isSidecar(task: TaskSpec, name: string): boolean {
  return task.template.sidecars?.some((sidecar) => sidecar.name === name) === true;
}

function usedResources({ status = {}, spec }: Pod, { template }: TaskSpec): Record<string, number> {
  let sum: Record<string, number> = {};
  const declared = template.containerSet?.containers ?? [];
  for (const { name, state } of status.containerStatuses ?? []) {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    const seconds = (Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "")) / 1000;
    if (!Number.isFinite(seconds) || !spec.containers.some((one) => one.name === name)) continue;
    const container = declared.find((one) => one.name === name) ?? template.container ??
      template.script ?? {};
    sum = addResources(sum, resourcesDuration(container, seconds));
  }
  return sum;
}

function statuses(status: NonNullable<Pod["status"]>): ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}
