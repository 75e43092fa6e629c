/** What a deleted workflow leaves outside: timers, scratch folders, containers, pods and logs of its tasks, artifacts it gives up. */
import { artifactsToCollect } from "./artifact_gc.ts";
import { timerId } from "./change.ts";
import type { Effect } from "./effect.ts";
import type { WorkflowState } from "./state.ts";
import { removeClaims } from "./volume_claims.ts";

type DeletionEffect = Extract<
  Effect,
  { type: "clear-timer" | "clean-tasks" | "collect-artifacts" | "remove-claims" }
>;

/** Effects that remove it. Tasks that still run are to be cancelled before. */
export function deletionEffects(state: WorkflowState): DeletionEffect[] {
  const uid = state.header.metadata.uid ?? "";
  const tasks = [...state.nodes.values()].flatMap((node) =>
    Array.from({ length: node.starts ?? 0 }, (_, index) => `${uid}/${node.id}/${index + 1}`)
  );
  const artifacts = artifactsToCollect(state, "OnWorkflowDeletion");
  const effects = timersOf(state).map((id): DeletionEffect => ({ type: "clear-timer", id }));
  if (tasks.length > 0) {
    effects.push({ type: "clean-tasks", id: `delete/${uid}`, tasks, delayMs: 0 });
  }
  if (artifacts.length > 0) {
    effects.push({
      type: "collect-artifacts",
      id: `collect/delete/${uid}`,
      artifacts,
      strategy: "OnWorkflowDeletion",
    });
  }
  const claims = removeClaims(state, `claims/delete/${uid}`);
  if (claims !== undefined) effects.push(claims);
  return effects;
}

/** Timers that may be set. */
function timersOf({ header, nodes }: WorkflowState): string[] {
  if (header.finishedAt !== undefined) return ["ttl"];
  const waiting = [...nodes.values()].filter((node) => node.dueAt !== undefined);
  return ["workflow-deadline", ...waiting.map(timerId)];
}
