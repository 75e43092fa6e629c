/** Times as clients write them. */
import { invalid } from "../../base/problem.ts";

const RFC3339 =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})([.,][0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * Reads an RFC 3339 time as epoch ms.
 * @throws {Problem} InvalidArgument with Go's text
 */
export function parseTimeText(text: string): number {
  const time = RFC3339.test(text) ? Date.parse(text.replace(",", ".")) : NaN;
  if (!Number.isNaN(time)) return time;
  const quoted = JSON.stringify(text);
  throw invalid(
    `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
  );
}
