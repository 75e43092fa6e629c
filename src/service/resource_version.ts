/** Where a watch begins. */
import { invalid } from "../base/problem.ts";
import { goQuote } from "../expr/values/go_quote.ts";

const MOST = 2n ** 64n - 1n;

/**
 * Checks the `resourceVersion` of a watch: empty, or a whole number of 64 bits. A larger one would wait for ever.
 * @throws {Problem} InvalidArgument
 */
export function checkResourceVersion(text: string): void {
  if (text === "") return;
  const reason = !/^[0-9]+$/.test(text)
    ? "invalid syntax"
    : text.length > 40 || BigInt(text) > MOST
    ? "value out of range"
    : undefined;
  if (reason === undefined) return;
  const quoted = goQuote(text);
  throw invalid(
    `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${reason}`,
  );
}
