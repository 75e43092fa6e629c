/**
 * Goes on with a workflow until nothing more can be done now. Looks only at nodes that something has happened to, and at
 * those that wait for them.
 */
import { begin, holdsLocks, prepare } from "./begin.ts";
import { emit, markHeader, refreshProgress } from "./change.ts";
import { cleanCancelled } from "./nodes/cancelled_tasks.ts";
import type { EngineEnv } from "./engine.ts";
import { isFailure, ManifestNeeded } from "./failure.ts";
import { complete, finishWorkflow, goOnClosing, runWorkflowHooks, setCondition } from "./finish.ts";
import { reopen, report } from "./life/life.ts";
import { LIVE } from "./live.ts";
import { checkBytes, LimitExceeded } from "./limits.ts";
import { observeMetrics } from "./metrics.ts";
import { noteChanges } from "./note_changes.ts";
import { serveGated } from "./nodes/gate.ts";
import { lookAtWoken, startOutermost } from "./nodes/look.ts";
import { beginIfUntouched } from "./nodes/start.ts";
import { goOnRetrying } from "./orders/manual_retry.ts";
import { goOnWithOrders } from "./orders/orders.ts";
import { isCompleted, isFulfilled } from "./records.ts";
import { rootArguments, rootCall } from "./scope/call.ts";
import { beginEvaluation } from "./scope/expressions.ts";
import { endActive } from "./shutdown/end_active.ts";
import { rootOf, workflowName, type WorkflowState } from "./state.ts";
import { needManifest } from "./stored_manifests.ts";
import { GO_ON_TIMER } from "./timers.ts";
import { newBudget, type Turn, type TurnBudget } from "./turn.ts";
import { checkTurn, TurnOver } from "./turn_budget.ts";

/**
 * Does everything that can be done at `env.now`. A second call without news changes nothing. A stored manifest that is
 * missing is listed in the changes; the next call does the work that needs it.
 */
export function advance(state: WorkflowState, env: EngineEnv): void {
  const budget = newBudget();
  const turn: Turn = { state, env, budget };
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
  cleanCancelled(turn);
  const before = { hasBegun: startedAt !== undefined, hasEnded: finishedAt !== undefined };
  const { phased } = state.pending;
  const after = { state, env, budget: undefined };
  observeMetrics(after, before);
  if (env.areChangesNoted === true) noteChanges(after, phased, { startedAt, finishedAt });
}

/** Notes whether work is left for the next turn, and asks for that turn. */
function noteCut(turn: Turn, { isCut }: TurnBudget): void {
  const { header, runtime } = turn.state;
  const isLeft = header.finishedAt === undefined && (isCut || runtime.cut.length > 0);
  if (isLeft && isCut) emit(turn, { type: "set-timer", id: GO_ON_TIMER, at: turn.env.now });
  if (isLeft === (header.isCut === true)) return;
  if (isLeft) header.isCut = true;
  else delete header.isCut;
  if (!isCut) emit(turn, { type: "clear-timer", id: GO_ON_TIMER });
  markHeader(turn);
}

/** Templates with so many characters, tags filled in, are kept in memory. */
const MAX_FILLED = 32_000_000;

function forgetFilled({ state: { runtime, nodes } }: Turn): void {
  if (runtime.filledCharacters <= MAX_FILLED) return;
  runtime.filledCharacters = 0;
  for (const node of nodes.values()) {
    const { group } = node[LIVE];
    if (group !== undefined) group.frame = undefined;
  }
}

function goOn(turn: Turn): void {
  beginEvaluation(turn.env);
  try {
    if (turn.state.header.closing !== undefined) return goOnClosing(turn);
    if (isCompleted(turn.state.header.phase)) reopen(turn.state);
    if (!goOnRetrying(turn) || !goOnWithOrders(turn)) return;
    checkBytes(turn);
    forgetFilled(turn);
    if (!prepare(turn) || !holdsLocks(turn)) return;
    begin(turn);
    settle(turn);
    refreshProgress(turn);
  } catch (error) {
    if (error instanceof ManifestNeeded) needManifest(turn, error);
    else if (error instanceof Error) endWithError(turn, error);
    else throw error;
  }
}

/** Ends the workflow: whatever a manifest or an imported tree holds must not stop the host. */
function endWithError(turn: Turn, error: Error): void {
  const { message } = error;
  const isKnown = error instanceof LimitExceeded || isFailure(error);
  complete(turn, "Error", isKnown ? message : `internal error: ${message}`);
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
  reportWaiting(turn);
}

function lookAround(turn: Turn): void {
  const { state } = turn;
  const { runtime } = state;
  if (state.header.isCut !== true) {
    runtime.triedAt = -1;
    runtime.serving = "";
  }
  while (state.header.finishedAt === undefined) {
    endActive(turn);
    checkTurn(turn);
    if (state.specs.spec.suspend === true) break;
    const copied = rootOf(state);
    if (copied !== undefined) beginIfUntouched(turn, copied, copied.id);
    else {
      const given = rootArguments(turn);
      if (startOutermost(turn, rootCall(turn), given, workflowName(state)) === undefined) break;
    }
    lookAtWoken(turn);
    // What is left in the queue waits for a manifest.
    if (state.pending.needs !== undefined) break;
    checkTurn(turn);
    if (endActive(turn)) continue;
    const root = rootOf(state);
    if (root === undefined) break;
    if (isFulfilled(root)) finishWorkflow(turn);
    else runWorkflowHooks(turn);
    if (state.header.closing !== undefined || !runtime.queue.isEmpty) continue;
    // A node that was woken for a free place may still be unable to begin, so after each change every waiter gets one chance.
    if (runtime.revision !== runtime.triedAt) runtime.tried?.clear();
    runtime.triedAt = runtime.revision;
    if (!serveGated(turn)) break;
  }
}

function updateRunning(turn: Turn): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined) return;
  const status = runtime.runningPods > 0 ? "True" : "False";
  const known = header.conditions?.find(({ type }) => type === "PodRunning")?.status;
  if (known !== status) setCondition(turn, "PodRunning", status);
}

/** Reports whether all that is left are steps that wait to be resumed. A turn that was cut short does not know. */
function reportWaiting(turn: Turn): void {
  const { header, runtime } = turn.state;
  if (header.finishedAt !== undefined || header.closing !== undefined) return;
  if (turn.budget?.isCut === true) return;
  const waits = runtime.waits.since !== undefined && runtime.activeTasks === 0;
  if (waits !== (header.machine === "suspended")) report(turn, waits ? "waits" : "goesOn");
}
