/** The end of a workflow: hooks, exit handler, phase, and what is to be cleaned up. */
import type { WorkflowPhase } from "../spec/manifest.ts";
import { artifactsToCollect } from "./artifact_gc.ts";
import { workflowHookCall } from "./call.ts";
import {
  cancelTask,
  dropRetrying,
  emit,
  end,
  markHeader,
  markIndex,
  refreshProgress,
  releaseLocks,
  stopDaemons,
} from "./change.ts";
import { isTrue } from "./expressions.ts";
import { lockHolder } from "./lock_holder.ts";
import { givesUpClaims, removeClaims } from "./volume_claims.ts";
import { cleanDelayMs, taskOf } from "./leaf.ts";
import { isChosenByPodGc } from "./pod_gc.ts";
import { globalScope } from "./globals.ts";
import { hookNames, workflowHook } from "./hook_definitions.ts";
import { hookName } from "./names.ts";
import { nodeByName } from "./call.ts";
import { startCall } from "./start.ts";
import { isFailure } from "./failure.ts";
import { noteWork } from "./limits.ts";
import { dropOrders } from "./orders.ts";
import {
  executedSpec,
  hasEnded,
  isFailedOrError,
  isFulfilled,
  type NodeRecord,
  rootOf,
  type Turn,
  workflowName,
} from "./state.ts";
import { shutdownMessage } from "./stop_reason.ts";

/** Begins hooks of the workflow whose condition holds; true when all that were begun have ended. */
export function runWorkflowHooks(turn: Turn): boolean {
  let areAllEnded = true;
  for (const name of hookNames(executedSpec(turn.state).hooks)) {
    const hook = workflowHook(turn, name);
    if (hook === undefined) continue;
    let hooked = nodeByName(turn, hookName(workflowName(turn.state), name));
    if (hooked === undefined) {
      if (!holds(turn, hook.expression ?? "")) continue;
      hooked = startCall(turn, workflowHookCall(turn, name, hook), workflowName(turn.state));
    }
    if (hooked === undefined || !isFulfilled(hooked)) areAllEnded = false;
  }
  return areAllEnded;
}

function holds(turn: Turn, expression: string): boolean {
  if (expression === "") return false;
  try {
    return isTrue(expression, globalScope(turn, { hasEnd: true }), turn.env);
  } catch (error) {
    if (isFailure(error)) return false;
    throw error;
  }
}

/** Goes on after the entrypoint has ended: hooks, exit handler, end. */
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
  let phase: WorkflowPhase = root.phase === "Failed" || root.phase === "Error"
    ? root.phase
    : "Succeeded";
  let message = root.message;
  if (phase === "Succeeded") {
    message = root.phase === "Succeeded" || root.phase === "Running" ? root.message : undefined;
    if (exit !== undefined && isFailedOrError(exit)) {
      phase = exit.phase as WorkflowPhase;
      message = exit.message;
    }
  }
  const stopped = isStopped(turn, root, phase) ? shutdownMessage(turn.state) : undefined;
  complete(turn, phase, stopped ?? message);
}

/**
 * Tells whether the final message speaks of the shutdown: it cut off the work itself, or whoever asked for it said
 * something. When it cut off only the exit handler, that speaks for itself.
 */
function isStopped({ state }: Turn, root: NodeRecord, phase: WorkflowPhase): boolean {
  if (phase === "Succeeded") return false;
  return isFailedOrError(root) || state.header.stopMessage !== undefined;
}

/** The exit handler's node when it has ended; undefined when there is none to run. */
function runExitHandler(turn: Turn): NodeRecord | "waiting" | undefined {
  const hook = workflowHook(turn, "exit");
  if (hook === undefined) return undefined;
  const name = hookName(workflowName(turn.state), "exit");
  let node = nodeByName(turn, name);
  if (node === undefined) {
    if (turn.state.specs.spec.shutdown === "Terminate") return undefined;
    if ((hook.expression ?? "") !== "" && !holds(turn, hook.expression ?? "")) return undefined;
    try {
      node = startCall(turn, workflowHookCall(turn, "exit", hook), workflowName(turn.state));
    } catch (error) {
      if (!isFailure(error)) throw error;
      complete(turn, "Error", `error in exit template execution : ${error.message}`);
      return "waiting";
    }
  }
  return node !== undefined && isFulfilled(node) ? node : "waiting";
}

/** Ends the workflow, over several turns when many nodes are open. Nothing is left running, waiting or locked. */
export function complete(turn: Turn, phase: WorkflowPhase, message?: string): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined) return;
  for (const boundary of [...runtime.daemons.keys()]) stopDaemons(turn, boundary);
  // That it ends is something that happens, too.
  runtime.revision++;
  if (!endLeftovers(turn) || !refreshProgress(turn)) {
    header.closing ??= { phase, ...(message === undefined ? {} : { message }) };
    markHeader(turn);
    return;
  }
  delete header.closing;
  dropRetrying(turn.state);
  dropOrders(turn.state);
  header.phase = phase;
  if (message === undefined || message === "") delete header.message;
  else header.message = message;
  header.finishedAt = turn.env.now;
  runtime.revision++;
  header.startedAt ??= turn.env.now;
  setCondition(turn, "PodRunning", "False");
  setCondition(turn, "Completed", "True");
  const { labelPrefix } = turn.env;
  header.metadata.labels = {
    ...header.metadata.labels,
    [`${labelPrefix}phase`]: phase,
    [`${labelPrefix}completed`]: "true",
  };
  markIndex(turn);
  runtime.queue = [];
  runtime.queued.clear();
  runtime.cut = [];
  if (header.lock !== undefined) {
    releaseLocks(turn, workflowHolder(turn));
    delete header.lock;
  }
  if (executedSpec(turn.state).activeDeadlineSeconds !== undefined) {
    emit(turn, { type: "clear-timer", id: "workflow-deadline" });
  }
  // The last steps are one piece.
  delete turn.budget;
  cleanUp(turn, phase);
}

/** Goes on with ending a workflow that the last turn did not come to the end of. */
export function goOnClosing(turn: Turn): void {
  const { closing } = turn.state.header;
  if (closing !== undefined) complete(turn, closing.phase, closing.message);
}

/** Ends the nodes that are cut off by the end of the workflow. False when some are left for the next turn. */
function endLeftovers(turn: Turn): boolean {
  const { budget } = turn;
  for (const node of turn.state.nodes.values()) {
    if (hasEnded(node)) continue;
    if (budget?.isOver === true) {
      budget.isCut = true;
      return false;
    }
    cancelTask(turn, node, "the workflow has ended");
    end(turn, node, "Failed", "the workflow has ended");
    noteWork(turn);
  }
  return true;
}

function cleanUp(turn: Turn, phase: WorkflowPhase): void {
  const { header, nodes } = turn.state;
  const spec = executedSpec(turn.state);
  const strategy = spec.podGC?.strategy;
  const isWanted = strategy === "OnWorkflowCompletion" ||
    (strategy === "OnWorkflowSuccess" && phase === "Succeeded");
  if (isWanted) {
    const uid = header.metadata.uid ?? "";
    const tasks = [...nodes.values()]
      .filter((node) => (node.starts ?? 0) > 0 && isChosenByPodGc(turn, () => taskOf(turn, node)))
      .map((node) => `${uid}/${node.id}/${node.starts ?? 0}`);
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
  const seconds = ttlSeconds(turn, phase);
  if (seconds !== undefined) {
    emit(turn, { type: "set-timer", id: "ttl", at: (header.finishedAt ?? 0) + seconds * 1000 });
  }
}

/** Seconds after which a finished workflow deletes itself. */
export function ttlSeconds(turn: Turn, phase: WorkflowPhase): number | undefined {
  const { ttlStrategy } = executedSpec(turn.state);
  if (phase === "Succeeded" && ttlStrategy?.secondsAfterSuccess !== undefined) {
    return ttlStrategy.secondsAfterSuccess;
  }
  if (phase === "Failed" && ttlStrategy?.secondsAfterFailure !== undefined) {
    return ttlStrategy.secondsAfterFailure;
  }
  return ttlStrategy?.secondsAfterCompletion;
}

/** Sets one of the workflow's conditions. */
export function setCondition(turn: Turn, type: string, status: string, message?: string): void {
  const { header } = turn.state;
  const conditions = header.conditions ?? [];
  const next = { type, status, ...(message === undefined ? {} : { message }) };
  const at = conditions.findIndex((condition) => condition.type === type);
  header.conditions = at < 0 ? [...conditions, next] : conditions.with(at, next);
  turn.state.pending.header = true;
}

/** Holder of the locks of the workflow as a whole. */
export function workflowHolder(turn: Turn): string {
  return lockHolder(turn.state, turn.state.header.lock?.round ?? 0);
}
