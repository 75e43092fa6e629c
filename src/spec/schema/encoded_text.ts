/** Texts that stand for something else, with the texts of Go's errors about them. */
import { base64Decode } from "../../expr/functions/builtins_convert.ts";
import { formatTime } from "../../expr/values/go_time_format.ts";
import { parseTime } from "../../expr/values/go_time_parse.ts";

const RFC3339 = "2006-01-02T15:04:05Z07:00";
/** An RFC 3339 time. */
export const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/**
 * A time. Forms that only Go reads (`5:00:00`, a comma before the fraction) are rewritten.
 * @throws {Fault} when it is none, or does not exist
 */
export function readTime(text: string): string {
  const time = parseTime(RFC3339, text);
  return TIME.test(text) ? text : formatTime(time, RFC3339);
}

/**
 * Bytes in base64, without line breaks: YAML's block texts end with one.
 * @throws {Fault}
 */
export function readBytes(text: string): string {
  // Almost all are good as they are, and may be large.
  if (BASE64.test(text)) return text;
  base64Decode(text);
  return text.replace(/[\r\n]/g, "");
}
