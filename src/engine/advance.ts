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
import { labelText } from "./expressions.ts";
import { failNode } from "./fail_node.ts";
import { findStored, isFailure, ManifestNeeded, NodeFailure } from "./failure.ts";
import {
  complete,
  finishWorkflow,
  runWorkflowHooks,
  setCondition,
  workflowHolder,
} from "./finish.ts";
import { wakeGated } from "./gate.ts";
import { createdAt, globalScope } from "./globals.ts";
import { lockKeys } from "./lock_keys.ts";
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
import { workflowDeadline } from "./stop_reason.ts";
import { checkSuspend } from "./suspend.ts";
import type { EngineEnv } from "./engine.ts";
import { findInvalidSpec } from "./spec_check.ts";

/**
 * Does all that can be done at `env.now`. Called again with nothing new, it changes nothing. When a stored manifest is
 * missing it is listed in the changes, and the work that needs it is done by the next call.
 */
export function advance(state: WorkflowState, env: EngineEnv): void {
  const turn: Turn = { state, env, visit: (node) => visit(turn, node) };
  const { startedAt, finishedAt } = state.header;
  if (finishedAt === undefined) goOn(turn);
  observeMetrics(turn, {
    hasBegun: startedAt !== undefined,
    hasEnded: finishedAt !== undefined,
  });
}

function goOn(turn: Turn): void {
  try {
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
  complete(turn, "Error", isFailure(error) ? message : `internal error: ${message}`);
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
      complete(turn, "Error", `${kind.toLowerCase()}.argoproj.io "${ref.name ?? ""}" not found`);
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
  if (state.specs.spec.shutdown !== undefined && state.specs.spec.shutdown !== "") {
    complete(turn, "Failed", `Stopped with strategy '${state.specs.spec.shutdown}'`);
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
  setCondition(turn, "PodRunning", "False");
  markIndex(turn);
  const deadline = workflowDeadline(turn);
  if (deadline !== undefined) {
    emit(turn, { type: "set-timer", id: "workflow-deadline", at: deadline });
  }
}

/** Looks at nodes until nobody has anything to do. */
function settle(turn: Turn): void {
  const { state } = turn;
  let revision = -1;
  const tried = new Set<string>();
  while (state.header.finishedAt === undefined) {
    endActive(turn);
    if (state.specs.spec.suspend === true) break;
    if (rootOf(state) === undefined) {
      if (startCall(turn, rootCall(turn), workflowName(state)) === undefined) break;
    }
    beginIfUntouched(turn, rootOf(state));
    drain(turn);
    // What is left in the queue waits for a manifest.
    if (state.pending.needs.size > 0) break;
    if (endActive(turn)) continue;
    const root = rootOf(state);
    if (root === undefined) break;
    if (isFulfilled(root)) {
      finishWorkflow(turn);
      if (state.runtime.queue.length > 0) continue;
    } else {
      runWorkflowHooks(turn);
      if (state.runtime.queue.length > 0) continue;
    }
    // Somebody who was woken for a free place may still not begin: everybody gets one chance after each change.
    if (state.runtime.revision !== revision) tried.clear();
    revision = state.runtime.revision;
    if (!wakeGated(turn, tried)) break;
  }
  updateRunning(turn);
}

function updateRunning(turn: Turn): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined) return;
  const status = runtime.activePods > 0 ? "True" : "False";
  const known = header.conditions?.find(({ type }) => type === "PodRunning")?.status;
  if (known !== status) setCondition(turn, "PodRunning", status);
}

function drain(turn: Turn): void {
  const { runtime, nodes } = turn.state;
  const left: string[] = [];
  let at = 0;
  try {
    while (at < runtime.queue.length) {
      const id = runtime.queue[at++];
      if (id === undefined) continue;
      runtime.queued.delete(id);
      const node = nodes.get(id);
      if (node === undefined) continue;
      try {
        look(turn, node);
      } catch (error) {
        if (takeUp(turn, node, error)) left.push(id);
      }
    }
  } finally {
    runtime.queue.splice(0, at);
    for (const id of left) wake(runtime, id);
  }
}

/** Looks at a node now; when a manifest is missing, it is looked at again with the others. */
function visit(turn: Turn, node: NodeRecord): void {
  try {
    look(turn, node);
  } catch (error) {
    if (takeUp(turn, node, error)) wake(turn.state.runtime, node.id);
  }
}

/** What went wrong while a node was looked at. True when it is to be looked at again. */
function takeUp(turn: Turn, node: NodeRecord, error: unknown): boolean {
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
