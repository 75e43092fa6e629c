/** Times as clients write them in requests. */
import { invalid } from "../../base/problem.ts";
import { Fault } from "./error.ts";
import { parseTime } from "./go_time_parse.ts";

/** RFC 3339, as a layout of Go. */
const LAYOUT = "2006-01-02T15:04:05Z07:00";

/**
 * Reads an RFC 3339 time as epoch ms; what is finer is dropped.
 * @throws {Problem} InvalidArgument with Go's text
 */
export function parseRequestTime(text: string): number {
  try {
    const { seconds, nanos } = parseTime(LAYOUT, text);
    return seconds * 1_000 + Math.floor(nanos / 1_000_000);
  } catch (error) {
    if (error instanceof Fault) throw invalid(error.message);
    throw error;
  }
}
