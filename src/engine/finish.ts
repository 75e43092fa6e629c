/** The end of a workflow: hooks, exit handler, phase, and the clean-up. */
import { boundedMessage } from "../base/bounded_message.ts";
import { defined } from "../base/defined.ts";
import { artifactsToCollect } from "./cleanup/artifact_gc.ts";
import { ownNames } from "../spec/naming.ts";
import type { EndPhase, LifecycleHook, WorkflowPhase } from "../spec/manifest.ts";
import { workflowHookArguments, workflowHookCall } from "./scope/call.ts";
import { ownerOf } from "./live.ts";
import { nodeByName, taskId } from "./tree.ts";
import {
  cancelTask,
  change,
  dropRetrying,
  emit,
  end,
  markHeader,
  markIndex,
  refreshProgress,
  releaseLocks,
  stopDaemons,
} from "./change.ts";
import { isTrue, mayPassLater, replaceTagsIn } from "./scope/expressions.ts";
import { lockHolder } from "./locks/holder.ts";
import { givesUpClaims, removeClaims } from "./cleanup/volume_claims.ts";
import { cleanDelayMs, taskOf } from "./nodes/task.ts";
import { isChosenByPodGc } from "./cleanup/pod_gc.ts";
import { GlobalScope } from "./scope/workflow_variables.ts";
import { hookNames, workflowHook } from "./scope/hook_definitions.ts";
import { hookName } from "./scope/names.ts";
import { startOutermost } from "./nodes/look.ts";
import { beginIfUntouched } from "./nodes/start.ts";
import { isFailure, NodeFailure } from "./failure.ts";
import { noteWork } from "./turn_budget.ts";
import { report } from "./life/life.ts";
import { dropOrders } from "./orders/orders.ts";
import { executedSpec, rootOf, workflowName, type WorkflowState } from "./state.ts";
import {
  hasEnded,
  isCompleted,
  isFailedOrError,
  isFulfilled,
  isUntouched,
  type NodeRecord,
} from "./records.ts";
import { DEADLINE_TIMER, TTL_TIMER } from "./timers.ts";
import type { Turn } from "./turn.ts";
import { shutdownMessage } from "./shutdown/stop_reason.ts";

/**
 * Begins the workflow's hooks whose conditions hold. True when all hooks that have begun have ended. One that cannot be
 * carried out ends the workflow.
 */
export function runWorkflowHooks(turn: Turn): boolean {
  try {
    return runHooks(turn);
  } catch (error) {
    if (!isFailure(error)) throw error;
    const root = rootOf(turn.state);
    if (root !== undefined && !hasEnded(root)) {
      cancelTask(turn, root, error.message);
      end(turn, root, "Error", error.message);
    }
    complete(turn, "Error", error.message);
    return false;
  }
}

function runHooks(turn: Turn): boolean {
  let areAllEnded = true;
  const { hooks } = executedSpec(turn.state);
  if (hooks === undefined) return true;
  for (const name of hookNames(hooks)) {
    const hook = workflowHook(turn, name);
    if (hook === undefined) continue;
    let hooked = nodeByName(turn, hookName(workflowName(turn.state), name));
    if (hooked === undefined) {
      if (!holds(turn, hook.expression ?? "")) continue;
      hooked = startHook(turn, name, hook);
    } else beginIfUntouched(turn, hooked, workflowName(turn.state));
    if (hooked?.isErrored === true) throw new NodeFailure(hooked.message ?? "");
    if (hooked === undefined || !isFulfilled(hooked)) areAllEnded = false;
  }
  return areAllEnded;
}

function startHook(turn: Turn, name: string, hook: LifecycleHook): NodeRecord | undefined {
  const given = workflowHookArguments(turn, hook);
  return startOutermost(turn, workflowHookCall(turn, name, hook), given, workflowName(turn.state));
}

function holds(turn: Turn, expression: string): boolean {
  if (expression === "") return false;
  const early = new GlobalScope(turn, { hasEnd: false });
  try {
    const text = replaceTagsIn(expression, early, "keep", turn.env);
    return isTrue(text, new GlobalScope(turn, { hasEnd: true }), turn.env);
  } catch (error) {
    const root = rootOf(turn.state);
    // While the workflow goes on, names may be missing that exist later.
    const isOpen = root === undefined || !isFulfilled(root);
    if (isFailure(error) && isOpen && mayPassLater(error)) return false;
    throw error;
  }
}

/** Does what follows the entrypoint: hooks, exit handler, end. */
export function finishWorkflow(turn: Turn): void {
  const root = rootOf(turn.state);
  if (root === undefined || !isFulfilled(root)) return;
  if (root.isErrored === true) {
    complete(turn, "Error", `error in entry template execution: ${root.message ?? ""}`);
    return;
  }
  if (!runWorkflowHooks(turn)) return;
  const exit = runExitHandler(turn);
  if (exit === "waiting") return;
  if (exit?.isErrored === true) {
    complete(turn, "Error", `error in exit template execution : ${exit.message ?? ""}`);
    return;
  }
  let phase: EndPhase = root.phase === "Failed" || root.phase === "Error"
    ? root.phase
    : "Succeeded";
  // What its node says, such as who resumed it, is no message of a workflow that has succeeded.
  let message = phase === "Succeeded" ? undefined : root.message;
  if (phase === "Succeeded" && exit !== undefined && isFailedOrError(exit)) {
    phase = exit.phase as EndPhase;
    message = exit.message;
  }
  const stopped = isStopped(turn, root, phase) ? shutdownMessage(turn.state) : undefined;
  complete(turn, phase, stopped ?? message);
}

/**
 * Tells whether the final message is about the shutdown. It is when the shutdown cut off the work itself, or came with a
 * message. When it cut off only the exit handler, the handler's own message says so.
 */
function isStopped({ state }: Turn, root: NodeRecord, phase: EndPhase): boolean {
  if (phase === "Succeeded") return false;
  return isFailedOrError(root) || state.header.stopMessage !== undefined;
}

/** The exit handler's node once it has ended. Undefined when there is nothing to run. */
function runExitHandler(turn: Turn): NodeRecord | "waiting" | undefined {
  const hook = workflowHook(turn, "exit");
  if (hook === undefined) return undefined;
  const name = hookName(workflowName(turn.state), "exit");
  let node = nodeByName(turn, name);
  if (node === undefined) {
    if (turn.state.specs.spec.shutdown === "Terminate") return undefined;
    if (!isExitWanted(turn, hook.expression ?? "")) return undefined;
    try {
      node = startHook(turn, "exit", hook);
    } catch (error) {
      if (!isFailure(error)) throw error;
      complete(turn, "Error", `error in exit template execution : ${error.message}`);
      return "waiting";
    }
  }
  return node !== undefined && isFulfilled(node) ? node : "waiting";
}

/** Tells whether the exit handler is to run. One whose condition can't be decided runs. */
function isExitWanted(turn: Turn, expression: string): boolean {
  try {
    return expression === "" || holds(turn, expression);
  } catch (error) {
    if (isFailure(error)) return true;
    throw error;
  }
}

const END_REPORTS = { Succeeded: "succeeded", Failed: "failed", Error: "errored" } as const;

/** Ends the workflow; with many open nodes this takes several turns. Nothing stays running, waiting or locked. */
export function complete(turn: Turn, phase: EndPhase, message?: string): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined) return;
  const text = message === undefined ? undefined : boundedMessage(message);
  if (runtime.daemons !== undefined) {
    for (const boundary of [...runtime.daemons.keys()]) stopDaemons(turn, boundary);
  }
  // The end itself counts as a change, after which progress is brought up to date.
  runtime.revision++;
  if (!endLeftovers(turn, phase) || !refreshProgress(turn)) {
    header.closing ??= { phase, ...defined({ message: text }) };
    markHeader(turn);
    return;
  }
  if (header.closing !== undefined) delete header.closing;
  dropRetrying(turn.state);
  dropOrders(turn.state);
  report(turn, END_REPORTS[phase]);
  header.message = text === "" ? undefined : text;
  header.finishedAt = turn.env.now;
  runtime.revision++;
  header.startedAt ??= turn.env.now;
  // One that never began has had no pods.
  if (header.conditions !== undefined) setCondition(turn, "PodRunning", "False");
  setCondition(turn, "Completed", "True");
  labelPhase(turn, phase, true);
  markIndex(turn);
  runtime.queue.clear();
  runtime.cut = [];
  if (header.lock !== undefined) {
    releaseLocks(turn, workflowHolder(turn));
    delete header.lock;
  }
  if (executedSpec(turn.state).activeDeadlineSeconds !== undefined) {
    emit(turn, { type: "clear-timer", id: DEADLINE_TIMER });
  }
  // The clean-up is not left to another turn.
  turn.budget = undefined;
  cleanUp(turn, phase);
}

/** Sets the labels by which clients select workflows of a phase. */
export function labelPhase(turn: Turn, phase: WorkflowPhase, isCompleted: boolean): void {
  const { metadata } = turn.state.header;
  const names = ownNames(turn.env);
  metadata.labels = {
    ...metadata.labels,
    [names.phase]: phase,
    [names.completed]: isCompleted ? "true" : "false",
  };
}

/** Continues to end a workflow where the last turn stopped. */
export function goOnClosing(turn: Turn): void {
  const { closing } = turn.state.header;
  if (closing !== undefined) complete(turn, closing.phase, closing.message);
}

/** Ends the nodes that are still open when the workflow ends. False when some are left for the next turn. */
function endLeftovers(turn: Turn, phase: EndPhase): boolean {
  const { budget } = turn;
  for (const node of turn.state.nodes.values()) {
    if (hasEnded(node)) continue;
    if (budget?.isOver === true) {
      budget.isCut = true;
      return false;
    }
    if (isNotNeeded(turn, node, phase)) {
      change(turn, node, { type: "Skipped" });
      end(turn, node, "Skipped", "not needed after the resubmit");
    } else {
      const message = leftoverText(turn, node);
      cancelTask(turn, node, message);
      end(turn, node, "Failed", message);
    }
    noteWork(turn);
  }
  return true;
}

function leftoverText({ state }: Turn, node: NodeRecord): string {
  if (node.role === "attempt" && isUntouched(node)) return "not repeated after the resubmit";
  // The pod of a container has ended before it.
  const pod = node.type === "Container" ? ownerOf(state.nodes, node) : undefined;
  return pod?.message ?? "the workflow has ended";
}

/**
 * Tells whether a node was copied from another workflow and counts for nothing in this one: a container of a pod that is not
 * repeated, or what a workflow that has succeeded did not come to. After a failure a retry may still come to it. An attempt
 * that was not repeated has failed: were it skipped, the retry node would take it for a success when it is opened again.
 */
function isNotNeeded({ state }: Turn, node: NodeRecord, phase: EndPhase): boolean {
  const isOwnerSkipped = ownerOf(state.nodes, node)?.phase === "Skipped";
  if (node.type === "Container") return node.isImported === true && isOwnerSkipped;
  if (phase !== "Succeeded" || !isUntouched(node)) return false;
  return node.role !== "attempt" || isOwnerSkipped;
}

function cleanUp(turn: Turn, phase: EndPhase): void {
  const { header, nodes } = turn.state;
  const spec = executedSpec(turn.state);
  const strategy = spec.podGC?.strategy;
  const isWanted = strategy === "OnWorkflowCompletion" ||
    (strategy === "OnWorkflowSuccess" && phase === "Succeeded");
  if (isWanted) {
    const tasks = [...nodes.values()]
      .filter((node) => (node.starts ?? 0) > 0 && isChosenByPodGc(turn, () => taskOf(turn, node)))
      .map((node) => taskId(turn, node));
    emit(turn, {
      type: "clean-tasks",
      id: `clean/${header.startedAt ?? 0}`,
      tasks,
      delayMs: cleanDelayMs(spec.podGC?.deleteDelayDuration),
    });
  }
  const unwanted = artifactsToCollect(turn.state, "OnWorkflowCompletion");
  if (unwanted !== undefined) {
    emit(turn, {
      type: "collect-artifacts",
      id: `collect/${header.startedAt ?? 0}`,
      ...unwanted,
      strategy: "OnWorkflowCompletion",
    });
  }
  const claims = givesUpClaims(turn.state, phase)
    ? removeClaims(turn.state, `claims/${header.startedAt ?? 0}`)
    : undefined;
  if (claims !== undefined) emit(turn, claims);
  const at = deletionTime(turn.state);
  if (at !== undefined) emit(turn, { type: "set-timer", id: TTL_TIMER, at });
}

/** When a finished workflow is to be deleted by its `ttlStrategy`, epoch ms. Undefined: never, or it has not ended. */
export function deletionTime(state: WorkflowState): number | undefined {
  const { phase, finishedAt } = state.header;
  const { ttlStrategy } = executedSpec(state);
  if (ttlStrategy === undefined || finishedAt === undefined || !isCompleted(phase)) {
    return undefined;
  }
  const { secondsAfterSuccess, secondsAfterFailure, secondsAfterCompletion } = ttlStrategy;
  const own = { Succeeded: secondsAfterSuccess, Failed: secondsAfterFailure, Error: undefined };
  const seconds = own[phase] ?? secondsAfterCompletion;
  return seconds === undefined ? undefined : finishedAt + seconds * 1000;
}

/** Sets one of the workflow's conditions. */
export function setCondition(turn: Turn, type: string, status: string, message?: string): void {
  const { header } = turn.state;
  const next = message === undefined ? { type, status } : { type, status, message };
  // A view may still have the list.
  const conditions = header.conditions?.slice() ?? [];
  const at = conditions.findIndex((condition) => condition.type === type);
  if (at < 0) conditions.push(next);
  else conditions[at] = next;
  header.conditions = conditions;
  markHeader(turn);
}

/** Who holds the locks of the workflow as a whole. */
export function workflowHolder(turn: Turn): string {
  return lockHolder(turn.state, turn.state.header.lock?.round ?? 0);
}
