/**
 * Retry of a workflow that has ended: failed nodes are removed, the groups around them are opened again, everything else
 * stays as it is. Ids do not change. A failed suspend node is attempted again, the steps before it are not.
 */
import { invalid, Problem, ProblemCode } from "../base/problem.ts";
import { STEP_SIZE, type Steps } from "../base/steps.ts";
import type { Parameter } from "../spec/manifest.ts";
import { cancelTask, dropNode, dropRetrying, emit, markIndex, timerId } from "./change.ts";
import type { ControlRequest } from "./command.ts";
import { setCondition } from "./finish.ts";
import { ownOutbound, parentsOf } from "./graph.ts";
import { noteReplaced } from "./limits.ts";
import { planRetry, type RetryPlan } from "./retry_plan.ts";
import { buildRuntime } from "./runtime.ts";
import type { Deed, NodeRecord, Retrying, Turn, WorkflowState } from "./state.ts";

type RetryRequest = Extract<ControlRequest, { type: "retry" }>;

/** A retry that may be carried out. */
export interface PreparedRetry {
  plan: RetryPlan;
  parameters: readonly Parameter[];
}

/**
 * Finds out what a retry does, step by step; changes nothing.
 * @throws {Problem} when the workflow's phase does not allow it, or the request is malformed
 */
export function* prepareRetry(state: WorkflowState, request: RetryRequest): Steps<PreparedRetry> {
  checkPhase(state, request);
  const plan = yield* planRetry(state, request);
  return { plan, parameters: parseParameters(request.parameters ?? []) };
}

/** A retry that changes so many nodes is carried out at once, else in turns. */
const MAX_AT_ONCE = STEP_SIZE;

/**
 * Makes a finished workflow ready to go on. What is to be done to many nodes is left to `goOnRetrying`; until then the
 * workflow has begun anew and no node begins.
 */
export function retryWorkflow(turn: Turn, { plan, parameters }: PreparedRetry): void {
  const { state } = turn;
  notePastStarts(state, plan);
  resetWorkflow(turn, parameters);
  const retrying = { plan };
  state.retrying = retrying;
  state.pending.retrying = true;
  if (workOf(state, retrying).length > MAX_AT_ONCE) return;
  goOnRetrying({ state, env: turn.env });
  // Nobody has heard of it.
  state.pending.retrying = false;
}

function checkPhase({ header }: WorkflowState, request: RetryRequest): void {
  if (header.phase === "Failed" || header.phase === "Error") return;
  if (header.phase !== "Succeeded") {
    throw new Problem(
      ProblemCode.InvalidArgument,
      `Cannot retry a workflow in phase ${header.phase}`,
    );
  }
  if (request.restartSuccessful !== true || (request.nodeFieldSelector ?? "") === "") {
    throw invalid(
      "To retry a succeeded workflow, set the options restartSuccessful and nodeFieldSelector",
    );
  }
}

/** Tasks of removed nodes keep their numbers. */
function notePastStarts({ nodes, specs }: WorkflowState, { remove }: RetryPlan): void {
  const pastStarts: Record<string, number> = { ...specs.pastStarts };
  let isChanged = false;
  for (const id of remove) {
    const starts = nodes.get(id)?.starts;
    if (starts === undefined) continue;
    pastStarts[id] = starts;
    isChanged = true;
  }
  if (isChanged) specs.pastStarts = pastStarts;
}

/** Nodes that a turn changes at most: each is also a record, and maybe an effect, of its commit. */
const MAX_IN_TURN = 1_000;

/**
 * Goes on with a retry as far as the turn goes; true when there is nothing left of it. Done again from any place after the
 * process died it comes to the same: first survivors note their parents, then groups are opened from the outside to the
 * inside, and only then nodes go, the youngest first.
 */
export function goOnRetrying(turn: Turn): boolean {
  const { state, budget } = turn;
  const { retrying } = state;
  if (retrying === undefined) return true;
  const work = workOf(state, retrying);
  for (let changed = 0; work.length > 0; changed++) {
    if (budget !== undefined && (budget.isOver || changed >= MAX_IN_TURN)) {
      budget.isOver = budget.isCut = true;
      return false;
    }
    const [deed, id] = work.pop() as Deed;
    const node = state.nodes.get(id);
    if (node !== undefined) deed(turn, node, retrying.plan);
    noteReplaced(turn, state.sizes.nodes.get(id) ?? 0);
  }
  dropRetrying(state);
  state.runtime = buildRuntime(state.nodes.values());
  return true;
}

/** What is left to do, last things first. */
function workOf(state: WorkflowState, retrying: Retrying): Deed[] {
  if (retrying.work !== undefined) return retrying.work;
  const { remove, reset } = retrying.plan;
  const nodes = [...state.nodes.values()].sort((a, b) => a.order - b.order);
  const gone: Deed[] = [];
  const opened: Deed[] = [];
  const kept: Deed[] = [];
  for (const node of nodes) {
    const { id } = node;
    if (remove.has(id)) gone.push([removeNode, id]);
    else {
      if (node.after !== undefined) kept.push([keepParents, id]);
      if (reset.has(id) && !isOpen(state, node)) opened.push([openGroup, id]);
    }
  }
  retrying.work = [...gone, ...opened.reverse(), ...kept];
  return retrying.work;
}

/** Survivors keep the parents they had, since what stood between may be gone. */
function keepParents({ state }: Turn, node: NodeRecord, { remove, limit }: RetryPlan): void {
  const parents = parentsOf(state, node, limit).filter((parent) => !remove.has(parent));
  const { after: _after, ...rest } = node;
  state.nodes.set(node.id, { ...rest, parents });
  state.pending.nodes.add(node.id);
}

/** An earlier turn has opened it. */
function isOpen({ header }: WorkflowState, { phase, startedAt, finishedAt }: NodeRecord): boolean {
  return phase === "Running" && startedAt === header.startedAt && finishedAt === undefined;
}

function openGroup({ state }: Turn, node: NodeRecord, { remove }: RetryPlan): void {
  if (node.phase === "Skipped") return;
  const isOuter = node.type === "Steps" || node.type === "DAG";
  const outbound = isOuter ? ownOutbound(state, node).filter((id) => !remove.has(id)) : undefined;
  const {
    message: _message,
    finishedAt: _finishedAt,
    isErrored: _isErrored,
    targets: _targets,
    ...rest
  } = node;
  state.nodes.set(node.id, {
    ...rest,
    phase: "Running",
    ...(state.header.startedAt === undefined ? {} : { startedAt: state.header.startedAt }),
    ...(outbound === undefined ? {} : { outbound }),
  });
  state.pending.nodes.add(node.id);
}

function removeNode(turn: Turn, node: NodeRecord): void {
  if (node.starts !== undefined) cancelTask(turn, node, "the node is attempted again");
  if (node.lock !== undefined || node.dueAt !== undefined) {
    emit(turn, { type: "clear-timer", id: timerId(node) });
  }
  dropNode(turn, node);
}

function resetWorkflow(turn: Turn, parameters: readonly Parameter[]): void {
  const { header, specs, pending } = turn.state;
  const { labelPrefix } = turn.env;
  const labels = { ...header.metadata.labels };
  delete labels[`${labelPrefix}completed`];
  delete labels[`${labelPrefix}workflow-archiving-status`];
  header.metadata = { ...header.metadata, labels };
  header.phase = "";
  delete header.message;
  delete header.stopMessage;
  delete header.finishedAt;
  header.startedAt = turn.env.now;
  if (header.imported !== undefined) {
    // The claims are made again, or found again, when the first pod needs them.
    const { persistentVolumeClaims: _claims, ...imported } = header.imported;
    header.imported = imported;
  }
  setCondition(turn, "Completed", "False");
  const { shutdown: _shutdown, ...spec } = specs.spec;
  if (spec.activeDeadlineSeconds === 0) delete spec.activeDeadlineSeconds;
  specs.spec = parameters.length === 0 ? spec : {
    ...spec,
    arguments: {
      ...spec.arguments,
      parameters: override(spec.arguments?.parameters, parameters),
    },
  };
  const stored = specs.storedWorkflowTemplateSpec;
  if (stored !== undefined) {
    const { shutdown: _stored, ...rest } = stored;
    specs.storedWorkflowTemplateSpec = parameters.length === 0 ? rest : {
      ...rest,
      arguments: {
        ...rest.arguments,
        parameters: override(rest.arguments?.parameters, parameters),
      },
    };
  }
  pending.specs = true;
  emit(turn, { type: "clear-timer", id: "ttl" });
  markIndex(turn);
}

/** Parameters with the given ones in place of those of the same name. */
export function override(
  known: readonly Parameter[] | undefined,
  given: readonly Parameter[],
): Parameter[] {
  const names = new Set(given.map(({ name }) => name));
  return [...given, ...(known ?? []).filter(({ name }) => !names.has(name))];
}

/** `name=value` texts. @throws {Problem} */
export function parseParameters(texts: readonly string[]): Parameter[] {
  return texts.map((text) => {
    const at = text.indexOf("=");
    if (at < 0) throw invalid(`expected parameter of the form: NAME=VALUE. Received: ${text}`);
    return { name: text.slice(0, at), value: text.slice(at + 1) };
  });
}
