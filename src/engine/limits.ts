/**
 * What one workflow may grow to, and what one turn of it may do. A workflow that outgrows its limits ends in phase Error. A
 * turn that has done its share leaves the rest to the next one, so that no workflow holds up the others, however much it
 * is about to begin.
 */
import type { Turn } from "./state.ts";

/** The most that one workflow may hold. */
export interface WorkflowLimits {
  /** Nodes. */
  nodes: number;
  /** Size of its stored parts in characters; what is ASCII has one byte for each. */
  bytes: number;
}

/** The settings that the limits come from, for messages. */
export const NODES_SETTING = "--max-nodes";
const BYTES_SETTING = "--max-workflow-bytes";

/** The workflow would outgrow its limits: it ends with this text. */
export class LimitExceeded extends Error {
  override readonly name = "LimitExceeded";
}

/** The turn has done its share; the work is left as it was, for the next turn. */
export class TurnOver extends Error {
  override readonly name = "TurnOver";
}

/** Characters of new text after which a turn is over. */
const TURN_CHARACTERS = 2_000_000;

/** Steps of expressions after which the clock is to be looked at: two milliseconds, where they are slow. */
const DEAR_STEPS = 20_000;

/** Pieces of work between two questions. */
const STRIDE = 4;

/** What a turn has done so far. */
export interface TurnBudget {
  /** Nothing is begun any more. */
  isOver: boolean;
  /** Work was left to the next turn. */
  isCut: boolean;
  /** Characters that tags brought in. */
  characters: number;
  /** Steps of the expressions that were worked out since the last question whether the turn may go on. */
  steps: number;
  /** Characters of inputs and outputs that are to be stored. */
  stored: number;
  /** Characters of stored parts that are written anew or dropped. */
  replaced: number;
  /** Pieces of work that were done. */
  pieces: number;
}

export function newBudget(): TurnBudget {
  return {
    isOver: false,
    isCut: false,
    characters: 0,
    steps: 0,
    stored: 0,
    replaced: 0,
    pieces: 0,
  };
}

/** Notes that something was looked at or made. @throws {LimitExceeded} when what is to be stored is too much */
export function noteWork(turn: Turn, stored = 0): void {
  const { budget } = turn;
  if (budget === undefined) return;
  if (stored > 0) {
    budget.stored += stored;
    checkBytes(turn);
  }
  // Most turns are so short that asking each time would be much of their work.
  if (++budget.pieces % STRIDE === 0 || hasDearWork(turn)) look(turn, budget);
}

/** Notes that a stored part of this size was written anew or dropped. */
export function noteReplaced(turn: Turn, characters: number): void {
  if (turn.budget === undefined) return;
  turn.budget.replaced += characters;
  noteWork(turn);
}

/** Finds out whether the turn may go on. */
function look({ env }: Turn, budget: TurnBudget): void {
  budget.steps = -(env.evaluation?.stepsTaken ?? 0);
  budget.isOver ||= budget.characters + budget.stored + budget.replaced > TURN_CHARACTERS ||
    env.mayGoOn?.() === false;
}

/** Expressions may have taken long since the last question whether the turn may go on. */
export function hasDearWork({ budget, env }: Turn): boolean {
  return (budget?.steps ?? 0) + (env.evaluation?.stepsTaken ?? 0) > DEAR_STEPS;
}

/** Asks for one more node. @throws {LimitExceeded | TurnOver} */
export function claimNode({ state, env, budget }: Turn, isPartOfNode: boolean): void {
  const most = env.limits?.nodes ?? Infinity;
  if (state.nodes.size >= most) {
    throw new LimitExceeded(
      `the workflow has ${state.nodes.size} nodes and needs more: ${NODES_SETTING} allows ${most}`,
    );
  }
  // A node and its containers are made together.
  if (budget?.isOver === true && !isPartOfNode) throw new TurnOver("the turn is over");
}

/** Stops what can be gone on with in the next turn. @throws {TurnOver} */
export function checkTurn({ budget }: Turn): void {
  if (budget?.isOver === true) throw new TurnOver("the turn is over");
}

/** @throws {LimitExceeded} when a loop has more elements than the workflow may have nodes */
export function checkLoop({ env }: Turn, count: number): void {
  const most = env.limits?.nodes ?? Infinity;
  if (count > most) {
    throw new LimitExceeded(`a loop has ${count} elements: ${NODES_SETTING} allows ${most} nodes`);
  }
}

/** @throws {LimitExceeded} when the workflow holds more than it may, or is about to */
export function checkBytes({ state, env, budget }: Turn): void {
  const most = env.limits?.bytes ?? Infinity;
  const size = state.sizes.total + (budget?.stored ?? 0);
  if (size > most) throw new LimitExceeded(tooLarge("the workflow holds", size, most));
  const waiting = state.runtime.callCharacters;
  if (waiting > most) {
    throw new LimitExceeded(tooLarge("the arguments of its loops have", waiting, most));
  }
}

function tooLarge(what: string, size: number, most: number): string {
  return `${what} ${size} bytes: ${BYTES_SETTING} allows ${most}`;
}

/** Sizes of the stored parts of a workflow, kept so that no change needs a look at the others. */
export interface PartSizes {
  total: number;
  /** By id. */
  nodes: Map<string, number>;
  /** Of the other parts, by key. */
  others: Map<string, number>;
}

export function noSizes(): PartSizes {
  return { total: 0, nodes: new Map(), others: new Map() };
}

/** Notes the new size of a node's part; 0 when it is gone. */
export function noteNodeSize(sizes: PartSizes, id: string, size: number): void {
  noteSize(sizes, sizes.nodes, id, size);
}

/** The same for another part. */
export function notePartSize(sizes: PartSizes, key: string, size: number): void {
  noteSize(sizes, sizes.others, key, size);
}

function noteSize(sizes: PartSizes, parts: Map<string, number>, key: string, size: number): void {
  sizes.total += size - (parts.get(key) ?? 0);
  if (size === 0) parts.delete(key);
  else parts.set(key, size);
}

/** Characters of all texts in a JSON tree. */
export function textSize(value: unknown): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  let size = 0;
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) size += textSize(value[at]);
    return size;
  }
  for (const key in value) size += textSize((value as Record<string, unknown>)[key]);
  return size;
}
