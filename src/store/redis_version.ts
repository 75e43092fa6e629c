/** The version of the whole store: the server's time in microseconds, see the commit script. */
import type { Version } from "./port.ts";
import type { RedisContext } from "./redis_context.ts";
import { textsOf } from "./redis_replies.ts";

/** Every change that is committed after this call has a higher version, on one server. */
export async function readVersion({ link, keys }: RedisContext): Promise<Version> {
  const [seconds, microseconds = ""] = textsOf(await link.send(keys.replicas, ["TIME"]));
  return `${seconds}${microseconds.padStart(6, "0")}`;
}
