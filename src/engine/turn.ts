/** A turn: one call of the engine for one workflow. */
import type { EngineEnv, Meter } from "./engine.ts";
import type { WorkflowState } from "./state.ts";

/** A workflow and what surrounds the present call. First parameter of everything that decides. */
export interface Turn {
  state: WorkflowState;
  env: EngineEnv;
  /** Undefined: everything must be done in this call. */
  budget?: TurnBudget | undefined;
}

/** What a turn has done so far. */
export interface TurnBudget extends Meter {
  /** Nothing new may begin in this turn. */
  isOver: boolean;
  /** Work was left to the next turn. */
  isCut: boolean;
  /** Characters of inputs and outputs that are to be stored. */
  stored: number;
  /** Characters of stored parts that are rewritten or dropped, and of tasks. */
  replaced: number;
  /** Changes of nodes of which others will be told. */
  notices: number;
  /** Pieces of work that were done. */
  pieces: number;
}

/** The budget of a turn that has done nothing yet. */
export function newBudget(): TurnBudget {
  return {
    isOver: false,
    isCut: false,
    characters: 0,
    steps: 0,
    stored: 0,
    replaced: 0,
    notices: 0,
    pieces: 0,
  };
}

/** When the workflow was created, epoch ms; now, when its metadata does not say. */
export function createdAt({ state, env }: Turn): number {
  const text = state.header.metadata.creationTimestamp;
  return text === undefined || text === null ? env.now : Date.parse(text);
}
