/** The version of the whole store: the highest that was given (see the commit script). */
import type { Version } from "../version.ts";
import type { RedisContext } from "./context.ts";
import { textsOf } from "./replies.ts";

/**
 * Every change committed after this call has a higher version. Not the time, where there is a clock of versions: the time may go
 * back before the next change. With several servers, the slowest clock counts.
 */
export async function readVersion(
  { link, keys }: Pick<RedisContext, "link" | "keys">,
): Promise<Version> {
  const shown = link.isOneServer ? await link.send(keys.clock, ["GET", keys.clock]) : null;
  if (shown !== null) return String(shown);
  const times = (await link.sendToAll(["TIME"])).map((reply) => {
    const [seconds, microseconds = ""] = textsOf(reply);
    return Number(`${seconds}${microseconds.padStart(6, "0")}`);
  });
  // A change may still come in this very microsecond.
  return String(Math.min(...times) - 1);
}
