/** The version of the whole store: the server's time in microseconds, see the commit script. */
import type { Version } from "./port.ts";
import type { RedisContext } from "./redis_context.ts";
import { textsOf } from "./redis_replies.ts";

/** Every change that is committed after this call has a higher version; of several servers the slowest clock counts. */
export async function readVersion({ link }: RedisContext): Promise<Version> {
  const times = (await link.sendToAll(["TIME"])).map((reply) => {
    const [seconds, microseconds = ""] = textsOf(reply);
    return Number(`${seconds}${microseconds.padStart(6, "0")}`);
  });
  return String(Math.min(...times));
}
