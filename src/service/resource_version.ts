/** Where a watch begins. */
import { invalid } from "../base/problem.ts";
import { goQuote } from "../expr/values/go_quote.ts";
import type { QueryStore } from "../store/port.ts";
import type { Version } from "../store/version.ts";

const MOST = 2n ** 64n - 1n;

/**
 * Reads the `resourceVersion` of a watch: empty, or a whole number of 64 bits. Zeros before it are left out, because versions
 * are compared as texts.
 * @throws {Problem} InvalidArgument
 */
export function readResourceVersion(text: string): Version {
  if (text === "") return "";
  const reason = !/^[0-9]+$/.test(text)
    ? "invalid syntax"
    : text.length > 40 || BigInt(text) > MOST
    ? "value out of range"
    : undefined;
  if (reason === undefined) return BigInt(text).toString();
  const quoted = goQuote(text);
  throw invalid(
    `resourceVersion: Invalid value: ${quoted}: strconv.ParseUint: parsing ${quoted}: ${reason}`,
  );
}

/**
 * Refuses a version that the store has not given yet: it comes from another store, or from changes that were lost. Whoever began
 * there would miss everything until the store reaches it.
 * @param text as `readResourceVersion` gives it
 * @throws {Problem} InvalidArgument, as for a version that is too old: the caller lists again
 */
export async function checkNotAhead(
  query: Pick<QueryStore, "version">,
  text: string,
): Promise<void> {
  if (text === "" || text === "0") return;
  const current = await query.version();
  if (BigInt(text) <= BigInt(current)) return;
  throw invalid(
    `too large resource version: ${text}, current: ${current}; it is of another store, or of what was lost: list again`,
  );
}
