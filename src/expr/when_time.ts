/** Quoted text that looks like a date or time is a number in `when`: its seconds since 1970. */
import { Fault } from "./error.ts";
import { parseTime, timeText } from "./go_layout.ts";

const LAYOUTS = [
  "Mon Jan _2 15:04:05 2006",
  "Mon Jan _2 15:04:05 MST 2006",
  "Mon Jan 02 15:04:05 -0700 2006",
  "3:04PM",
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
];

/** Longest text that any of the layouts takes, with room for fractions. */
const MAX_LENGTH = 64;

/** Reads a text as a time; undefined when it is none. Times without a zone are UTC. */
export function parseWhenTime(text: string): { seconds: number; text: string } | undefined {
  if (
    text.length > MAX_LENGTH || !/^[0-9A-Z]/i.test(text) ||
    !text.includes(":") && !text.includes("-")
  ) {
    return undefined;
  }
  for (const layout of LAYOUTS) {
    try {
      const time = parseTime(layout, text);
      return { seconds: time.seconds, text: timeText(time) };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
    }
  }
  return undefined;
}
