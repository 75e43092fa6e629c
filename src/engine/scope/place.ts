/**
 * Expressions that a workflow evaluates again when it is loaded again: those in the template of a Steps or DAG node, and those
 * of a loop. Which nodes there are follows from them, so they must give the same each time.
 */
import type { EvaluationPlace } from "../engine.ts";
import type { Turn } from "../turn.ts";

/** Where an expression stands: its time is that at which it was evaluated first, and what is random follows from its name. */
class Place implements EvaluationPlace {
  readonly at: number;
  readonly #uid: string;
  #name: string;
  #next: (() => number) | undefined;

  constructor(uid: string, name: string, at: number) {
    this.#uid = uid;
    this.#name = name;
    this.at = at;
  }

  moveTo(name: string): void {
    this.#name = name;
    this.#next = undefined;
  }

  random(): number {
    return (this.#next ??= randomsOf(`${this.#uid}/${this.#name}`))();
  }
}

/**
 * Evaluates what stands at a place.
 * @param name full name of the node
 * @param at when it was evaluated first
 */
export function inPlace<T>({ env, state }: Turn, name: string, at: number, evaluate: () => T): T {
  const outer = env.place;
  env.place = new Place(state.header.metadata.uid ?? "", name, at);
  try {
    return evaluate();
  } finally {
    env.place = outer;
  }
}

/** Multipliers of the four sums of a text. */
const FACTORS = [597_399_067, 2_869_860_233, 951_274_213, 2_716_044_179] as const;

/** Random numbers that follow from a text: sfc32, which begins with 128 bits of the text, as many as a uuid has. */
function randomsOf(text: string): () => number {
  const sums = [1_779_033_703, 3_144_134_277, 1_013_904_242, 2_773_480_762];
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    for (const [place, factor] of FACTORS.entries()) {
      const next = sums[(place + 1) % 4] as number;
      sums[place] = next ^ Math.imul((sums[place] as number) ^ code, factor);
    }
  }
  let [a = 0, b = 0, c = 0, count = 0] = sums;
  const next = () => {
    const sum = (a + b + count) | 0;
    count = (count + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum | 0;
    return (sum >>> 0) / 2 ** 32;
  };
  // The first numbers show how alike two texts are.
  for (let round = 0; round < 16; round++) next();
  return next;
}
