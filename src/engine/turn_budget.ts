/**
 * What one turn of a workflow may do. A turn that has done its share leaves the rest to the next one, so no workflow holds
 * up the others, however much it is about to begin.
 */
import { STEP_SIZE } from "../base/steps.ts";
import type { TaskSpec } from "./effect.ts";
import { checkBytes } from "./limits.ts";
import { textSize } from "./part_sizes.ts";
import type { Turn, TurnBudget } from "./turn.ts";

/** Thrown when the turn has done its share; the next turn does what was left undone. Not an `Error`: it needs no stack. */
export class TurnOver {
  readonly name = "TurnOver";
}

/** Characters of new text after which a turn is over. */
const TURN_CHARACTERS = 2_000_000;

/** Steps of expressions after which to look at the clock: two milliseconds where expressions are slow. */
const DEAR_STEPS = 20_000;

/** Pieces of work between two looks at the clock. */
const STRIDE = 4;

/** Counts a piece of work. @throws {LimitExceeded} when too much is to be stored */
export function noteWork(turn: Turn, stored = 0): void {
  const { budget } = turn;
  if (budget === undefined) return;
  if (stored > 0) {
    budget.stored += stored;
    checkBytes(turn);
  }
  // A few large nodes are a large commit. Texts that are only worked out don't count here: a turn must get past them.
  const isLarge = budget.stored + budget.replaced > TURN_CHARACTERS;
  // Most turns are so short that a look at the clock for each piece would be much of their work.
  if (++budget.pieces % STRIDE === 0 || isLarge || hasDearWork(turn)) askWhetherOver(turn, budget);
}

/** Counts a stored part of this size that was rewritten or dropped. */
export function noteReplaced(turn: Turn, characters: number): void {
  if (turn.budget === undefined) return;
  turn.budget.replaced += characters;
  noteWork(turn);
}

/** Counts the text of a task: its commit holds that as well. */
export function noteTask({ budget }: Turn, task: TaskSpec): void {
  if (budget !== undefined) budget.replaced += textSize(task);
}

/** Changes of nodes that one turn tells of: each adds a text to its commit. A little more if they come with one change. */
const MAX_NOTICES = 250;

/** Counts a change of which others will be told. */
export function noteNotice({ budget }: Turn): void {
  if (budget !== undefined && ++budget.notices >= MAX_NOTICES) budget.isOver = true;
}

function askWhetherOver({ env }: Turn, budget: TurnBudget): void {
  budget.steps = -(env.evaluation?.stepsTaken ?? 0);
  budget.isOver ||= budget.characters + budget.stored + budget.replaced > TURN_CHARACTERS ||
    env.mayGoOn?.() === false;
}

/** Expressions may have taken long since the last look at the clock. */
export function hasDearWork({ budget, env }: Turn): boolean {
  return (budget?.steps ?? 0) + (env.evaluation?.stepsTaken ?? 0) > DEAR_STEPS;
}

/** At most so many nodes are changed in a turn one after another: each adds a record, and maybe an effect, to its commit. */
const MAX_CHANGES = 1_000;

/** Changes of nodes that hold more characters are not made at once. */
const MAX_TEXT_AT_ONCE = 1_000_000;

/** Tells whether so many nodes, which hold so many characters, may be changed at once, however much the turn has done. */
export function mayChangeAtOnce(count: number, characters: number): boolean {
  return count <= STEP_SIZE && characters <= MAX_TEXT_AT_ONCE;
}

/** Tells whether a turn that has changed so many nodes may change one more. If not, the rest is left to the next turn. */
export function mayChangeMore({ budget }: Turn, changed: number): boolean {
  if (budget === undefined || (!budget.isOver && changed < MAX_CHANGES)) return true;
  budget.isOver = budget.isCut = true;
  return false;
}

/** Interrupts work that the next turn can resume. @throws {TurnOver} */
export function checkTurn({ budget }: Turn): void {
  if (budget?.isOver === true) throw new TurnOver();
}
