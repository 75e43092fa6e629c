/**
 * Nodes whose work is a task of an executor: how the task starts, and what it reports. A report changes nothing when it is
 * not about the present task of a node, or when the node has ended.
 */
import { flatText } from "../../base/flat_text.ts";
import { foreignKeyText } from "../../spec/artifact_key.ts";
import type { Outputs, Parameter, Template } from "../../spec/manifest.ts";
import { callOf, type Work, workOf } from "../scope/call.ts";
import { withPresentArtifacts } from "../scope/inputs.ts";
import { podTemplateName } from "../scope/call_variables.ts";
import { getOwner, nodeByName, taskId } from "../tree.ts";
import {
  addNode,
  cancelTask,
  change,
  emit,
  end,
  type NodePatch,
  releaseLocksOfDaemon,
  setTimer,
} from "../change.ts";
import type { Fact, TaskOutcome } from "../command.ts";
import type { Effect, TaskSpec } from "../effect.ts";
import { nodeDurationMs, timeoutMs } from "./duration.ts";
import { durationMs } from "../../spec/duration.ts";
import { NodeFailure } from "../failure.ts";
import { wakeIdle } from "./gate.ts";
import { podSpecFor } from "./pod_texts.ts";
import { publishGlobals } from "./global_outputs.ts";
import { saveMemo } from "./memo.ts";
import { formerKeys } from "../cleanup/former_keys.ts";
import { foreignArtifact } from "./foreign_artifacts.ts";
import { boundaryOf, membersOf } from "../live.ts";
import { startsBefore } from "../past.ts";
import { memberName, nodeId, podName } from "../scope/names.ts";
import { executedSpec, workflowName, workflowNamespace } from "../state.ts";
import { blankNode, hasEnded, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { noteTask } from "../turn_budget.ts";
import { isChosenByPodGc } from "../cleanup/pod_gc.ts";
import { attemptsOf } from "../scope/attempts.ts";
import { resolveTemplate } from "../scope/templates.ts";
import { refuseStart } from "../shutdown/refuse_start.ts";
import { isResultWanted } from "./wanted_result.ts";

/** The most that a pod may have. */
const MAX_DEADLINE_SECONDS = 2 ** 31 - 1;

/** Starts the task of a node that has just been created. @param status what else the node shows from now on */
export function startTask(turn: Turn, node: NodeRecord, work: Work, status: NodePatch): void {
  const { call, template } = work;
  const patch: NodePatch = { ...status, startedAt: turn.env.now };
  if (refuseStart(turn, node, patch, call.isExit)) {
    createContainers(turn, node, template);
    return endContainersWith(turn, node, node.message ?? "");
  }
  patch.starts = startsBefore(turn.state.specs.pastStarts, node.id) + 1;
  change(turn, node, patch);
  const timeoutAt = timeoutOf(turn, node, template);
  const deadline = deadlineOf(turn, node, template, timeoutAt);
  if (deadline !== undefined) change(turn, node, { deadline });
  const pendingUntil = pendingLimit(turn, template, timeoutAt);
  if (pendingUntil !== undefined) setTimer(turn, node, pendingUntil);
  createContainers(turn, node, template);
  const task = taskSpec(turn, node, work);
  noteTask(turn, task);
  emit(turn, startEffect(task));
}

/** Starts a task; repeating it is harmless. */
export function startEffect(task: TaskSpec): Effect {
  return { type: "start-task", id: flatText("start/", task.id), task };
}

/** The task of an active node, as it was started. */
export function taskOf(turn: Turn, node: NodeRecord): TaskSpec {
  return taskSpec(turn, node, workOf(turn, node));
}

function taskSpec(turn: Turn, node: NodeRecord, work: Work): TaskSpec {
  const { call, template } = work;
  const { metadata } = turn.state.header;
  const workflow = workflowName(turn.state);
  const spec = executedSpec(turn.state);
  const pod = podName(workflow, node, podTemplateName(call));
  const namespace = workflowNamespace(turn.state);
  const task: TaskSpec = {
    id: taskId(turn, node),
    namespace,
    workflow,
    workflowUid: metadata.uid ?? "",
    nodeId: node.id,
    nodeName: node.name,
    displayName: node.displayName,
    podName: pod,
    template: withPresentArtifacts(template),
    includeResult: node.type !== "Pod" || template.data !== undefined ||
      isResultWanted(turn, boundaryOf(turn.state.nodes, node), node.step, node.nodeFlag),
    podSpec: node.type === "HTTP" ? {} : podSpecFor(turn, node, work),
    artifactPrefix: flatText(workflow, "/", pod),
  };
  if (node.deadline !== undefined) task.deadline = node.deadline;
  const avoidHosts = hostsToAvoid(turn, node, template);
  if (avoidHosts.length > 0) task.avoidHosts = avoidHosts;
  const { artifacts } = template.inputs ?? {};
  if (artifacts !== undefined) {
    const { nodes } = turn.state;
    const former = formerKeys({ namespace, name: workflow, nodes: nodes.values() }, artifacts);
    if (former.length > 0) task.formerKeys = former;
  }
  if (turn.state.header.callbackSecret !== undefined) {
    task.callbackSecret = turn.state.header.callbackSecret;
  }
  if ((template.archiveLocation?.archiveLogs ?? spec.archiveLogs) === true) task.archiveLogs = true;
  return task;
}

function hostsToAvoid(turn: Turn, node: NodeRecord, template: Template): string[] {
  if (node.role !== "attempt") return [];
  const retry = template.retryStrategy ?? executedSpec(turn.state).retryStrategy;
  if (retry?.affinity?.["nodeAntiAffinity"] === undefined) return [];
  const hosts = attemptsOf(getOwner(turn, node))
    .filter((attempt) => attempt.id !== node.id)
    .map((attempt) => attempt.hostNodeName)
    .filter((host) => host !== undefined);
  return [...new Set(hosts)];
}

/** When the template's timeout is over. A node that had to wait for its locks has a timer for it. */
function timeoutOf(turn: Turn, node: NodeRecord, { timeout = "" }: Template): number | undefined {
  return timeout === "" ? undefined : node.dueAt ?? turn.env.now + timeoutMs(timeout);
}

/** When the task must have ended. */
function deadlineOf(
  turn: Turn,
  node: NodeRecord,
  { activeDeadlineSeconds }: Template,
  timeoutAt: number | undefined,
): number | undefined {
  const ends: number[] = [];
  if (activeDeadlineSeconds !== undefined) {
    const seconds = Number(activeDeadlineSeconds);
    if (!Number.isFinite(seconds)) {
      throw new NodeFailure(`activeDeadlineSeconds '${activeDeadlineSeconds}' is not a number`);
    }
    if (Math.abs(seconds) > MAX_DEADLINE_SECONDS) {
      throw new NodeFailure(
        `activeDeadlineSeconds: Invalid value: ${activeDeadlineSeconds}: must be between 1 and ${MAX_DEADLINE_SECONDS}, inclusive`,
      );
    }
    ends.push(turn.env.now + seconds * 1000);
  }
  if (timeoutAt !== undefined) ends.push(timeoutAt);
  if (node.deadline !== undefined) ends.push(node.deadline);
  return ends.length === 0 ? undefined : Math.min(...ends);
}

/** Until when the task may be pending. */
function pendingLimit(
  { env: { now } }: Turn,
  { pendingTimeout = "" }: Template,
  timeoutAt: number | undefined,
): number | undefined {
  if (pendingTimeout === "") return timeoutAt;
  return Math.min(now + nodeDurationMs(pendingTimeout), timeoutAt ?? Infinity);
}

/** Creates the nodes of a container set. A container is a child of the containers on which it depends. */
function createContainers(turn: Turn, node: NodeRecord, template: Template): void {
  if (template.containerSet === undefined) return;
  for (const container of template.containerSet.containers ?? []) {
    const name = memberName(node.name, container.name ?? "");
    if (nodeByName(turn, name) !== undefined) continue;
    const id = nodeId(workflowName(turn.state), name);
    const dependencies = container.dependencies ?? [];
    const made = blankNode(id, name, container.name ?? "", "container", "Container", "Pending");
    made.owner = node.id;
    made.boundary = node.id;
    made.parents = dependencies.length === 0
      ? [node.id]
      : dependencies.map((other) => nodeId(workflowName(turn.state), memberName(node.name, other)));
    made.templateName = node.templateName;
    if (node.templateRef !== undefined) made.templateRef = node.templateRef;
    made.templateScope = node.templateScope;
    // Containers show whether their pod is an attempt or a hook; their role says that they are neither.
    made.nodeFlag = node.nodeFlag;
    made.startedAt = turn.env.now;
    made.progress = "0/1";
    addNode(turn, made);
  }
}

/** The node whose present task this is, unless it has ended. */
export function findTaskNode(turn: Turn, task: string): NodeRecord | undefined {
  const uid = `${turn.state.header.metadata.uid ?? ""}/`;
  if (!task.startsWith(uid)) return undefined;
  const slash = task.lastIndexOf("/");
  const node = turn.state.nodes.get(task.slice(uid.length, slash));
  if (node === undefined || hasEnded(node)) return undefined;
  return node.starts === Number(task.slice(slash + 1)) ? node : undefined;
}

/** Takes in that the task of a pod runs. A daemon that is ready counts as done for those that wait for it. */
export function taskStarted(turn: Turn, fact: Extract<Fact, { type: "task-started" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined || node.type !== "Pod") return;
  const isDaemon = fact.ready === true && isDaemonNode(turn, node);
  if (node.phase === "Running" && (node.daemoned === true || !isDaemon)) return;
  const patch: NodePatch = { phase: "Running", message: undefined };
  // Others can reach only a daemon: the pod of any other step has ended before they begin.
  if (isDaemon && fact.podIP !== undefined) patch.podIP = fact.podIP;
  if (fact.hostNodeName !== undefined) patch.hostNodeName = fact.hostNodeName;
  if (isDaemon) patch.daemoned = true;
  change(turn, node, patch);
  forContainers(node, (container) => {
    if (container.phase === "Pending") change(turn, container, { phase: "Running" });
  });
  if (!isDaemon) return;
  releaseLocksOfDaemon(turn, node);
  // From now on it is not at work: what failFast has ended meanwhile waits for nothing more.
  const boundary = boundaryOf(turn.state.nodes, node);
  if (boundary !== undefined) wakeIdle(turn, boundary);
}

function isDaemonNode(turn: Turn, node: NodeRecord): boolean {
  const call = callOf(turn, node);
  return resolveTemplate(turn, call.holder, call.context).template.daemon === true;
}

/** Takes in why a task does not run yet. */
export function taskPending(turn: Turn, fact: Extract<Fact, { type: "task-pending" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node?.phase === "Pending" && node.message !== fact.message) {
    change(turn, node, { message: fact.message });
  }
}

/** Takes in the progress that a task reports. Anything but `done/total` is passed over. */
export function taskProgressed(turn: Turn, fact: Extract<Fact, { type: "task-progress" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined || !/^\d+\/[1-9]\d*$/.test(fact.progress)) return;
  const [done, total] = fact.progress.split("/").map(Number);
  if ((done ?? 0) > (total ?? 0) || node.progress === fact.progress) return;
  change(turn, node, { progress: fact.progress });
}

/** Takes in the outcome of a task: ends its node, and publishes and memoizes what it has left. */
export function taskEnded(turn: Turn, fact: Extract<Fact, { type: "task-ended" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined) return;
  // At its timeout both the engine's timer and the executor end a task: whichever is first, it timed out.
  if (fact.outcome.isLate === true && isOverdue(turn, node)) return taskIsDue(turn, node);
  const outcome = withOwnArtifacts(turn, fact.outcome);
  const outputs = outputsOf(turn, node, outcome);
  const wasDaemon = node.daemoned === true;
  const { resourcesDuration, hostNodeName } = outcome;
  const patch: NodePatch = { outputs: outputs ?? node.outputs };
  if (resourcesDuration !== undefined) patch.resourcesDuration = resourcesDuration;
  if (hostNodeName !== undefined) patch.hostNodeName = hostNodeName;
  if (node.type === "Pod") patch.taskResultSynced = true;
  change(turn, node, patch);
  endContainers(turn, node, outcome);
  // A daemon is there to be used. One that ends by itself has failed.
  const phase = wasDaemon && outcome.phase === "Succeeded" ? "Failed" : outcome.phase;
  if (wasDaemon) change(turn, node, { isLostDaemon: true });
  end(turn, node, phase, outcome.message);
  if (outputs !== undefined) publishGlobals(turn, node, outputs);
  if (node.phase === "Succeeded" && node.memoizationStatus?.hit === false) saveMemo(turn, node);
  cleanTask(turn, node, fact.task);
}

/** True when a task has not begun within the time that it had for that. */
function isOverdue({ env: { now } }: Turn, { phase, dueAt }: NodeRecord): boolean {
  return phase === "Pending" && dueAt !== undefined && dueAt <= now;
}

/** Ends a node that waits for its locks, or whose task is still pending: it has waited for too long. */
export function taskIsDue(turn: Turn, node: NodeRecord): void {
  change(turn, node, { dueAt: undefined });
  if (node.phase !== "Pending") return;
  cancelTask(turn, node, "timeout");
  change(turn, node, { isTimedOut: true });
  end(turn, node, "Failed", "timeout");
  endContainersWith(turn, node, "timeout");
}

/** Removes what is left of a task that has ended, if `podGC` asks for that. */
export function cleanTask(turn: Turn, node: NodeRecord, task: string): void {
  const { podGC } = executedSpec(turn.state);
  const isWanted = podGC?.strategy === "OnPodCompletion" ||
    (podGC?.strategy === "OnPodSuccess" && node.phase === "Succeeded");
  if (!isWanted || !isChosenByPodGc(turn, () => taskOf(turn, node))) return;
  emit(turn, {
    type: "clean-tasks",
    id: `clean/${task}`,
    tasks: [task],
    delayMs: cleanDelayMs(podGC.deleteDelayDuration),
  });
}

const USUAL_CLEAN_DELAY_MS = 5_000;

/**
 * How long finished tasks are kept, ms. A text that is no duration ends no workflow.
 * @param text of `podGC.deleteDelayDuration`
 */
export function cleanDelayMs(text: string | undefined): number {
  if (text === undefined || text === "") return USUAL_CLEAN_DELAY_MS;
  try {
    return Math.max(0, durationMs(text));
  } catch {
    return USUAL_CLEAN_DELAY_MS;
  }
}

/** The outcome; an error without artifacts when the key of one belongs to another namespace. */
function withOwnArtifacts(turn: Turn, outcome: TaskOutcome): TaskOutcome {
  const found = foreignArtifact(turn, outcome.outputs?.artifacts);
  if (found === undefined) return outcome;
  const text = foreignKeyText(workflowNamespace(turn.state), found.key);
  const { artifacts: _artifacts, ...outputs } = outcome.outputs ?? {};
  const message = `Output artifact "${found.artifact.name}": ${text}`;
  return { ...outcome, phase: "Error", message, outputs };
}

/** The reported outputs, with what the template says about each parameter. */
function outputsOf(turn: Turn, node: NodeRecord, outcome: TaskOutcome): Outputs | undefined {
  const { outputs } = outcome;
  if (outputs === undefined || Object.keys(outputs).length === 0) return undefined;
  const reported = outputs.parameters;
  if (reported === undefined || reported.length === 0) return outputs;
  let declared: Parameter[] = [];
  try {
    declared = taskOf(turn, node).template.outputs?.parameters ?? [];
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
  }
  return {
    ...outputs,
    parameters: reported.map((parameter) => ({
      ...declared.find(({ name }) => name === parameter.name),
      ...parameter,
    })),
  };
}

function forContainers(node: NodeRecord, visit: (container: NodeRecord) => void): void {
  for (const member of membersOf(node)) if (member.type === "Container") visit(member);
}

function endContainers(turn: Turn, node: NodeRecord, outcome: TaskOutcome): void {
  forContainers(node, (container) => {
    const own = outcome.containers?.[container.displayName];
    const phase = own?.phase ?? outcome.phase;
    end(turn, container, phase, own?.message);
  });
}

/** Ends the containers of a node that the engine itself has ended. */
export function endContainersWith(turn: Turn, node: NodeRecord, message: string): void {
  forContainers(node, (container) => end(turn, container, "Failed", message));
}
