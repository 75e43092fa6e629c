/** Retry nodes: one attempt after another until one succeeds or the strategy gives up. */
import type { RetryStrategy } from "../../spec/manifest.ts";
import { nodeByName } from "../tree.ts";
import { attemptCall, callOf, workOf } from "../scope/call.ts";
import { change, end, releaseLocksOfDaemon, setTimer } from "../change.ts";
import { isTrue, scopeOf } from "../scope/expressions.ts";
import { boundaryOf } from "../live.ts";
import { uncheckedDurationMs } from "./duration.ts";
import { FAIL_FAST_TEXT, isGateOpen, isShut } from "./gate.ts";
import { checkTurn } from "../turn_budget.ts";
import { isTransient } from "./transient.ts";
import { attemptCount, firstAttempt, lastRetry, latestAttempt } from "../scope/attempts.ts";
import { retryStrategyOf } from "./new_node.ts";
import { beginIfUntouched, startAttempt } from "./start.ts";
import { failNode } from "./fail_node.ts";
import { isFailure, NodeFailure } from "../failure.ts";
import { hasEnded, isFailedOrError, isFulfilled, type NodeRecord } from "../records.ts";
import type { Turn } from "../turn.ts";
import { stopReason, workflowDeadline } from "../shutdown/stop_reason.ts";
import { goTime, humanizeWait } from "../scope/time_text.ts";

/**
 * Continues a retry node: with its next attempt, with a wait, or with its end. A daemon that others use stays one meanwhile:
 * it is lost only when its strategy gives it up.
 */
export function evaluateRetry(turn: Turn, node: NodeRecord): void {
  if (node.phase !== "Running") return;
  const isDaemon = node.daemoned === true;
  goOn(turn, node, latestAttempt(node));
  if (isDaemon && hasEnded(node)) change(turn, node, { isLostDaemon: true });
}

function goOn(turn: Turn, node: NodeRecord, last: NodeRecord | undefined): void {
  if (last === undefined) {
    begin(turn, node, 0, undefined);
    return;
  }
  if (!beginIfUntouched(turn, last, node.id)) {
    endIfShut(turn, node);
    return;
  }
  if (!isFulfilled(last)) return;
  if (last.daemoned === true) {
    if (node.daemoned !== true) {
      change(turn, node, { daemoned: true });
      releaseLocksOfDaemon(turn, node);
    }
    return;
  }
  if (!isFailedOrError(last)) {
    finish(turn, node, last, "Succeeded");
    return;
  }
  try {
    if (last.isErrored === true && !judgesFaults(turn, node)) {
      return failNode(turn, node, last.message ?? "");
    }
    const verdict = decide(turn, node, last);
    if (verdict.type === "retry") begin(turn, node, attemptCount(node), verdict.deadline);
    else if (verdict.type === "give-up") finish(turn, node, last, last.phase, verdict.message);
    else if (!endIfShut(turn, node)) {
      if (node.message !== verdict.message) change(turn, node, { message: verdict.message });
      setTimer(turn, node, verdict.until);
    }
  } catch (error) {
    if (!isFailure(error)) throw error;
    failNode(turn, node, error.message);
  }
}

/** The wait before the next attempt is over. The change wakes the node, which looks at the time itself. */
export function retryIsDue(turn: Turn, node: NodeRecord): void {
  change(turn, node, { dueAt: undefined });
}

function begin(turn: Turn, node: NodeRecord, index: number, deadline: number | undefined): void {
  const boundary = boundaryOf(turn.state.nodes, node);
  const { id: waiter, isExit } = node;
  if (!isGateOpen(turn, boundary, { waiter, counted: "activePods", isExit })) {
    endIfShut(turn, node);
    return;
  }
  if (node.message !== undefined) change(turn, node, { message: undefined });
  const last = latestAttempt(node);
  const call = attemptCall(callOf(turn, node), node, index);
  try {
    checkTurn(turn);
    // Only here: if the turn is over, this begins once more in the next one.
    if (last !== undefined) turn.state.pending.retried.push(last);
    startAttempt(turn, node, call, deadline);
  } catch (error) {
    if (!isFailure(error)) throw error;
    // An attempt that has a node already ends with the reason, and is then looked at like any other.
    failNode(turn, nodeByName(turn, call.name) ?? node, error.message);
  }
}

/** Tells whether the strategy decides about an attempt that could not be carried out. A policy of failures is not about it. */
function judgesFaults(turn: Turn, node: NodeRecord): boolean {
  return policyOf(retryStrategyOf(turn, workOf(turn, node).template) ?? {}) !== "OnFailure";
}

/**
 * Ends a node whose next attempt never begins: it would wait in vain, and may hold locks for which others wait.
 * @returns whether it has ended
 */
function endIfShut(turn: Turn, node: NodeRecord): boolean {
  if (!isShut(turn, boundaryOf(turn.state.nodes, node))) return false;
  end(turn, node, "Failed", FAIL_FAST_TEXT);
  return true;
}

function finish(
  turn: Turn,
  node: NodeRecord,
  last: NodeRecord,
  phase: NodeRecord["phase"],
  message?: string,
): void {
  if (last.outputs !== undefined) change(turn, node, { outputs: last.outputs });
  end(turn, node, phase, message);
}

type Verdict =
  | { type: "retry"; deadline: number | undefined }
  | { type: "give-up"; message: string | undefined }
  | { type: "wait"; until: number; message: string };

function decide(
  turn: Turn,
  node: NodeRecord,
  last: NodeRecord,
): Verdict {
  const giveUp = (message: string | undefined): Verdict => ({ type: "give-up", message });
  const reason = stopReason(turn);
  if (reason !== undefined && (node.isExit !== true || reason.isHard)) {
    return giveUp(
      reason.isDeadline
        ? `retry exceeded workflow deadline ${goTime(workflowDeadline(turn) ?? turn.env.now)}`
        : reason.waiting,
    );
  }
  const strategy = retryStrategyOf(turn, workOf(turn, node).template) ?? {};
  // A limit that is no number matters only where it is needed.
  const isLeft = () => strategy.limit === undefined || attempts <= integer(strategy.limit);
  const attempts = attemptCount(node);
  const first = firstAttempt(node) ?? last;
  const backoff = waitOf(strategy, attempts, first, last);
  if (backoff !== undefined) {
    if (backoff.lastStart !== undefined) {
      if (turn.env.now > backoff.lastStart) return giveUp("Max duration limit exceeded");
      if (backoff.until > backoff.lastStart) {
        return giveUp("Backoff would exceed max duration limit");
      }
    }
    if (turn.env.now < backoff.until && isLeft()) {
      return {
        type: "wait",
        until: backoff.until,
        message: `Backoff for ${humanizeWait(backoff.waitMs)}`,
      };
    }
  }
  if (!isRetried(strategy, last)) return giveUp(last.message);
  if (!isLeft()) return giveUp("No more retries left");
  const { expression } = strategy;
  if (
    expression !== undefined && expression !== "" && !holds(turn, expression, attempts, last)
  ) {
    return giveUp("retryStrategy.expression evaluated to false");
  }
  return { type: "retry", deadline: backoff?.lastStart };
}

interface Backoff {
  waitMs: number;
  /** When the next attempt may start. */
  until: number;
  /** No attempt starts after this. */
  lastStart: number | undefined;
}

function waitOf(
  { backoff }: RetryStrategy,
  attempts: number,
  first: NodeRecord,
  last: NodeRecord,
): Backoff | undefined {
  if (backoff === undefined) return undefined;
  if (backoff.duration === undefined || backoff.duration === "") {
    throw new NodeFailure("no base duration specified for retryStrategy");
  }
  let waitMs = uncheckedDurationMs(backoff.duration);
  const factor = backoff.factor === undefined ? 0 : integer(backoff.factor);
  if (factor > 0) waitMs *= factor ** (attempts - 1);
  if (backoff.cap !== undefined && backoff.cap !== "") {
    waitMs = Math.min(waitMs, uncheckedDurationMs(backoff.cap));
  }
  // A power of a large factor is out of the range of times. A year is as good as for ever.
  waitMs = Math.min(waitMs, 366 * 24 * 3_600_000);
  return {
    waitMs,
    until: (last.finishedAt ?? 0) + waitMs,
    lastStart: backoff.maxDuration === undefined || backoff.maxDuration === ""
      ? undefined
      : (first.startedAt ?? 0) + uncheckedDurationMs(backoff.maxDuration),
  };
}

/** The policy in force: an expression is asked about every failed attempt, unless a policy is given. */
function policyOf({ retryPolicy = "", expression = "" }: RetryStrategy): string {
  if (retryPolicy !== "") return retryPolicy;
  return expression === "" ? "OnFailure" : "Always";
}

function isRetried(strategy: RetryStrategy, last: NodeRecord): boolean {
  const policy = policyOf(strategy);
  switch (policy) {
    case "Always":
      return true;
    case "OnFailure":
      return last.phase === "Failed";
    case "OnError":
      return last.phase === "Error";
    case "OnTransientError":
      return isTransient(last.message ?? "");
    default:
      throw new NodeFailure(`${policy} is not a valid RetryPolicy`);
  }
}

function holds(turn: Turn, expression: string, attempts: number, last: NodeRecord): boolean {
  const scope = scopeOf({ retries: String(attempts - 1), ...lastRetry(last) });
  return isTrue(expression, scope, turn.env);
}

function integer(value: number | string): number {
  const number = value === "" ? NaN : Number(value);
  if (!Number.isInteger(number)) {
    throw new NodeFailure(`value '${value}' cannot be resolved to an int`);
  }
  return number;
}
