/** The version of the whole store: the server's time in microseconds (see the commit script). */
import type { Version } from "../version.ts";
import type { RedisContext } from "./context.ts";
import { textsOf } from "./replies.ts";

/** Every change committed after this call has a higher version. With several servers, the slowest clock counts. */
export async function readVersion({ link }: RedisContext): Promise<Version> {
  const times = (await link.sendToAll(["TIME"])).map((reply) => {
    const [seconds, microseconds = ""] = textsOf(reply);
    return Number(`${seconds}${microseconds.padStart(6, "0")}`);
  });
  return String(Math.min(...times));
}
