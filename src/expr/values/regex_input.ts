/** The text that the regular expression library reads, character by character; it counts what a match costs. */
import type { Budget } from "./budget.ts";
import { indexOfText } from "./text_search.ts";

/** The part of a matching machine that is metered: its two lists of threads. */
interface ThreadLists {
  readonly q0: { readonly size: number };
  readonly q1: { readonly size: number };
}

/** Number of threads for one step. */
const THREADS_PER_STEP = 4;
/** Number of characters for one step if the text is only searched. */
const SEARCHED_PER_STEP = 32;

const LINE_FEED = 10;
const END = -8;
const BEGIN_LINE = 1;
const END_LINE = 2;
const BEGIN_TEXT = 4;
const END_TEXT = 8;
const WORD_BOUNDARY = 16;
const NO_WORD_BOUNDARY = 32;

/**
 * The input of a match, in the library's own form (`MachineUTF16Input`). Each reading of a character takes steps from
 * the budget, more for each active thread, so that a match ends when the budget is exhausted.
 */
export class MeteredText {
  readonly text: string;
  readonly budget: Budget;
  readonly #end: number;
  #machine: ThreadLists | undefined;
  #cost = 1;

  /** @param text without lone surrogates */
  constructor(text: string, budget: Budget) {
    this.text = text;
    this.budget = budget;
    this.#end = text.length;
  }

  /** The next match takes this many steps for each character. */
  meter(steps: number): void {
    this.#machine = undefined;
    this.#cost = steps;
  }

  /** The next match takes steps for the threads of a machine, `weight` times for each. */
  meterMachine(machine: ThreadLists, weight: number): void {
    this.#machine = machine;
    this.#cost = weight;
  }

  // The library calls everything from here on.

  canCheckPrefix(): boolean {
    return true;
  }

  endPos(): number {
    return this.#end;
  }

  /** The character at an offset, with its width in the last three bits. */
  step(at: number): number {
    if (this.#machine === undefined) this.budget.step(this.#cost);
    if (at >= this.#end) return END;
    const first = this.text.charCodeAt(at);
    if (first < 0xd800 || first > 0xdbff || at + 1 >= this.#end) return first << 3 | 1;
    const second = this.text.charCodeAt(at + 1);
    return ((first - 0xd800) * 0x400 + (second - 0xdc00) + 0x10000) << 3 | 2;
  }

  /** Distance to the next occurrence of the literal beginning of a pattern; negative if there is none. */
  index(pattern: { prefix: string }, from: number): number {
    const at = this.#search(pattern.prefix, from);
    return at < 0 ? -1 : at - from;
  }

  /** What is around an offset, as flags. A machine asks once for each character. */
  context(at: number): number {
    if (this.#machine !== undefined) {
      const { q0, q1 } = this.#machine;
      this.budget.step(1 + (q0.size + q1.size) * this.#cost / THREADS_PER_STEP);
    }
    const before = at > 0 && at <= this.#end ? this.text.charCodeAt(at - 1) : -1;
    const after = at < this.#end ? this.text.charCodeAt(at) : -1;
    let flags = isWordCharacter(before) === isWordCharacter(after)
      ? NO_WORD_BOUNDARY
      : WORD_BOUNDARY;
    if (before < 0) flags |= BEGIN_TEXT | BEGIN_LINE;
    if (before === LINE_FEED) flags |= BEGIN_LINE;
    if (after < 0) flags |= END_TEXT | END_LINE;
    if (after === LINE_FEED) flags |= END_LINE;
    return flags;
  }

  prefixLength(pattern: { prefix: string }): number {
    return pattern.prefix.length;
  }

  hasString(filter: { str: string }, from: number): boolean {
    return filter.str === "" || this.#search(filter.str, from) >= 0;
  }

  hasAnyString(
    filter: { automaton16(): { searchUTF16(text: string, from: number, to: number): boolean } },
    from: number,
  ): boolean {
    this.budget.step((this.#end - from) / 2);
    return filter.automaton16().searchUTF16(this.text, from, this.#end);
  }

  #search(part: string, from: number): number {
    const at = indexOfText(this.text, part, from);
    this.budget.step(1 + ((at < 0 ? this.#end : at) - from) / SEARCHED_PER_STEP);
    return at;
  }
}

function isWordCharacter(unit: number): boolean {
  return (unit >= 0x30 && unit <= 0x39) || (unit >= 0x41 && unit <= 0x5a) || unit === 0x5f ||
    (unit >= 0x61 && unit <= 0x7a);
}
