/**
 * Regular expressions in RE2 syntax, in linear time. Compiling and matching take steps from the budget of the
 * evaluation, by the size of the program and by how much of it each character keeps busy.
 */
import { RE2JS } from "re2js";

import { BoundedCache } from "../../base/bounded_cache.ts";
import { errorText } from "../../base/error_text.ts";
import type { Budget } from "./budget.ts";
import { BudgetExceeded, fault } from "./error.ts";
import { MeteredText } from "./regex_input.ts";
import { regexSize } from "./regex_size.ts";
import { RunContext } from "./run_context.ts";
import { wellFormed } from "./utf8.ts";

/** Longest pattern, in UTF-16 units. */
export const MAX_PATTERN_LENGTH = 4_096;
/** Most instructions of a compiled pattern. */
export const MAX_PATTERN_SIZE = 5_000;
/** Largest program that is kept for other evaluations. */
const MAX_KEPT_SIZE = 500;

/** Where a match begins and ends, and its groups: pairs of offsets in UTF-16 units, -1 for a group without a match. */
export type Match = readonly number[];

type Program = ReturnType<RE2JS["re2"]>;

/** A compiled regular expression. */
export class Pattern {
  readonly source: string;
  /** Names of the groups, with their numbers; several groups may have one name. */
  readonly names: ReadonlyMap<string, readonly number[]>;
  /** Number of groups, not counting the whole match. */
  readonly groups: number;
  /** Number of instructions of the program. */
  readonly size: number;
  readonly #program: Program;
  /** Steps for each character, if the pattern is matched without a list of threads. */
  readonly #stepsPerCharacter: number;

  constructor(source: string, compiled: RE2JS, names: Pattern["names"]) {
    this.source = source;
    this.#program = compiled.re2();
    this.names = names;
    this.groups = this.#program.numberOfCapturingGroups();
    this.size = this.#program.numberOfInstructions();
    this.#stepsPerCharacter = 1 + (this.size >> 5);
  }

  /** Tells whether the pattern matches anywhere in a text. @throws {BudgetExceeded} */
  matches(text: string, budget: Budget): boolean {
    if (text.length > 256) budget.step(text.length / 256);
    return this.find(new MeteredText(wellFormed(text), budget), 0, false) !== undefined;
  }

  /**
   * The first match that begins at an offset or after it.
   * @param withGroups also finds the groups, which takes longer
   * @throws {BudgetExceeded}
   */
  find(text: MeteredText, from: number, withGroups: boolean): Match | undefined {
    const program = this.#program;
    const ends = withGroups ? 2 * (1 + this.groups) : 2;
    text.budget.step(2);
    // Literal texts, and patterns that never have a choice: each character is read once.
    if ((program.prefixComplete && (ends === 2 || this.groups === 0)) || program.onepass !== null) {
      text.meter(this.#stepsPerCharacter);
      return program.executeEngine(text, from, ANYWHERE, ends) ?? undefined;
    }
    if (program.prefilter !== null && !program.prefilter.eval(text, from)) return undefined;
    const machine = program.get() ?? newMachine(program);
    text.meterMachine(machine, 1 + (ends >> 3));
    machine.init(ends);
    const isFound = machine.match(text, from, ANYWHERE);
    const match = isFound ? machine.submatches() : undefined;
    program.put(machine);
    return match;
  }
}

const ANYWHERE = 0;

/** A machine for a program. The library makes one only for a match, and then keeps it. */
function newMachine(program: Program) {
  program.doExecuteNFA(new MeteredText("", new RunContext()), 0, ANYWHERE, 2);
  return program.get();
}

// A memo of a pure function: what it holds never changes a result.
const compiled = new BoundedCache<string, Pattern>(256);

/**
 * Compiles a pattern.
 * @throws {Fault} `error parsing regexp: …` when it is not valid
 * @throws {BudgetExceeded} when its program would be too large, or compiling it takes more steps than are left
 */
export function compileRegex(source: string, context: RunContext): Pattern {
  return context.pattern(source, (source) => {
    if (source.length > MAX_PATTERN_LENGTH) {
      fault(`error parsing regexp: pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
    }
    const { instructions, steps } = regexSize(source);
    if (instructions > MAX_PATTERN_SIZE) {
      throw new BudgetExceeded(
        `pattern budget exceeded: a regular expression compiles to more than ${MAX_PATTERN_SIZE} instructions; make its repeats smaller`,
      );
    }
    context.step(steps);
    return compiled.get(source) ?? compileFresh(source, instructions);
  });
}

function compileFresh(source: string, instructions: number): Pattern {
  const names = groupNames(source);
  // The library refuses a name that stands twice, which Go takes.
  const isUnique = [...names.values()].every(({ length }) => length === 1);
  let regex: RE2JS;
  try {
    regex = RE2JS.compile(isUnique ? source : withoutNames(source));
  } catch (error) {
    if (error instanceof RangeError) fault("error parsing regexp: expression nests too deeply");
    return fault(errorText(error));
  }
  const pattern = new Pattern(source, regex, names);
  return instructions > MAX_KEPT_SIZE ? pattern : compiled.set(source, pattern);
}

/**
 * The beginning of a group that is counted, with its name, if it has one; before that, what only looks like one. What does not
 * end goes to the end: looking for its end again at each character would take the square of the length.
 */
const GROUP =
  /\\Q[^]*?(?:\\E|$)|\\[^]|\[\^?\]?(?:\[:\^?\w+:\]|\\[^]|[^\]\\])*(?:\]|\\?$)|(\((?:\?P?<(\w+)>|(?!\?)))/g;

function groupNames(source: string): Map<string, number[]> {
  const names = new Map<string, number[]>();
  if (!source.includes("<")) return names;
  let number = 0;
  for (const [, group, name] of source.matchAll(GROUP)) {
    if (group !== undefined) number++;
    if (name === undefined) continue;
    const alike = names.get(name);
    if (alike === undefined) names.set(name, [number]);
    else alike.push(number);
  }
  return names;
}

function withoutNames(source: string): string {
  return source.replace(GROUP, (all, _group, name) => name === undefined ? all : "(");
}
