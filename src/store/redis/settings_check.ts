/** What the settings of the Redis server mean for us: too old, may drop data, how durable. */
import { Problem, ProblemCode } from "../../base/problem.ts";
import type { Durability } from "../port.ts";
import type { RedisContext } from "./context.ts";
import { pairsOf } from "./replies.ts";
import { isForbidden } from "./trouble.ts";

/** Reads the server's version and durability. Managed servers, and users without the right, tell nothing. */
export async function checkSettings(
  { link, keys }: RedisContext,
  onTrouble: (text: string) => void,
): Promise<Durability> {
  const ask = async (args: string[]) => {
    try {
      return await link.send(keys.shardCount, args);
    } catch (error) {
      if (error instanceof Problem && !isForbidden(error)) throw error;
      return undefined;
    }
  };
  await link.send(keys.shardCount, ["PING"]);
  const server = String(await ask(["INFO", "server"]) ?? "");
  const [, version, major, minor] = /redis_version:((\d+)\.(\d+)\S*)/.exec(server) ?? [];
  if (version !== undefined && Number(major) * 100 + Number(minor) < 602) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      `Redis ${version} is too old: version 6.2 or later is needed`,
    );
  }
  if (link.isOneServer && /redis_mode:cluster/.test(server)) {
    throw new Problem(
      ProblemCode.FailedPrecondition,
      "Redis is a cluster: write redis+cluster:// in place of redis://",
    );
  }
  const memory = new Map(pairsOf(await ask(["CONFIG", "GET", "maxmemory*"])));
  const policy = memory.get("maxmemory-policy") ?? "noeviction";
  if (memory.get("maxmemory") !== "0" && policy !== "noeviction") {
    onTrouble(
      `Redis may drop workflows when its memory is full: set maxmemory-policy to noeviction (it is ${policy})`,
    );
  }
  const settings = new Map(pairsOf(await ask(["CONFIG", "GET", "append*"])));
  const fsync = settings.get("appendfsync");
  if (fsync === undefined) return "unknown";
  if (settings.get("appendonly") !== "yes" || fsync === "no") return "none";
  return fsync === "always" ? "always" : "everysec";
}
