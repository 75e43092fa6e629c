/** How a finished workflow moves from the store to the archive. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import { deletionEffects, MAX_NODES_TO_VISIT } from "../../engine/cleanup/deletion.ts";
import { recallPast } from "../../engine/past.ts";
import type { WorkflowState } from "../../engine/state.ts";
import { TTL_TIMER } from "../../engine/timers.ts";
import type { ActorId } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import type { WorkflowCommand } from "../port.ts";
import type { HostEffect } from "../hot_actor.ts";
import {
  type Departure,
  forgets,
  persistedLabel,
  textAbout,
  type WorkflowKindOptions,
} from "./deletion.ts";
import { relabel } from "./relabel.ts";

export type LeaveCommand = Extract<WorkflowCommand, { type: "leave" }>;
export type DeleteArchivedCommand = Extract<WorkflowCommand, { type: "delete-archived" }>;

/**
 * @param stored version of the store, if the workflow is as it is stored there
 * @throws {Problem} when it is not what was written to the archive
 */
export function checkMove(
  id: ActorId,
  { header }: WorkflowState,
  { version }: LeaveCommand,
  stored: Version | undefined,
  options: WorkflowKindOptions,
): void {
  if (stored === version && header.finishedAt !== undefined && header.isAside !== true) return;
  throw new Problem(
    ProblemCode.Aborted,
    textAbout(id, options, "has changed since it was written to the archive"),
  );
}

/** What it takes along, and nodes that are many go later. Nothing that it left outside is touched. */
export function movingAway(id: ActorId, { header, nodes }: WorkflowState): Departure {
  const effects: Departure["effects"] = [{ type: "clear-timer", id: TTL_TIMER }];
  if (nodes.size <= MAX_NODES_TO_VISIT) return { effects };
  const remains = `${id}#${header.metadata.uid ?? ""}.${header.retries ?? 0}`;
  return {
    effects: [...effects, { type: "drop-remains", id: `drop/${remains}`, remains }],
    remains,
  };
}

/** What remains to be done when a workflow is deleted that only the archive has. Labels one that is kept. */
export function deletedFromArchive(
  state: WorkflowState,
  { past, forGood }: DeleteArchivedCommand,
  options: WorkflowKindOptions,
): { effects: HostEffect[]; isKept: boolean } {
  if (past !== undefined) recallPast(state, past);
  const effects: HostEffect[] = deletionEffects(state);
  const kept = forGood === true ? undefined : persistedLabel(state, options);
  if (kept !== undefined) relabel(state, kept);
  else effects.push(...forgets(state.header.metadata.uid ?? ""));
  return { effects, isKept: kept !== undefined };
}
