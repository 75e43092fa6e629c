/**
 * Rights over time: what was granted when something long began, such as a watch, may be taken back while it goes on. The token
 * may end, or its rules change.
 */
import { Problem, ProblemCode } from "../base/problem.ts";
import type { Access, Caller } from "./port.ts";

/** What is asked later, about one object after the other, is not remembered. */
const MAX_GRANTED = 100;

/** What was granted to a caller. */
export interface Standing {
  /** The caller, whose granted questions are remembered. */
  caller: Caller;
  /**
   * Tells whether everything that was granted is still granted.
   * @param again finds out anew who is calling
   */
  holds(again: () => Caller | Promise<Caller>): Promise<boolean>;
}

/** Remembers what is granted to a caller; undefined for one whom nobody asks. */
export function standingOf(caller: Caller): Standing | undefined {
  if (caller.isUnrestricted === true) return undefined;
  const granted = new Map<string, Access>();
  return {
    caller: {
      ...caller,
      async may(access) {
        const isGranted = await caller.may(access);
        if (isGranted && granted.size < MAX_GRANTED) granted.set(JSON.stringify(access), access);
        return isGranted;
      },
    },
    async holds(again) {
      try {
        const now = await again();
        const answers = await Promise.all([...granted.values()].map((access) => now.may(access)));
        return answers.every((isGranted) => isGranted);
      } catch (error) {
        // Who can't be asked now has taken nothing back.
        return !(error instanceof Problem && error.code === ProblemCode.Unauthenticated);
      }
    },
  };
}
