/** Pure: what a pod's status says of its task. */
import type { TaskOutcome } from "../../engine/command.ts";
import type { TaskSpec } from "../../engine/effect.ts";
import type { Container, Template } from "../../spec/manifest.ts";
import { isEndBySignal, isEndFromOutside } from "../container_plan.ts";
import { LATE } from "../deadline.ts";
import { ENDED_ANNOTATION, progressAnnotation } from "./pod_marks.ts";
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
  spec: {
    nodeName?: string;
    containers: { name: string }[];
    initContainers?: { name: string; restartPolicy?: string }[];
  };
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
export function pendingMessage({ status = {} }: Pod): string | undefined {
  for (const { state } of statuses(status)) {
    const { reason, message } = state?.waiting ?? {};
    if (reason === undefined || reason === "PodInitializing" || reason === "ContainerCreating") {
      continue;
    }
    return message === undefined ? reason : `${reason}: ${message}`;
  }
  const unscheduled = status.conditions?.find((condition) =>
    condition.type === "PodScheduled" && condition.status === "False"
  );
  return unscheduled && `${unscheduled.reason ?? "Unschedulable"}: ${unscheduled.message ?? ""}`;
}

/** Names of the containers that the step is about: not sidecars, nor what the cluster puts into its pods. */
export function mainNames({ template }: TaskSpec): string[] {
  return template.containerSet?.containers.map(({ name = "main" }) => name) ?? ["main"];
}

/** True once a main container runs or has run. */
export function hasStarted(pod: Pod, task: TaskSpec): boolean {
  return mainStatuses(pod, task).some(({ state }) =>
    state?.running !== undefined || state?.terminated !== undefined
  );
}

function mainStatuses({ status = {} }: Pod, task: TaskSpec): ContainerStatus[] {
  const names = mainNames(task);
  return (status.containerStatuses ?? []).filter(({ name }) => names.includes(name));
}

/** True unless the last state of a pod shows that no main container has run; of one that vanished unseen it is not known. */
export function hasMaybeStarted(pod: Pod, task: TaskSpec): boolean {
  return pod.status === undefined || hasStarted(pod, task);
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

/** True when nothing but the outputs is left to wait for. After main containers that succeeded, a sidecar may still fail. */
export function hasEnded(pod: Pod, task: TaskSpec): boolean {
  if (isOver(pod)) return true;
  // How its containers end says nothing of the reason, which comes with the pod's last state.
  if (isEndedByNode(pod)) return false;
  if (!haveMainsEnded(pod, task)) return false;
  return hasFailedMain(pod, task) ||
    pod.status?.containerStatuses?.every(({ state }) => state?.terminated !== undefined) === true;
}

/** True once all main containers have ended. */
export function haveMainsEnded(pod: Pod, task: TaskSpec): boolean {
  const ended = mainStatuses(pod, task).filter(({ state }) => state?.terminated !== undefined);
  return ended.length > 0 && ended.length === mainNames(task).length;
}

/** True when containers run of which nothing more is wanted: a main container has failed, or all have ended. */
export function mustBeEnded(pod: Pod, task: TaskSpec): boolean {
  const { annotations, deletionTimestamp } = pod.metadata;
  if (isOver(pod) || deletionTimestamp !== undefined || isEndedByNode(pod)) return false;
  if (annotations?.[ENDED_ANNOTATION] !== undefined) return false;
  return (hasFailedMain(pod, task) || haveMainsEnded(pod, task)) &&
    pod.status?.containerStatuses?.some(({ state }) => state?.terminated === undefined) === true;
}

function hasFailedMain(pod: Pod, task: TaskSpec): boolean {
  return mainStatuses(pod, task).some(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
}

function isOver({ status = {} }: Pod): boolean {
  return status.phase === "Succeeded" || status.phase === "Failed";
}

/** True once its node has begun to end it, because it lacks memory or disk, or shuts down. */
function isEndedByNode({ status = {} }: Pod): boolean {
  return disruption(status)?.reason === "TerminationByKubelet";
}

/** What Kubernetes says of its own reason to end a pod. */
function disruption({ conditions = [] }: NonNullable<Pod["status"]>) {
  return conditions.find(({ type, status }) => type === "DisruptionTarget" && status === "True");
}

/** Who ended a pod from outside, as users see it; "" when nobody did. */
function outsideCause({ metadata, status = {} }: Pod): string {
  const { reason = "", message = "" } = disruption(status) ?? {};
  if (reason !== "") return message === "" ? reason : `${reason}: ${message}`;
  return metadata.deletionTimestamp === undefined ? "" : "pod deleted";
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
  pod: Pod,
  task: TaskSpec,
): Pick<TaskOutcome, "phase" | "message" | "isLate"> | undefined {
  const { metadata, spec, status = {} } = pod;
  const isFailed = status.phase === "Failed";
  if (status.reason === "DeadlineExceeded") {
    if (metadata.annotations?.[ENDED_ANNOTATION] === undefined) return LATE;
  } else if (isFailed && (status.message ?? "") !== "") {
    return { phase: "Failed", message: status.message ?? "" };
  }
  for (const { name, state } of status.initContainerStatuses ?? []) {
    const { terminated } = state ?? {};
    if (terminated === undefined || terminated.exitCode === 0) continue;
    // The cluster starts it again, and ends it after the others.
    if (spec.initContainers?.find((one) => one.name === name)?.restartPolicy === "Always") continue;
    const isOurs = name === HELPER_NAME || isEndBySignal(terminated.exitCode);
    return {
      phase: isOurs ? "Error" : "Failed",
      message: describe(name, terminated, outsideCause(pod)),
    };
  }
  const mains = mainNames(task);
  // A container of a set that was ended says less than the one because of which it was.
  const rank = ({ name, state }: ContainerStatus) => {
    if (!mains.includes(name)) return 4;
    const { exitCode = 0, reason } = state?.terminated ?? {};
    return (name === "main" ? 0 : 1) + (isEndFromOutside(exitCode, reason) ? 2 : 0);
  };
  const containers = [...(status.containerStatuses ?? [])].sort((a, b) => rank(a) - rank(b));
  for (const container of containers) {
    const failure = containerFailure(container, mains.includes(container.name), pod);
    if (failure !== undefined) return failure;
  }
  if (isFailed && containers.length === 0) {
    const { name, namespace } = metadata;
    const message = `can't find failed message for pod ${name} namespace ${namespace}`;
    return { phase: "Failed", message: status.reason ?? message };
  }
  return undefined;
}

function containerFailure(
  { name, state }: ContainerStatus,
  isMain: boolean,
  pod: Pod,
): Pick<TaskOutcome, "phase" | "message"> | undefined {
  const { status = {} } = pod;
  const { terminated, waiting, running } = state ?? {};
  if (terminated !== undefined) {
    const { exitCode, message } = terminated;
    // Sidecars are ended with the main containers.
    if (exitCode === 0 || (!isMain && isEndBySignal(exitCode))) return undefined;
    const isOurs = exitCode === 65 && message?.startsWith("cannot send the outputs") === true;
    return {
      phase: isOurs ? "Error" : "Failed",
      message: describe(name, terminated, outsideCause(pod)),
    };
  }
  if (status.phase !== "Failed") return undefined;
  if (running !== undefined) {
    if (!isMain) return undefined;
    // Its node is gone, and told no more of it.
    const reason = status.reason || outsideCause(pod) ||
      `${name} container did not complete successfully`;
    return { phase: "Failed", message: `pod failed: ${reason}` };
  }
  return {
    phase: "Error",
    message: `Pod failed before ${name} container starts due to ${waiting?.reason ?? "Unknown"}: ${
      waiting?.message ?? status.reason ?? ""
    }`,
  };
}

function describe(
  name: string,
  { exitCode, reason = "Error", message }: NonNullable<ContainerState["terminated"]>,
  outsideCause: string,
): string {
  const isEndedFromOutside = isEndFromOutside(exitCode, reason);
  const own = ownMessage(message) || (isEndedFromOutside ? outsideCause : "");
  return `${name}: ${reason} (exit code ${exitCode})${own === "" ? "" : `: ${own}`}`;
}

/** The program's own words: what the wrapper sends home isn't any. */
function ownMessage(message: string | undefined): string {
  return message === undefined || message.startsWith(MESSAGE_PREFIX) ? "" : message.trim();
}

function usedResources({ status = {}, spec }: Pod, { template }: TaskSpec): Record<string, number> {
  let sum: Record<string, number> = {};
  for (const { name, state } of status.containerStatuses ?? []) {
    const { startedAt, finishedAt } = state?.terminated ?? {};
    const seconds = (Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "")) / 1000;
    if (!Number.isFinite(seconds) || !spec.containers.some((one) => one.name === name)) continue;
    sum = addResources(sum, resourcesDuration(declaredContainer(template, name), seconds));
  }
  return sum;
}

function declaredContainer(template: Template, name: string): Container {
  const named = [...template.containerSet?.containers ?? [], ...template.sidecars ?? []];
  return named.find((one) => one.name === name) ?? template.container ?? template.script ?? {};
}

function statuses(status: NonNullable<Pod["status"]>): ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}
