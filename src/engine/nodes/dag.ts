/** DAG nodes: a task begins when its dependencies are done, and the targets decide the phase. */
import type { DagTask, NodePhase, StepLike } from "../../spec/manifest.ts";
import { addNode, change, end } from "../change.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import {
  hasEnded,
  isBoundaryAtWork,
  isFailedOrError,
  isUntouched,
  type NodeRecord,
} from "../records.ts";
import {
  type DagMemory,
  type ExpandedCall,
  type Frame,
  LIVE,
  membersOf,
  memoryOf,
} from "../live.ts";
import { frameOf, type Links, memberCall } from "../scope/call.ts";
import { addReady, COUNTED, isBefore, planDag } from "../scope/dag_plan.ts";
import { keepCalls } from "../scope/expansion.ts";
import { findStep, tolerates } from "../scope/frame_steps.ts";
import { hookName, memberName, nodeId } from "../scope/names.ts";
import { taskCalls } from "../scope/step_calls.ts";
import { workflowName } from "../state.ts";
import { getOwner, nodeByName } from "../tree.ts";
import type { Turn } from "../turn.ts";
import { branchPhases } from "./dag_phase.ts";
import { dependsLogic, holdsDepends, isPlainDepends, taskResults } from "./depends_condition.ts";
import { failNode } from "./fail_node.ts";
import {
  areBegunDone,
  areMembersDone,
  createWithoutRun,
  failFast,
  loopFault,
  openBoundary,
  startCalls,
  startMember,
  succeed,
} from "./group.ts";
import { isNext, isShut, wakeIdle } from "./gate.ts";
import { beginLoopHooks, isHookNext } from "./member.ts";
import { newNode } from "./new_node.ts";
import { beginIfUntouched } from "./start.ts";

/** Continues a DAG node: finds the tasks that have become ready, and begins them. */
export function evaluateDag(turn: Turn, node: NodeRecord): void {
  if (!isBoundaryAtWork(node)) return;
  const memory = memoryOf(node);
  const frame = frameOf(turn, node);
  const dag = memory.dag ??= planDag(frame, membersOf(node));
  if (failFast(turn, node, undefined)) return;
  noteDone(frame, dag, memory.news ?? []);
  // After a restart the loops that are done are noted when they are looked at again.
  dag.fault ??= faultOfTargets(frame, dag);
  memory.news = undefined;
  startTasks(turn, node);
}

/**
 * Begins the tasks that are ready, and ends the node when its targets are decided. A shutdown fails it, even when the tasks
 * that were cut off may fail.
 */
export function startTasks(turn: Turn, node: NodeRecord): void {
  if (hasEnded(node)) return;
  const frame = frameOf(turn, node);
  const memory = memoryOf(node);
  const dag = memory.dag ??= planDag(frame, membersOf(node));
  const isBroken = () => (memory.brokenHook ?? dag.fault) !== undefined;
  if (!isBroken()) beginReady(turn, node, frame, dag);
  if (turn.state.runtime.opened.length > 0) return;
  const isLeft = dag.fault === undefined && dag.ready.length > dag.firstReady;
  if (hasEnded(node) || failFast(turn, node, undefined, isLeft)) return;
  if (!areMembersDone(node) && !(isBroken() && areBegunDone(node))) return;
  if (isCutApart(turn, node, dag) && failFast(turn, node, undefined, true)) return;
  if (memory.brokenHook !== undefined) return end(turn, node, "Error");
  if (dag.fault !== undefined) {
    if (isCutOff(turn, node)) return end(turn, node, "Failed");
    failNode(turn, node, dag.fault);
    return change(turn, node, { outbound: [] });
  }
  if (isLeft && (memory.firstFailed === undefined || isNext(turn, node, node))) return;
  const phase = phaseOf(turn, frame, dag);
  if (phase === undefined) return;
  change(turn, node, {
    targets: dag.plan.targets.map((name) => idOfTarget(turn, node, dag, name)),
  });
  const isCut = isCutOff(turn, node);
  const fault = isCut
    ? undefined
    : faultOfHandlers(turn, node, frame, dag) ?? faultOfLoops(dag, phase);
  if (fault !== undefined) failNode(turn, node, fault);
  else if (isCut) end(turn, node, "Failed");
  else if (phase !== "Succeeded") end(turn, node, phase);
  else succeed(turn, node, frame);
  // What could not be carried out has no end from which others go on.
  if (node.isErrored === true) change(turn, node, { outbound: [] });
}

/**
 * Tells whether failFast or an error has ended a template inside a DAG with failFast, and tasks come after it. They have no
 * parent then, so the DAG does not end by itself, as in the reference.
 */
function isCutApart(turn: Turn, node: NodeRecord, { plan, nodes }: DagMemory): boolean {
  return isShut(turn, node) &&
    nodes.some((task, number) =>
      task?.outbound?.length === 0 && isFailedOrError(task) && plan.dependents[number] !== undefined
    );
}

/** Tells whether a shutdown cuts this node off. Exit handlers go on. */
function isCutOff({ state: { specs: { spec } } }: Turn, { isExit }: NodeRecord): boolean {
  return (spec.shutdown ?? "") !== "" && isExit !== true;
}

/** What is wrong with the exit handler of a target. What other tasks have of this kind harms nothing: the DAG goes on after them. */
function faultOfHandlers(
  turn: Turn,
  node: NodeRecord,
  frame: Frame,
  { plan }: DagMemory,
): string | undefined {
  if (!frame.hasHooks) return undefined;
  for (const target of plan.targets) {
    const handler = nodeByName(turn, hookName(memberName(node.name, target), "exit"));
    if (handler?.isErrored === true) return handler.message;
  }
  return undefined;
}

/** What is wrong with the results of a loop, when the node is about to end. */
function faultOfLoops({ plan, begun, faults }: DagMemory, phase: NodePhase): string | undefined {
  for (const [loop, fault] of faults ?? []) {
    const isUsed = plan.dependents[loop]?.some((dependent) => begun[dependent] === 1) === true;
    if (phase === "Succeeded" || isUsed) return fault;
  }
  return undefined;
}

/** What is wrong with results that a target that has begun could have. */
function faultOfTargets(frame: Frame, dag: DagMemory): string | undefined {
  if (dag.faults === undefined) return undefined;
  for (const target of dag.plan.targets) {
    const task = dag.plan.numbers.get(target) ?? -1;
    const fault = dag.nodes[task] === undefined ? undefined : faultBefore(frame, dag, task);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

/** What is wrong with the results of a loop before a task. The task can't be carried out then. */
function faultBefore(frame: Frame, { plan, faults }: DagMemory, task: number): string | undefined {
  if (faults === undefined) return undefined;
  const isEarlier = isBefore(frame, plan.names[task] ?? "");
  for (const [loop, fault] of faults) if (isEarlier(plan.names[loop] ?? "")) return fault;
  return undefined;
}

/** Counts down, at the tasks that wait for them, the tasks that are done. */
function noteDone(frame: Frame, dag: DagMemory, news: readonly NodeRecord[]): void {
  const { plan: { numbers }, begun } = dag;
  for (const node of news) {
    const task = numbers.get(node.step ?? "");
    if (task === undefined) continue;
    begun[task] = 1;
    const fault = node.type === "TaskGroup"
      ? loopFault(node, taskAt(frame, task) as DagTask)
      : undefined;
    if (fault !== undefined) (dag.faults ??= new Map()).set(task, fault);
    passOn(dag, task);
  }
}

/**
 * Counts a task that is done. One that was done before a daemon on which it depends began again counts only when that daemon is
 * ready.
 */
function passOn(dag: DagMemory, task: number): void {
  const { plan: { dependents }, waitingFor, nodes } = dag;
  if (waitingFor[task] !== 0) return;
  waitingFor[task] = COUNTED;
  const counted = [task];
  for (const one of counted) {
    for (const dependent of dependents[one] ?? []) {
      const left = waitingFor[dependent] as number - 1;
      if (left < 0) continue;
      waitingFor[dependent] = left;
      if (left !== 0) continue;
      if (nodes[dependent]?.[LIVE].isDone !== true) addReady(dag, dependent);
      else {
        waitingFor[dependent] = COUNTED;
        counted.push(dependent);
      }
    }
  }
}

/** Begins ready tasks until the gate closes, or until one of them is a group, which is then looked at first. */
function beginReady(turn: Turn, node: NodeRecord, frame: Frame, dag: DagMemory): void {
  for (;;) {
    const task = dag.ready[dag.firstReady];
    if (task === undefined) break;
    const existing = dag.nodes[task];
    // A copied task that did not run before may run now.
    const isOpen = existing === undefined
      ? dag.begun[task] === 0
      : existing.type === "Skipped" && isUntouched(existing);
    if (isOpen) {
      if (!beginTask(turn, node, frame, dag, task, existing)) return;
      dag.begun[task] = 1;
      if (dag.plan.dependents[task] === undefined) dag.fault = faultBefore(frame, dag, task);
      if (dag.fault !== undefined) return;
    } else if (existing !== undefined && !beginIfUntouched(turn, existing, node.id)) return;
    dag.firstReady++;
    if (turn.state.runtime.opened.length > 0) return;
  }
  dag.ready = [];
  dag.firstReady = 0;
}

/**
 * Begins a task whose dependencies are done. False when the gate is closed.
 * @param existing its node in a copied tree
 */
function beginTask(
  turn: Turn,
  node: NodeRecord,
  frame: Frame,
  dag: DagMemory,
  number: number,
  existing: NodeRecord | undefined,
): boolean {
  const task = taskAt(frame, number) as DagTask;
  const dependencies = dag.plan.dependencies[number] ?? [];
  const links = dependencies.length === 0
    ? { parents: [node.id] }
    : { after: dependencies.map((other) => idOfTask(turn, node, dag, other)) };
  let calls: ExpandedCall[];
  try {
    if (!shouldRun(frame, dag, task, dependencies)) {
      const omitted = taskNode(turn, node, task, existing, links, "Skipped");
      end(turn, omitted, "Omitted", "omitted: depends condition not met");
      return true;
    }
    const fault = faultBefore(frame, dag, number);
    if (fault !== undefined) throw new NodeFailure(fault);
    calls = taskCalls(turn, node, frame, task);
  } catch (error) {
    if (!isFailure(error)) throw error;
    const failed = taskNode(turn, node, task, existing, links, "Skipped");
    end(turn, failed, "Error", error.message);
    return true;
  }
  const [only] = calls;
  if (only !== undefined && only.index === undefined) {
    if (createWithoutRun(turn, node, node, only, links) !== undefined) return true;
    return existing === undefined
      ? startMember(turn, node, node, only, links) !== undefined
      : beginIfUntouched(turn, existing, node.id);
  }
  const group = taskNode(turn, node, task, existing, links, "TaskGroup");
  // A long loop may have taken several turns. A restart works it out as of the first of them.
  const startedAt = turn.state.runtime.expansions?.get(group.name)?.at;
  if (startedAt !== undefined && startedAt !== group.startedAt) change(turn, group, { startedAt });
  keepCalls(turn, memoryOf(group), calls, () => [group.name]);
  turn.state.runtime.opened.push(group);
  return true;
}

/** The node of a task that runs no template itself: a new one, or that of a copied tree. */
function taskNode(
  turn: Turn,
  node: NodeRecord,
  task: DagTask,
  existing: NodeRecord | undefined,
  links: Links,
  type: "Skipped" | "TaskGroup",
): NodeRecord {
  const role = type === "TaskGroup" ? "loop" : "member";
  if (existing !== undefined) {
    change(turn, existing, { type, role, phase: "Running", startedAt: turn.env.now });
    return existing;
  }
  const name = memberName(node.name, task.name);
  const call = memberCall(turn, node, node, { step: task, name }, links);
  const made = newNode(turn, call, type, "Running");
  made.role = role;
  made.nodeFlag = {};
  return addNode(turn, made);
}

function shouldRun(
  frame: Frame,
  { plan: { names }, nodes }: DagMemory,
  task: DagTask,
  dependencies: readonly number[],
): boolean {
  if (dependencies.length === 0 && (task.depends ?? "") === "") return true;
  if (isPlainDepends(task)) {
    return dependencies.every((other) => isDoneFor(taskAt(frame, other), nodes[other]));
  }
  const results = new Map(dependencies.map((other) => {
    const dependency = nodes[other];
    const elements = dependency?.type === "TaskGroup" ? elementsOf(dependency) : [];
    return [names[other] ?? "", taskResults(dependency, elements)] as const;
  }));
  const logic = dependsLogic(task, (name) => findStep(frame, name) as DagTask | undefined);
  return holdsDepends(logic, results);
}

/** Tells whether a dependency that is written as a bare name is met. */
function isDoneFor(task: StepLike | undefined, node: NodeRecord | undefined): boolean {
  if (node === undefined) return false;
  const { phase, daemoned } = node;
  return phase === "Succeeded" || phase === "Skipped" ||
    (daemoned === true && phase !== "Pending") || tolerates(task, phase);
}

function elementsOf(group: NodeRecord): NodeRecord[] {
  return membersOf(group).filter(({ role }) => role === "member");
}

/** Continues the group of a loop: works out its calls, begins its hooks, and then the calls. */
export function evaluateTaskGroup(turn: Turn, group: NodeRecord): void {
  if (openBoundary(turn, group) === undefined) return;
  beginLoopHooks(turn, group);
  if (turn.state.runtime.opened.length > 0) return;
  startElements(turn, group);
}

/** Begins the elements that may begin, and ends the group when all of them are done. */
export function startElements(turn: Turn, group: NodeRecord): void {
  const node = getOwner(turn, group);
  if (hasEnded(group) || hasEnded(node)) return;
  startCalls(turn, node, group);
  if (turn.state.runtime.opened.length > 0) return;
  const { cursor, calls = [] } = memoryOf(group);
  if (cursor < calls.length || !areMembersDone(group)) return wakeIdle(turn, node);
  if (isHookNext(turn, group)) return;
  let phase: NodePhase = "Succeeded";
  for (const element of elementsOf(group)) {
    if (isFailedOrError(element)) phase = element.phase;
  }
  end(turn, group, phase);
}

/** The phase that the targets decide; undefined while it is open. */
function phaseOf(
  turn: Turn,
  frame: Frame,
  dag: DagMemory,
): NodePhase | undefined {
  const isFailFast = frame.template.dag?.failFast !== false;
  const phases = branchPhases(turn, frame, dag);
  let result: NodePhase | undefined = "Succeeded";
  for (const target of dag.plan.targets) {
    const phase = phases(target);
    if (phase === undefined) {
      result = undefined;
      if (!isFailFast) return undefined;
    } else if (phase !== "Succeeded") {
      if (tolerates(findStep(frame, target), phase)) continue;
      if (isFailFast) return phase;
      if (result !== undefined) result = phase;
    }
  }
  return result;
}

function taskAt(frame: Frame, number: number): DagTask | undefined {
  return frame.template.dag?.tasks[number];
}

/** Id of the node that a task has, or would have. @param node the DAG node */
function idOfTask(turn: Turn, node: NodeRecord, { plan, nodes }: DagMemory, task: number): string {
  return nodes[task]?.id ??
    nodeId(workflowName(turn.state), memberName(node.name, plan.names[task] ?? ""));
}

function idOfTarget(turn: Turn, node: NodeRecord, dag: DagMemory, target: string): string {
  return idOfTask(turn, node, dag, dag.plan.numbers.get(target) ?? -1);
}
