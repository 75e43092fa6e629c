/** DAG nodes: tasks begin when what they depend on is done; targets decide the phase. */
import type { DagTask, NodePhase, StepLike } from "../spec/manifest.ts";
import { frameOf, getNode, known, memberCall, nodeByName } from "./call.ts";
import { addNode, change, end } from "./change.ts";
import { addReady, dagTaskCalls, dependenciesOf, planDag } from "./dag_calls.ts";
import { branchPhases } from "./dag_phase.ts";
import { dependsLogic, holdsDepends, plainNames, taskResults } from "./depends.ts";
import type { TaskResults } from "./expressions.ts";
import { keepCalls } from "./expansion.ts";
import { publishGlobals } from "./global_outputs.ts";
import { saveMemo } from "./memo.ts";
import { collectOutputs } from "./outputs.ts";
import { nodeId } from "./names.ts";
import { type DagUnit, type ExpandedCall, type Frame, unitOf } from "./runtime.ts";
import { findStep, loopOutputs } from "./scope.ts";
import { beginIfUntouched, identity, isUntouched, startCall } from "./start.ts";
import { failNode } from "./fail_node.ts";
import { isFailure } from "./failure.ts";
import { hasEnded, isFailedOrError, type NodeRecord, type Turn, workflowName } from "./state.ts";
import { areMembersDone, createWithoutRun, failFast, startCalls } from "./steps.ts";

/** Goes on with a DAG node: begins tasks that are ready, and ends it when its targets are decided. */
export function evaluateDag(turn: Turn, node: NodeRecord): void {
  if (node.phase !== "Running" && !isUntouched(node)) return;
  const frame = frameOf(turn, node);
  const unit = unitOf(turn.state.runtime, node.id);
  const dag = unit.dag ??= planDag(frame);
  if (failFast(turn, node, undefined)) return;
  noteDone(turn, dag, unit.news);
  unit.news = [];
  beginReady(turn, node, frame, dag);
  if (hasEnded(node) || failFast(turn, node, undefined)) return;
  if (!areMembersDone(turn, node)) return;
  if (dag.ready.length > dag.firstReady && unit.firstFailed === undefined) return;
  const phase = phaseOf(turn, node, frame, dag);
  if (phase === undefined) return;
  change(turn, node, { targets: dag.targets.map((name) => taskId(turn, node, name)) });
  if (phase !== "Succeeded") {
    end(turn, node, phase);
    return;
  }
  try {
    for (const { name } of frame.template.dag?.tasks ?? []) {
      const task = nodeByName(turn, `${node.name}.${name}`);
      const step = findStep(frame, name);
      if (task?.type === "TaskGroup" && step !== undefined) loopOutputs(turn, { node: task, step });
    }
    const outputs = collectOutputs(turn, frame.template, known(turn, node, frame, () => true));
    if (outputs !== undefined) change(turn, node, { outputs });
    end(turn, node, "Succeeded");
    if (outputs !== undefined) publishGlobals(turn, node, outputs);
    if (node.memoizationStatus?.hit === false) saveMemo(turn, node);
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

/** Counts tasks that have become done down at those that wait for them. */
function noteDone(turn: Turn, dag: DagUnit, news: readonly string[]): void {
  for (const id of news) {
    const task = turn.state.nodes.get(id)?.step;
    if (task === undefined) continue;
    dag.begun.add(task);
    for (const dependent of dag.dependents.get(task) ?? []) {
      const left = (dag.waitingFor.get(dependent) ?? 0) - 1;
      dag.waitingFor.set(dependent, left);
      if (left === 0) addReady(dag, dependent);
    }
  }
}

function beginReady(turn: Turn, node: NodeRecord, frame: Frame, dag: DagUnit): void {
  for (;;) {
    const task = dag.ready[dag.firstReady];
    if (task === undefined) break;
    const existing = nodeByName(turn, `${node.name}.${task}`);
    beginIfUntouched(turn, existing);
    if (!dag.begun.has(task) && existing === undefined) {
      if (!beginTask(turn, node, frame, task)) return;
      dag.begun.add(task);
    }
    dag.firstReady++;
  }
  dag.ready = [];
  dag.firstReady = 0;
}

/** Begins a task whose dependencies are done. False when the gate is closed. */
function beginTask(turn: Turn, node: NodeRecord, frame: Frame, name: string): boolean {
  const task = findStep(frame, name) as DagTask;
  const dependencies = dependenciesOf(frame, name);
  const links = dependencies.length === 0
    ? { parents: [node.id] }
    : { after: dependencies.map((other) => taskId(turn, node, other)) };
  let calls: ExpandedCall[];
  try {
    if (!shouldRun(turn, node, frame, task, dependencies)) {
      const omitted = addTask(turn, node, frame, task, links);
      end(turn, omitted, "Omitted", "omitted: depends condition not met");
      return true;
    }
    calls = dagTaskCalls(turn, node, frame, name, known);
  } catch (error) {
    if (!isFailure(error)) throw error;
    const failed = addTask(turn, node, frame, task, links);
    end(turn, failed, "Error", error.message);
    return true;
  }
  const [only] = calls;
  if (only !== undefined && only.index === undefined) {
    if (createWithoutRun(turn, node, node, only, links) !== undefined) return true;
    const call = { ...memberCall(turn, node, node, only), ...links };
    return startCall(turn, call, node.id) !== undefined;
  }
  const group = addNode(turn, {
    ...identity(turn, {
      ...memberCall(turn, node, node, { step: task, name: `${node.name}.${name}`, arguments: {} }),
      ...links,
    }, undefined),
    role: "loop",
    type: "TaskGroup",
    phase: "Running",
    nodeFlag: {},
  });
  keepCalls(turn, unitOf(turn.state.runtime, group.id), calls, [group.name]);
  turn.visit?.(group);
  return true;
}

function addTask(
  turn: Turn,
  node: NodeRecord,
  frame: Frame,
  task: DagTask,
  links: { parents?: string[]; after?: string[] },
): NodeRecord {
  const call = { step: task, name: `${node.name}.${task.name}`, arguments: {} };
  return addNode(turn, {
    ...identity(
      turn,
      { ...memberCall(turn, node, node, call), ...links, context: frame.context },
      undefined,
    ),
    type: "Skipped",
    phase: "Running",
    nodeFlag: {},
  });
}

function shouldRun(
  turn: Turn,
  node: NodeRecord,
  frame: Frame,
  task: DagTask,
  dependencies: readonly string[],
): boolean {
  const results = new Map(dependencies.map((name) => {
    const dependency = turn.state.nodes.get(taskId(turn, node, name));
    const elements = dependency?.type === "TaskGroup" ? elementsOf(turn, dependency) : [];
    return [name, taskResults(dependency, elements)] as const;
  }));
  const names = plainNames(task);
  if (names !== undefined) {
    return names.every((name) => isDoneFor(findStep(frame, name), results.get(name)));
  }
  const logic = dependsLogic(task, (name) => findStep(frame, name) as DagTask | undefined);
  return holdsDepends(logic, results);
}

/** What the bare name of a task asks for. */
function isDoneFor(task: StepLike | undefined, results: TaskResults | undefined): boolean {
  if (results === undefined) return false;
  const { Succeeded, Skipped, Daemoned, Errored, Failed } = results;
  return Succeeded === true || Skipped === true || Daemoned === true ||
    (task?.continueOn?.error === true && Errored === true) ||
    (task?.continueOn?.failed === true && Failed === true);
}

function elementsOf(turn: Turn, group: NodeRecord): NodeRecord[] {
  return (turn.state.runtime.members.get(group.id) ?? [])
    .map((id) => turn.state.nodes.get(id))
    .filter((element) => element?.role === "member") as NodeRecord[];
}

/** Goes on with the group of a looping task. */
export function evaluateTaskGroup(turn: Turn, group: NodeRecord): void {
  if (hasEnded(group) || isUntouched(group)) return;
  const node = getNode(turn, group.owner);
  if (hasEnded(node)) return;
  const unit = unitOf(turn.state.runtime, group.id);
  if (unit.calls === undefined) {
    try {
      const calls = dagTaskCalls(turn, node, frameOf(turn, node), group.step ?? "", known);
      keepCalls(turn, unit, calls, [group.name]);
    } catch (error) {
      if (!isFailure(error)) throw error;
      end(turn, group, "Error", error.message);
      return;
    }
  }
  startCalls(turn, node, group);
  if (unit.cursor < (unit.calls?.length ?? 0) || !areElementsDone(turn, group)) return;
  let phase: NodePhase = "Succeeded";
  for (const element of elementsOf(turn, group)) {
    if (isFailedOrError(element)) phase = element.phase;
  }
  end(turn, group, phase);
}

/** All elements are done; hooks of the group itself do not count. */
function areElementsDone(turn: Turn, group: NodeRecord): boolean {
  const { done } = unitOf(turn.state.runtime, group.id);
  return done.size >= (unitOf(turn.state.runtime, group.id).calls?.length ?? 0);
}

/** Phase of the DAG as its targets decide it; undefined while it is open. */
function phaseOf(turn: Turn, node: NodeRecord, frame: Frame, dag: DagUnit): NodePhase | undefined {
  const isFailFast = frame.template.dag?.failFast !== false;
  const phases = branchPhases(turn, node, frame);
  let result: NodePhase | undefined = "Succeeded";
  for (const target of dag.targets) {
    const phase = phases(target);
    if (phase === undefined) {
      result = undefined;
      if (!isFailFast) return undefined;
    } else if (phase !== "Succeeded") {
      const { continueOn } = findStep(frame, target) ?? {};
      if (phase === "Failed" ? continueOn?.failed === true : continueOn?.error === true) continue;
      if (isFailFast) return phase;
      if (result !== undefined) result = phase;
    }
  }
  return result;
}

function taskId(turn: Turn, node: NodeRecord, task: string): string {
  return nodeId(workflowName(turn.state), `${node.name}.${task}`);
}
