/** Booleans in the text of requests. */
import { invalid } from "../../base/problem.ts";
import { goQuote } from "./go_quote.ts";

/** Reads a boolean as Go writes it, or shorter: `true`, `T`, `1`. @throws {Problem} InvalidArgument with Go's text */
export function parseGoBool(text: string): boolean {
  if (["1", "t", "T", "TRUE", "true", "True"].includes(text)) return true;
  if (["0", "f", "F", "FALSE", "false", "False"].includes(text)) return false;
  throw invalid(`strconv.ParseBool: parsing ${goQuote(text)}: invalid syntax`);
}
