/**
 * Goes on with a workflow until nothing more can be done now. Only nodes about which something has changed are looked
 * at, and those that wait for them.
 */
import type { WorkflowTemplate } from "../spec/manifest.ts";
import { mergeSpecs } from "../spec/resolve.ts";
import { configMapValue } from "./bind.ts";
import { rootCall } from "./call.ts";
import { emit, markHeader, markIndex, refreshProgress } from "./change.ts";
import { evaluateDag, evaluateTaskGroup } from "./dag.ts";
import { beginEvaluation, labelText } from "./expressions.ts";
import { failNode } from "./fail_node.ts";
import { findStored, isFailure, ManifestNeeded, NodeFailure } from "./failure.ts";
import {
  complete,
  finishWorkflow,
  goOnClosing,
  runWorkflowHooks,
  setCondition,
  workflowHolder,
} from "./finish.ts";
import { wakeGated } from "./gate.ts";
import {
  checkBytes,
  checkTurn,
  LimitExceeded,
  newBudget,
  noteWork,
  type TurnBudget,
  TurnOver,
} from "./limits.ts";
import { createdAt, globalScope } from "./globals.ts";
import { lockKeys } from "./lock_keys.ts";
import { goOnRetrying } from "./manual_retry.ts";
import { goOnWithOrders } from "./orders.ts";
import { lookAtMember } from "./member.ts";
import { observeMetrics } from "./metrics.ts";
import { evaluateRetry } from "./retry.ts";
import { wake } from "./runtime.ts";
import { endActive } from "./shutdown.ts";
import { beginIfUntouched, beginLocked, startCall } from "./start.ts";
import {
  executedSpec,
  hasEnded,
  isFulfilled,
  type NodeRecord,
  rootOf,
  type Turn,
  workflowName,
  workflowNamespace,
  type WorkflowState,
} from "./state.ts";
import { evaluateGroup, evaluateSteps } from "./steps.ts";
import { shutdownMessage, workflowDeadline } from "./stop_reason.ts";
import { checkSuspend } from "./suspend.ts";
import type { EngineEnv } from "./engine.ts";
import { findInvalidSpec } from "./spec_check.ts";

/** How pods are named: workflow, template and a hash of the node's name. */
const POD_NAME_FORMAT = "v2";

/**
 * Does all that can be done at `env.now`. Called again with nothing new, it changes nothing. When a stored manifest is
 * missing it is listed in the changes, and the work that needs it is done by the next call.
 */
export function advance(state: WorkflowState, env: EngineEnv): void {
  const budget = newBudget();
  const turn: Turn = { state, env, visit: (node) => visit(turn, node), budget };
  const { startedAt, finishedAt } = state.header;
  if (finishedAt === undefined) {
    env.meter = budget;
    try {
      goOn(turn);
    } finally {
      env.meter = undefined;
    }
    state.runtime.filledCharacters += budget.characters;
    noteCut(turn, budget);
  }
  observeMetrics({ state, env }, {
    hasBegun: startedAt !== undefined,
    hasEnded: finishedAt !== undefined,
  });
}

/** Id of the timer that asks for the next turn. */
const GO_ON = "go-on";

/** Leaves word of what is to be done in the next turn. */
function noteCut(turn: Turn, { isCut }: TurnBudget): void {
  const { header, runtime } = turn.state;
  const isLeft = header.finishedAt === undefined && (isCut || runtime.cut.length > 0);
  if (isLeft && isCut) emit(turn, { type: "set-timer", id: GO_ON, at: turn.env.now });
  if (isLeft === (header.isCut === true)) return;
  if (isLeft) header.isCut = true;
  else delete header.isCut;
  if (!isCut) emit(turn, { type: "clear-timer", id: GO_ON });
  markHeader(turn);
}

/** Characters of filled templates that are kept, so that they need not be filled again. */
const MOST_FILLED = 32_000_000;

function forgetFilled({ state: { runtime } }: Turn): void {
  if (runtime.filledCharacters <= MOST_FILLED) return;
  runtime.filledCharacters = 0;
  for (const unit of runtime.units.values()) delete unit.frame;
}

function goOn(turn: Turn): void {
  beginEvaluation(turn.env);
  try {
    if (turn.state.header.closing !== undefined) return goOnClosing(turn);
    if (!goOnRetrying(turn) || !goOnWithOrders(turn)) return;
    checkBytes(turn);
    forgetFilled(turn);
    if (!prepare(turn) || !holdsLocks(turn)) return;
    begin(turn);
    settle(turn);
    refreshProgress(turn);
  } catch (error) {
    if (error instanceof ManifestNeeded) need(turn, error);
    else if (error instanceof Error) endWithError(turn, error);
    else throw error;
  }
}

/** Nothing a manifest or an imported tree may hold stops the host: what can't be decided ends the workflow, and says so. */
function endWithError(turn: Turn, error: Error): void {
  const { message } = error;
  const isKnown = error instanceof LimitExceeded || isFailure(error);
  complete(turn, "Error", isKnown ? message : `internal error: ${message}`);
}

function need(turn: Turn, { ref }: ManifestNeeded): void {
  turn.state.pending.needs.set(`${ref.kind}/${ref.namespace}/${ref.name}`, ref);
}

/** Everything that is done once, before the first node. False when the workflow ended over it. */
function prepare(turn: Turn): boolean {
  const { state } = turn;
  const { header, specs } = state;
  if (header.isPrepared === true) return true;
  const ref = specs.spec.workflowTemplateRef;
  if (ref !== undefined && specs.storedWorkflowTemplateSpec === undefined) {
    const isCluster = ref.clusterScope === true;
    const kind = isCluster ? "ClusterWorkflowTemplate" : "WorkflowTemplate";
    const namespace = isCluster ? "" : workflowNamespace(state);
    const manifest = findStored<WorkflowTemplate>(turn, kind, namespace, ref.name ?? "");
    if (manifest === undefined) {
      const resource = `${kind.toLowerCase()}.${turn.env.apiGroup}`;
      complete(turn, "Error", `${resource} "${ref.name ?? ""}" not found`);
      return false;
    }
    const invalid = findInvalidSpec(turn);
    if (invalid !== undefined) {
      complete(turn, "Failed", `invalid spec: ${invalid}`);
      return false;
    }
    const merged = mergeSpecs(specs.spec, manifest.spec);
    specs.storedWorkflowTemplateSpec = merged;
    state.pending.specs = true;
  } else if (!state.runtime.isChecked) {
    const invalid = findInvalidSpec(turn);
    if (invalid !== undefined) {
      complete(turn, "Failed", `invalid spec: ${invalid}`);
      return false;
    }
  }
  try {
    readParameterValues(turn);
  } catch (error) {
    if (!(error instanceof NodeFailure)) throw error;
    complete(turn, "Failed", `failed to set global parameters: ${error.message}`);
    return false;
  }
  applyMetadata(turn);
  header.isPrepared = true;
  markHeader(turn);
  return true;
}

/** Values of arguments that live in ConfigMaps. */
function readParameterValues(turn: Turn): void {
  const values: Record<string, string> = {};
  for (const { name, value, valueFrom } of executedSpec(turn.state).arguments?.parameters ?? []) {
    if (value !== undefined || valueFrom?.configMapKeyRef === undefined) continue;
    const ref = valueFrom.configMapKeyRef;
    let found: string | undefined;
    try {
      found = configMapValue(turn, ref, valueFrom.default);
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      throw new NodeFailure(
        `failed to set global parameter ${name} from configmap with name ${
          ref.name ?? ""
        } and key ${ref.key}: ${error.message}`,
      );
    }
    if (found !== undefined) values[name] = found;
  }
  if (Object.keys(values).length === 0) return;
  turn.state.specs.parameterValues = values;
  turn.state.pending.specs = true;
}

/** Labels and annotations that the spec asks for. */
function applyMetadata(turn: Turn): void {
  const { metadata } = turn.state.header;
  const wanted = executedSpec(turn.state).workflowMetadata;
  if (wanted === undefined) return;
  const labels: Record<string, string> = { ...wanted.labels };
  for (const [key, { expression }] of Object.entries(wanted.labelsFrom ?? {})) {
    labels[key] = labelText(key, expression, globalScope(turn), turn.env);
  }
  metadata.labels = { ...metadata.labels, ...labels };
  if (wanted.annotations !== undefined) {
    metadata.annotations = { ...metadata.annotations, ...wanted.annotations };
  }
  markIndex(turn);
}

/** Asks for the locks of the workflow as a whole; true when it has them or needs none. */
function holdsLocks(turn: Turn): boolean {
  const { state, env } = turn;
  const { header } = state;
  const { synchronization, priority } = executedSpec(state);
  if (synchronization === undefined || header.lock?.isHeld === true) return true;
  const stopped = shutdownMessage(state);
  if (stopped !== undefined) {
    complete(turn, "Failed", stopped);
    return false;
  }
  if (header.lock === undefined) {
    try {
      const keys = lockKeys(turn, synchronization);
      if (keys.length === 0) return true;
      header.lock = { isHeld: false, keys, round: header.sequence++ };
      header.phase = "Pending";
      markIndex(turn);
      const holder = workflowHolder(turn);
      emit(turn, {
        type: "acquire-locks",
        id: `acquire/${holder}`,
        holder,
        keys,
        priority: priority ?? 0,
        createdAt: createdAt({ state, env }),
      });
    } catch (error) {
      if (!(error instanceof NodeFailure)) throw error;
      complete(turn, "Failed", `Failed to acquire the synchronization lock. ${error.message}`);
    }
  }
  return false;
}

/** First look, and the look after a manual retry: running from now on. */
function begin(turn: Turn): void {
  const { header } = turn.state;
  if (header.phase === "Running") return;
  header.phase = "Running";
  delete header.message;
  header.startedAt ??= turn.env.now;
  header.hasMoved = true;
  const { labelPrefix } = turn.env;
  header.metadata.labels = {
    ...header.metadata.labels,
    [`${labelPrefix}phase`]: "Running",
    [`${labelPrefix}completed`]: "false",
  };
  // Clients derive the names of pods from it.
  header.metadata.annotations = {
    ...header.metadata.annotations,
    [`${labelPrefix}pod-name-format`]: POD_NAME_FORMAT,
  };
  setCondition(turn, "PodRunning", "False");
  markIndex(turn);
  const deadline = workflowDeadline(turn);
  if (deadline !== undefined) {
    emit(turn, { type: "set-timer", id: "workflow-deadline", at: deadline });
  }
}

/** Looks at nodes until nobody has anything to do, or the turn is over. */
function settle(turn: Turn): void {
  try {
    lookAround(turn);
  } catch (error) {
    if (!(error instanceof TurnOver)) throw error;
    if (turn.budget !== undefined) turn.budget.isCut = true;
  }
  updateRunning(turn);
}

function lookAround(turn: Turn): void {
  const { state } = turn;
  const { runtime } = state;
  const { tried } = runtime;
  if (state.header.isCut !== true) runtime.triedAt = -1;
  while (state.header.finishedAt === undefined) {
    endActive(turn);
    checkTurn(turn);
    if (state.specs.spec.suspend === true) break;
    if (rootOf(state) === undefined) {
      if (startCall(turn, rootCall(turn), workflowName(state)) === undefined) break;
    }
    beginIfUntouched(turn, rootOf(state));
    drain(turn);
    // What is left in the queue waits for a manifest.
    if (state.pending.needs.size > 0) break;
    checkTurn(turn);
    if (endActive(turn)) continue;
    const root = rootOf(state);
    if (root === undefined) break;
    if (isFulfilled(root)) {
      finishWorkflow(turn);
      if (state.header.closing !== undefined || runtime.queue.length > 0) continue;
    } else {
      runWorkflowHooks(turn);
      if (runtime.queue.length > 0) continue;
    }
    // Somebody who was woken for a free place may still not begin: everybody gets one chance after each change.
    if (runtime.revision !== runtime.triedAt) tried.clear();
    runtime.triedAt = runtime.revision;
    if (!wakeGated(turn, tried)) break;
  }
}

function updateRunning(turn: Turn): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined) return;
  const status = runtime.activePods > 0 ? "True" : "False";
  const known = header.conditions?.find(({ type }) => type === "PodRunning")?.status;
  if (known !== status) setCondition(turn, "PodRunning", status);
}

/** Looks at all nodes that were woken, as far as the turn goes. */
function drain(turn: Turn): void {
  const { runtime, nodes } = turn.state;
  if (!goOnWithCut(turn)) return;
  const left: string[] = [];
  let at = 0;
  try {
    while (at < runtime.queue.length) {
      const id = runtime.queue[at++];
      if (id === undefined) continue;
      runtime.queued.delete(id);
      const node = nodes.get(id);
      if (node === undefined) continue;
      if (lookSafely(turn, node)) left.push(id);
      if (isOver(turn)) break;
    }
  } finally {
    runtime.queue.splice(0, at);
    for (const id of left) wake(runtime, id);
  }
}

/**
 * Goes on with the nodes that the last turn left in the middle of their work, as if it had not been cut. False when this
 * turn is over, too.
 */
function goOnWithCut(turn: Turn): boolean {
  const { runtime, nodes } = turn.state;
  const cut = runtime.cut;
  runtime.cut = [];
  for (const [at, id] of cut.entries()) {
    const node = nodes.get(id);
    if (node === undefined) continue;
    if (lookSafely(turn, node)) wake(runtime, id);
    if (!isOver(turn)) continue;
    runtime.cut.push(...cut.slice(at + 1));
    return false;
  }
  return true;
}

function isOver(turn: Turn): boolean {
  noteWork(turn);
  return turn.budget?.isOver === true;
}

/** Looks at a node now; when a manifest is missing, it is looked at again with the others. */
function visit(turn: Turn, node: NodeRecord): void {
  if (lookSafely(turn, node)) wake(turn.state.runtime, node.id);
}

/** Looks at a node. True when it is to be looked at again. */
function lookSafely(turn: Turn, node: NodeRecord): boolean {
  try {
    look(turn, node);
    return false;
  } catch (error) {
    return takeUp(turn, node, error);
  }
}

/** What went wrong while a node was looked at. True when it is to be looked at again. */
function takeUp(turn: Turn, node: NodeRecord, error: unknown): boolean {
  if (error instanceof TurnOver) {
    turn.state.runtime.cut.push(node.id);
    return false;
  }
  if (error instanceof ManifestNeeded) {
    need(turn, error);
    return true;
  }
  if (!isFailure(error) || hasEnded(node)) throw error;
  failNode(turn, node, error.message);
  return false;
}

/** Looks at one node: what it is to do next, and whether it is done for those who wait for it. */
function look(turn: Turn, node: NodeRecord): void {
  beginEvaluation(turn.env);
  if (node.lock !== undefined) beginLocked(turn, node);
  switch (node.type) {
    case "Steps":
      evaluateSteps(turn, node);
      break;
    case "StepGroup":
      evaluateGroup(turn, node);
      break;
    case "DAG":
      evaluateDag(turn, node);
      break;
    case "TaskGroup":
      evaluateTaskGroup(turn, node);
      break;
    case "Retry":
      evaluateRetry(turn, node);
      break;
    case "Pod":
    case "HTTP":
    case "Plugin":
    case "Container":
    case "Skipped":
      break;
    case "Suspend":
      checkSuspend(turn, node);
      break;
  }
  const owner = node.owner === undefined ? undefined : turn.state.nodes.get(node.owner);
  const isAwaited = owner !== undefined && !hasEnded(owner);
  if (isAwaited && (node.role === "member" || node.role === "loop")) lookAtMember(turn, node);
}
