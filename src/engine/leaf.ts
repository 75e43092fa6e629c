/**
 * Nodes whose work is a task of an executor: starting it, and what it reports. A report about a task that is not the
 * node's present one, or about a node that has ended, changes nothing.
 */
import { foreignKeyText } from "../spec/artifact_key.ts";
import type { Outputs, Parameter, Template, WorkflowSpec } from "../spec/manifest.ts";
import { type Call, callOf, frameOf, getNode, localsOf, podTemplateName } from "./call.ts";
import { addNode, change, emit, end, setTimer, taskId } from "./change.ts";
import type { Fact, TaskOutcome } from "./command.ts";
import type { TaskSpec } from "./effect.ts";
import { durationMs } from "./expressions.ts";
import { NodeFailure } from "./failure.ts";
import { fillTemplate } from "./bind.ts";
import { publishGlobals } from "./global_outputs.ts";
import { saveMemo } from "./memo.ts";
import { formerKeys } from "./former_keys.ts";
import { foreignArtifact } from "./foreign_artifacts.ts";
import { nodeId, podName } from "./names.ts";
import type { Frame } from "./runtime.ts";
import {
  executedSpec,
  hasEnded,
  type NodeRecord,
  type Turn,
  workflowName,
  workflowNamespace,
} from "./state.ts";
import { isChosenByPodGc } from "./pod_gc.ts";
import { attemptsOf } from "./retry_scope.ts";
import { resolveTemplate } from "./templates.ts";
import { stopReason } from "./stop_reason.ts";

/** Starts the task of a node that has just been created. */
export function startTask(turn: Turn, node: NodeRecord, call: Call, template: Template): void {
  const reason = call.isExit && turn.state.specs.spec.shutdown !== "Terminate"
    ? undefined
    : stopReason(turn);
  if (reason !== undefined && node.type === "Pod") {
    end(turn, node, "Failed", reason.notStarted);
    return;
  }
  const { specs } = turn.state;
  const starts = (specs.pastStarts?.[node.id] ?? 0) + 1;
  change(turn, node, { starts });
  const bounds = deadlineOf(turn, node, template);
  if (bounds !== undefined) change(turn, node, bounds);
  const waitMs = pendingLimit(template);
  if (waitMs !== undefined) setTimer(turn, node, turn.env.now + waitMs);
  createContainers(turn, node, template);
  emit(turn, {
    type: "start-task",
    id: `start/${taskId(turn, node)}`,
    task: taskSpec(turn, node, call, template),
  });
}

/** The task of a node that is active, as it was started. */
export function taskOf(turn: Turn, node: NodeRecord): TaskSpec {
  const call = callOf(turn, node);
  const resolved = resolveTemplate(turn, call.holder, call.context);
  const wrapper = node.role === "attempt" ? getNode(turn, node.owner) : undefined;
  const options = localsOf(turn, call, resolved.template, wrapper);
  const template = fillTemplate(turn, resolved.template, node.inputs ?? {}, options);
  return taskSpec(turn, node, call, template);
}

function taskSpec(turn: Turn, node: NodeRecord, call: Call, template: Template): TaskSpec {
  const { metadata } = turn.state.header;
  const workflow = workflowName(turn.state);
  const spec = executedSpec(turn.state);
  const pod = podName(workflow, node.name, podTemplateName(call));
  const { templates: _templates, ...podSpec }: WorkflowSpec = spec;
  const avoidHosts = hostsToAvoid(turn, node, template);
  const namespace = workflowNamespace(turn.state);
  const former = formerKeys(
    { namespace, name: workflow, nodes: turn.state.nodes.values() },
    template.inputs?.artifacts ?? [],
  );
  return {
    id: taskId(turn, node),
    namespace,
    workflow,
    workflowUid: metadata.uid ?? "",
    nodeId: node.id,
    nodeName: node.name,
    displayName: node.displayName,
    podName: pod,
    template,
    includeResult: node.type !== "Pod" || isResultWanted(turn, node),
    podSpec,
    artifactPrefix: `${workflow}/${pod}`,
    ...(node.deadline === undefined ? {} : { deadline: node.deadline }),
    ...(node.deadlineMessage === undefined ? {} : { deadlineMessage: node.deadlineMessage }),
    ...(avoidHosts.length === 0 ? {} : { avoidHosts }),
    ...(former.length === 0 ? {} : { formerKeys: former }),
    ...(template.archiveLocation?.archiveLogs ?? spec.archiveLogs) === true
      ? { archiveLogs: true }
      : {},
  };
}

function hostsToAvoid(turn: Turn, node: NodeRecord, template: Template): string[] {
  if (node.role !== "attempt") return [];
  const retry = template.retryStrategy ?? executedSpec(turn.state).retryStrategy;
  if (retry?.affinity?.["nodeAntiAffinity"] === undefined) return [];
  const hosts = attemptsOf(turn, getNode(turn, node.owner))
    .filter((attempt) => attempt.id !== node.id)
    .map((attempt) => attempt.hostNodeName)
    .filter((host) => host !== undefined);
  return [...new Set(hosts)];
}

const DEADLINE_TEXT = "Pod was active on the node longer than the specified deadline";

/** When the task must be over, and what its node says then. */
function deadlineOf(turn: Turn, node: NodeRecord, template: Template) {
  const ends: number[] = [];
  const { activeDeadlineSeconds, timeout } = template;
  if (activeDeadlineSeconds !== undefined) {
    const seconds = Number(activeDeadlineSeconds);
    if (!Number.isFinite(seconds)) {
      throw new NodeFailure(`activeDeadlineSeconds '${activeDeadlineSeconds}' is not a number`);
    }
    ends.push(turn.env.now + seconds * 1000);
  }
  if (timeout !== undefined && timeout !== "") ends.push(turn.env.now + duration(timeout));
  if (node.deadline !== undefined) ends.push(node.deadline);
  return ends.length === 0
    ? undefined
    : { deadline: Math.min(...ends), deadlineMessage: DEADLINE_TEXT };
}

/** How long the task may be pending. */
function pendingLimit(template: Template): number | undefined {
  const limits = [template.timeout, template.pendingTimeout]
    .filter((text) => text !== undefined && text !== "")
    .map((text) => duration(text as string));
  return limits.length === 0 ? undefined : Math.min(...limits);
}

function duration(text: string): number {
  try {
    return durationMs(text);
  } catch (error) {
    throw new NodeFailure(error instanceof Error ? error.message : String(error));
  }
}

/** Container nodes of a container set; who depends on another one is its child. */
function createContainers(turn: Turn, node: NodeRecord, template: Template): void {
  for (const container of template.containerSet?.containers ?? []) {
    const name = `${node.name}.${container.name ?? ""}`;
    const id = nodeId(workflowName(turn.state), name);
    if (turn.state.nodes.has(id)) continue;
    const dependencies = container.dependencies ?? [];
    addNode(turn, {
      id,
      name,
      displayName: container.name ?? "",
      type: "Container",
      phase: "Pending",
      role: "container",
      owner: node.id,
      boundary: node.id,
      startedAt: turn.env.now,
      progress: "0/1",
      parents: dependencies.length === 0
        ? [node.id]
        : dependencies.map((other) => nodeId(workflowName(turn.state), `${node.name}.${other}`)),
      ...(node.templateName === undefined ? {} : { templateName: node.templateName }),
      ...(node.templateRef === undefined ? {} : { templateRef: node.templateRef }),
      ...(node.templateScope === undefined ? {} : { templateScope: node.templateScope }),
    });
  }
}

/** The node whose present task this is and that can still change. */
export function findTaskNode(turn: Turn, task: string): NodeRecord | undefined {
  const uid = `${turn.state.header.metadata.uid ?? ""}/`;
  if (!task.startsWith(uid)) return undefined;
  const slash = task.lastIndexOf("/");
  const node = turn.state.nodes.get(task.slice(uid.length, slash));
  if (node === undefined || hasEnded(node)) return undefined;
  return node.starts === Number(task.slice(slash + 1)) ? node : undefined;
}

export function taskStarted(turn: Turn, fact: Extract<Fact, { type: "task-started" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined || node.type !== "Pod") return;
  const isDaemon = fact.ready === true && isDaemonNode(turn, node);
  if (node.phase === "Running" && (node.daemoned === true || !isDaemon)) return;
  change(turn, node, {
    phase: "Running",
    message: undefined,
    ...(fact.podIP === undefined ? {} : { podIP: fact.podIP }),
    ...(fact.hostNodeName === undefined ? {} : { hostNodeName: fact.hostNodeName }),
    ...(isDaemon ? { daemoned: true } : {}),
  });
  forContainers(turn, node, (container) => {
    if (container.phase === "Pending") change(turn, container, { phase: "Running" });
  });
}

function isDaemonNode(turn: Turn, node: NodeRecord): boolean {
  const call = callOf(turn, node);
  return resolveTemplate(turn, call.holder, call.context).template.daemon === true;
}

export function taskPending(turn: Turn, fact: Extract<Fact, { type: "task-pending" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node?.phase === "Pending" && node.message !== fact.message) {
    change(turn, node, { message: fact.message });
  }
}

export function taskProgressed(turn: Turn, fact: Extract<Fact, { type: "task-progress" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined || !/^\d+\/[1-9]\d*$/.test(fact.progress)) return;
  const [done, total] = fact.progress.split("/").map(Number);
  if ((done ?? 0) > (total ?? 0) || node.progress === fact.progress) return;
  change(turn, node, { progress: fact.progress });
}

export function taskEnded(turn: Turn, fact: Extract<Fact, { type: "task-ended" }>): void {
  const node = findTaskNode(turn, fact.task);
  if (node === undefined) return;
  const outcome = withOwnArtifacts(turn, fact.outcome);
  const outputs = outputsOf(turn, node, outcome);
  const wasDaemon = node.daemoned === true;
  change(turn, node, {
    ...(outputs === undefined ? {} : { outputs }),
    ...(outcome.resourcesDuration === undefined
      ? {}
      : { resourcesDuration: outcome.resourcesDuration }),
    ...(outcome.hostNodeName === undefined ? {} : { hostNodeName: outcome.hostNodeName }),
    ...(node.type === "Pod" ? { taskResultSynced: true } : {}),
  });
  endContainers(turn, node, outcome);
  // A daemon is there to be used; one that leaves by itself has failed.
  const phase = wasDaemon && outcome.phase === "Succeeded" ? "Failed" : outcome.phase;
  if (wasDaemon) change(turn, node, { isLostDaemon: true });
  end(turn, node, phase, outcome.message);
  if (outputs !== undefined) publishGlobals(turn, node, outputs);
  if (node.phase === "Succeeded" && node.memoizationStatus?.hit === false) saveMemo(turn, node);
  cleanTask(turn, node, fact.task);
}

/** Removes what is left of a task when `podGC` wants that at its end. */
function cleanTask(turn: Turn, node: NodeRecord, task: string): void {
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

/** How long finished tasks are kept. */
export function cleanDelayMs(text: string | undefined): number {
  return text === undefined || text === "" ? 5000 : duration(text);
}

/** The outcome; an error without the artifacts when one has a key that belongs to another namespace. */
function withOwnArtifacts(turn: Turn, outcome: TaskOutcome): TaskOutcome {
  const found = foreignArtifact(turn, outcome.outputs?.artifacts);
  if (found === undefined) return outcome;
  const text = foreignKeyText(workflowNamespace(turn.state), found.key);
  const { artifacts: _artifacts, ...outputs } = outcome.outputs ?? {};
  const message = `Output artifact "${found.artifact.name}": ${text}`;
  return { ...outcome, phase: "Error", message, outputs };
}

/** What the task reported, with what the template says about each parameter. */
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

function forContainers(turn: Turn, node: NodeRecord, visit: (container: NodeRecord) => void): void {
  for (const id of turn.state.runtime.members.get(node.id) ?? []) {
    const container = turn.state.nodes.get(id);
    if (container?.type === "Container") visit(container);
  }
}

function endContainers(turn: Turn, node: NodeRecord, outcome: TaskOutcome): void {
  forContainers(turn, node, (container) => {
    const own = outcome.containers?.[container.displayName];
    const phase = own?.phase ?? outcome.phase;
    end(turn, container, phase, own?.message);
  });
}

/** Ends the containers of a node that the engine itself has ended. */
export function endContainersWith(turn: Turn, node: NodeRecord, message: string): void {
  forContainers(turn, node, (container) => end(turn, container, "Failed", message));
}

const wantedResults = new WeakMap<Frame, ReadonlySet<string>>();

/** Some text of the template around the node refers to the node's `outputs.result`. */
function isResultWanted(turn: Turn, node: NodeRecord): boolean {
  if (node.boundary === undefined) return false;
  const frame = frameOf(turn, getNode(turn, node.boundary));
  let wanted = wantedResults.get(frame);
  if (wanted === undefined) {
    wanted = resultReferences(frame.template);
    wantedResults.set(frame, wanted);
  }
  return node.step !== undefined && wanted.has(node.step);
}

const RESULT = new RegExp(
  String.raw`(?:steps|tasks)(?:\.([-\w]+)|\[\\*['"]([-\w]+)\\*['"]\])\??` +
    String.raw`(?:\.outputs|\[\\*['"]outputs\\*['"]\])\??(?:\.result|\[\\*['"]result\\*['"]\])`,
  "g",
);

/** Names of steps and tasks whose result some text refers to. */
function resultReferences(template: Template): ReadonlySet<string> {
  const names = new Set<string>();
  for (const [, dotted, quoted] of JSON.stringify(template).matchAll(RESULT)) {
    names.add(dotted ?? quoted ?? "");
  }
  return names;
}
