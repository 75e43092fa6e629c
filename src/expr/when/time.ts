/** Quoted text that looks like a date or time is a number in `when`: its seconds since 1970. */
import { Fault } from "../values/error.ts";
import { timeText } from "../values/go_time_format.ts";
import { parseTime } from "../values/go_time_parse.ts";
import type { RunContext } from "../values/run_context.ts";

/** Layouts, by the beginning of the texts that fit them. */
const LAYOUTS: readonly (readonly [start: RegExp, layouts: readonly string[]])[] = [
  [/^[A-Z]/i, [
    "Mon Jan _2 15:04:05 2006",
    "Mon Jan _2 15:04:05 MST 2006",
    "Mon Jan 02 15:04:05 -0700 2006",
  ]],
  [/^\d{4}-/, [
    "2006-01-02T15:04:05Z07:00",
    "2006-01-02T15:04:05.999999999Z07:00",
    "2006-01-02",
    "2006-01-02 15:04",
    "2006-01-02 15:04:05",
    "2006-01-02 15:04:05-07:00",
    "2006-01-02T15Z0700",
    "2006-01-02T15:04Z0700",
    "2006-01-02T15:04:05Z0700",
    "2006-01-02T15:04:05.999999999Z0700",
  ]],
  [/^\d/, ["3:04PM"]],
];

/** Steps for trying a layout; a text that does not fit costs most. */
const STEPS_PER_LAYOUT = 60;

/** Longest text that any of the layouts accepts, with room for fractions. */
const MAX_LENGTH = 64;

/**
 * Reads a text as a time; undefined if it is not one. Times without a zone are UTC.
 * @throws {BudgetExceeded}
 */
export function parseWhenTime(
  text: string,
  context: RunContext,
): { seconds: number; text: string } | undefined {
  if (text.length > MAX_LENGTH || !text.includes(":") && !text.includes("-")) return undefined;
  const [, layouts = []] = LAYOUTS.find(([start]) => start.test(text)) ?? [];
  for (const layout of layouts) {
    context.step(STEPS_PER_LAYOUT);
    try {
      const time = parseTime(layout, text);
      return { seconds: time.seconds, text: timeText(time) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }
  return undefined;
}
