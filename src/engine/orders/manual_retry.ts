/**
 * The retry of a workflow that has ended. Failed nodes are removed, the groups around them are opened again, and everything
 * else stays as it is. Ids do not change. A failed suspend node waits again; the steps before it do not run again.
 */
import { runToEnd, sortSteps, STEP_SIZE, type Steps } from "../../base/steps.ts";
import type { Parameter } from "../../spec/manifest.ts";
import { archivingStatusLabel, completedLabel } from "../../spec/naming.ts";
import { cancelTask, dropNode, dropRetrying, emit, markIndex, rewrite } from "../change.ts";
import type { ControlRequest } from "../command.ts";
import { setCondition } from "../finish.ts";
import { ownOutbound, parentsOf } from "../nodes/graph.ts";
import { mayChangeAtOnce, mayChangeMore, noteReplaced } from "../turn_budget.ts";
import { parseParameters, withParameters } from "./parameters.ts";
import { planRetry } from "./retry_plan.ts";
import type { Retrying, RetryPlan, RetryStep } from "../ongoing.ts";
import { LIVE } from "../live.ts";
import { buildRuntime } from "../runtime.ts";
import { rootOf, type WorkflowState } from "../state.ts";
import { PastStarts } from "../past.ts";
import { byOrder, isUntouched, type NodeRecord, type StoredSpecs } from "../records.ts";
import { timerId, TTL_TIMER } from "../timers.ts";
import type { Turn } from "../turn.ts";

type RetryRequest = Extract<ControlRequest, { type: "retry" }>;

/** A retry that may be carried out. */
export interface PreparedRetry {
  plan: RetryPlan;
  parameters: readonly Parameter[];
  /** What is to be done for the plan; the first thing comes last. */
  work: RetryStep[];
  /** How often nodes that are removed were started. Absent: none was. */
  pastStarts?: StoredSpecs["pastStarts"];
}

/**
 * Finds out, step by step, what a retry does. Changes nothing. `stateAfter` says whether the workflow takes one now.
 * @throws {Problem} when the request is malformed
 */
export function* prepareRetry(state: WorkflowState, request: RetryRequest): Steps<PreparedRetry> {
  const parameters = parseParameters(request.parameters ?? []);
  const plan = yield* planRetry(state, request);
  const pastStarts = yield* pastStartsOf(state, plan);
  const work = yield* workSteps(state, plan, () => false);
  return { plan, parameters, work, ...(pastStarts === undefined ? {} : { pastStarts }) };
}

/**
 * Makes a finished workflow ready to continue. Changes to many nodes are left to `goOnRetrying`; no node begins before they
 * are done.
 */
export function retryWorkflow(
  turn: Turn,
  { plan, parameters, work, pastStarts }: PreparedRetry,
): void {
  const { state } = turn;
  if (pastStarts !== undefined) state.specs.pastStarts = pastStarts;
  resetWorkflow(turn, parameters);
  state.retrying = { plan, work };
  state.pending.retrying = true;
  if (!mayChangeAtOnce(work.length, 0)) return;
  const size = work.reduce((sum, [, id]) => sum + (state.nodes.get(id)?.[LIVE].size ?? 0), 0);
  if (!mayChangeAtOnce(work.length, size)) return;
  goOnRetrying({ state, env: turn.env });
  // It was never stored.
  state.pending.retrying = false;
}

/** How often nodes were started that this retry or an earlier one has removed; undefined if this one adds none. */
function* pastStartsOf(
  { nodes, specs }: WorkflowState,
  { remove }: RetryPlan,
): Steps<StoredSpecs["pastStarts"]> {
  const past = new PastStarts(specs.pastStarts);
  let isChanged = false;
  let count = 0;
  for (const id of remove) {
    if (++count % STEP_SIZE === 0) yield;
    const starts = nodes.get(id)?.starts;
    if (starts === undefined) continue;
    past.note(id, starts);
    isChanged = true;
  }
  return isChanged ? past.stored() : undefined;
}

/**
 * Continues a retry for as long as the turn lasts. True when it is done. If the process dies, repeating it from any point
 * gives the same result: first the remaining nodes note their parents, then groups are opened from the outside to the
 * inside, and only then nodes are removed, the youngest first.
 */
export function goOnRetrying(turn: Turn): boolean {
  const { state } = turn;
  const { retrying } = state;
  if (retrying === undefined) return true;
  const work = workOf(state, retrying);
  for (let changed = 0; work.length > 0; changed++) {
    if (!mayChangeMore(turn, changed)) return false;
    const [action, id] = work.pop() as RetryStep;
    const node = state.nodes.get(id);
    if (node !== undefined) ACTIONS[action](turn, node, retrying.plan);
    noteReplaced(turn, node?.[LIVE].size ?? 0);
  }
  dropRetrying(state);
  state.runtime = buildRuntime(state.nodes);
  return true;
}

/** What is left to do; the next thing comes last. */
function workOf(state: WorkflowState, retrying: Retrying): RetryStep[] {
  return retrying.work ??= runToEnd(
    workSteps(state, retrying.plan, (node) => isOpen(state, node)),
  );
}

/** What a plan asks for, the first thing last. @param isDone whether an earlier turn has opened a group */
function* workSteps(
  state: WorkflowState,
  { remove, reset }: RetryPlan,
  isDone: (node: NodeRecord) => boolean,
): Steps<RetryStep[]> {
  const nodes = yield* sortSteps(state.nodes.values(), byOrder);
  const gone: RetryStep[] = [];
  const opened: RetryStep[] = [];
  const kept: RetryStep[] = [];
  let count = 0;
  for (const node of nodes) {
    if (++count % STEP_SIZE === 0) yield;
    const { id } = node;
    if (remove.has(id)) gone.push(["remove", id]);
    else {
      if (node.after !== undefined) kept.push(["keep-parents", id]);
      if (reset.has(id) && !isDone(node)) opened.push(["open", id]);
    }
  }
  return [...gone, ...opened.reverse(), ...kept];
}

/**
 * Notes the parents of a node that stays, since the nodes between may be removed. A daemon that is removed begins again under its
 * id, but it may need fewer attempts.
 */
function keepParents(turn: Turn, node: NodeRecord, { limit, remove }: RetryPlan): void {
  const { state } = turn;
  const parents = new Set(
    parentsOf(state, node, limit).map((id) => {
      const parent = remove.has(id) ? state.nodes.get(id) : undefined;
      return parent?.role === "attempt" ? parent.owner ?? id : id;
    }),
  );
  rewrite(turn, node, { parents: [...parents], after: undefined });
}

/** Tells whether an earlier turn has opened it. */
function isOpen({ header }: WorkflowState, node: NodeRecord): boolean {
  const { phase, startedAt, finishedAt } = node;
  return (phase === "Running" || isUntouched(node)) && startedAt === header.startedAt &&
    finishedAt === undefined;
}

function openGroup(turn: Turn, node: NodeRecord, { remove, late }: RetryPlan): void {
  if (node.phase === "Skipped") return;
  const isOuter = node.type === "Steps" || node.type === "DAG";
  const isLate = late?.has(node.id) === true;
  const { state } = turn;
  rewrite(turn, node, {
    phase: isLate ? "Pending" : "Running",
    outbound: isOuter ? ownOutbound(state, node).filter((id) => !remove.has(id)) : node.outbound,
    targets: undefined,
    message: undefined,
    startedAt: state.header.startedAt ?? node.startedAt,
    finishedAt: undefined,
    isErrored: undefined,
    ...(isLate ? { isOpenedLate: true } : {}),
  });
}

function removeNode(turn: Turn, node: NodeRecord): void {
  if (node.starts !== undefined) cancelTask(turn, node, "the node is attempted again");
  if (node.lock !== undefined || node.dueAt !== undefined) {
    emit(turn, { type: "clear-timer", id: timerId(node) });
  }
  dropNode(turn, node);
}

const ACTIONS: Readonly<
  Record<RetryStep[0], (turn: Turn, node: NodeRecord, plan: RetryPlan) => void>
> = { remove: removeNode, open: openGroup, "keep-parents": keepParents };

/** An entrypoint that had begun stays as it ended, if none of its nodes runs again. But now hooks and the exit handler run. */
function forgetFault(turn: Turn): void {
  const root = rootOf(turn.state);
  if (root?.isErrored === true && root.type !== "Skipped") {
    rewrite(turn, root, { isErrored: undefined });
  }
}

function resetWorkflow(turn: Turn, parameters: readonly Parameter[]): void {
  const { header, specs, pending } = turn.state;
  const labels = { ...header.metadata.labels };
  delete labels[completedLabel(turn.env)];
  delete labels[archivingStatusLabel(turn.env)];
  header.metadata = { ...header.metadata, labels };
  header.message = undefined;
  delete header.stopMessage;
  header.finishedAt = undefined;
  header.startedAt = turn.env.now;
  header.retries = (header.retries ?? 0) + 1;
  if (header.imported !== undefined) {
    // Claims are created, or found, again when the first pod needs them.
    const { persistentVolumeClaims: _claims, ...imported } = header.imported;
    header.imported = imported;
  }
  setCondition(turn, "Completed", "False");
  forgetFault(turn);
  const { shutdown: _shutdown, ...spec } = specs.spec;
  if (spec.activeDeadlineSeconds === 0) delete spec.activeDeadlineSeconds;
  specs.spec = withParameters(spec, parameters);
  const stored = specs.storedWorkflowTemplateSpec;
  if (stored !== undefined) {
    const { shutdown: _stored, ...rest } = stored;
    specs.storedWorkflowTemplateSpec = withParameters(rest, parameters);
  }
  pending.specs = true;
  emit(turn, { type: "clear-timer", id: TTL_TIMER });
  markIndex(turn);
}
