/** Open effects as the state of a workflow tells them, to be compared with those that it has reported. */
import { holderOf, lockRequest, setTimerEffect } from "../../src/engine/change.ts";
import type { Effect } from "../../src/engine/effect.ts";
import type { EngineEnv } from "../../src/engine/engine.ts";
import { ManifestNeeded } from "../../src/engine/failure.ts";
import { needManifest } from "../../src/engine/stored_manifests.ts";
import { deletionTime, workflowHolder } from "../../src/engine/finish.ts";
import type { Turn } from "../../src/engine/turn.ts";
import { startEffect, taskOf } from "../../src/engine/nodes/task.ts";
import type { WorkflowState } from "../../src/engine/state.ts";
import { hasEnded, isCompleted, isTask, type LockNote } from "../../src/engine/records.ts";
import { workflowDeadline } from "../../src/engine/shutdown/stop_reason.ts";
import { DEADLINE_TIMER, GO_ON_TIMER, TTL_TIMER } from "../../src/engine/timers.ts";

/**
 * Effects of a workflow that are still open: tasks that run, timers that are set, locks that are held or waited for.
 * Repeating them is harmless. Missing manifests are listed in the changes.
 */
export function outstanding(state: WorkflowState, env: EngineEnv): Effect[] {
  const turn: Turn = { state, env, budget: undefined };
  const effects: Effect[] = [];
  const { header } = state;
  const lock = (holder: string, note: LockNote | undefined) => {
    if (note === undefined) return;
    effects.push(lockRequest(turn, holder, note.keys));
  };
  if (header.finishedAt !== undefined && isCompleted(header.phase)) {
    const at = deletionTime(state);
    if (at !== undefined) effects.push({ type: "set-timer", id: TTL_TIMER, at });
    return effects;
  }
  if (header.isCut === true) effects.push({ type: "set-timer", id: GO_ON_TIMER, at: env.now });
  lock(workflowHolder(turn), header.lock);
  const deadline = workflowDeadline(turn);
  if (deadline !== undefined) {
    effects.push({ type: "set-timer", id: DEADLINE_TIMER, at: deadline });
  }
  for (const node of state.nodes.values()) {
    if (hasEnded(node)) continue;
    lock(holderOf(turn, node), node.lock);
    if (node.dueAt !== undefined) effects.push(setTimerEffect(node, node.dueAt));
    if (!isTask(node.type) || node.starts === undefined || node.isImported === true) continue;
    try {
      effects.push(startEffect(taskOf(turn, node)));
    } catch (error) {
      if (!(error instanceof ManifestNeeded)) throw error;
      needManifest(turn, error);
    }
  }
  return effects;
}
