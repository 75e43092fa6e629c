/** What a kind of fuzzed input is: a grammar that makes inputs, and a target that takes one and judges what came of it. */
import type fc from "fast-check";

/** A kind of input. Inputs are JSON values, so that they reach another process and can be kept as files. */
export interface FuzzKind<T> {
  /** Makes inputs, and smaller forms of one. */
  inputs: fc.Arbitrary<T>;
  /** Opens what takes the inputs; called once in a process. */
  open(): Target<T> | Promise<Target<T>>;
  /** Longest that one input may hold the event loop, ms of the processor time of its thread. */
  maxBlockMs: number;
  /** Outcomes of which a run must see each, so that a grammar that only makes refused inputs is noticed. */
  outcomes: readonly string[];
  /** Inputs that one value stands for, where several are tried together. @default {1} */
  sizeOf?(input: T): number;
}

/**
 * Longest that one expression of any sort may hold the loop, ms: twice what it is promised to take, since budgets count
 * work, and the same work takes longer on a slow or busy machine.
 */
export const EXPRESSION_BLOCK_MS = 100;

/** What takes the inputs of one kind. */
export interface Target<T> {
  /**
   * Takes one input.
   * @returns the outcome, in a word that is counted
   * @throws {unknown} what is no declared answer
   */
  run(input: T): string | Promise<string>;
}

/** What one input did. */
export interface Observation {
  outcome: string;
  /** Longest that the event loop was held, ms of processor time. */
  blockMs: number;
  /** Resident memory of the process afterwards, bytes. */
  rss: number;
  /** What was thrown, if anything. */
  error?: string;
}

/** What is wrong with an input. */
export interface Fault {
  type: "error" | "blocked" | "memory" | "hang" | "died";
  text: string;
}

/** A finding about the target that `run` throws: the answer is there, and is not a declared one. */
export class Undeclared extends Error {
  override readonly name = "Undeclared";
}
