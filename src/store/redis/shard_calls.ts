/** Runs scripts that are about several shards, each by itself. */
import type { RedisContext } from "./context.ts";
import { listOf } from "./replies.ts";
import type { RedisScript } from "./script.ts";
import { bounded } from "./trouble.ts";

/**
 * Runs a script about things in several shards: in one call on one server, in one call for each shard on a cluster.
 * @param first arguments that come before those of each thing
 * @returns the replies, in the order of the things
 */
export async function askShards<T extends { shard: number }>(
  { link, keys }: RedisContext,
  script: RedisScript,
  first: string[],
  about: T[],
  argsOf: (one: T) => string[],
): Promise<unknown[]> {
  if (about.length === 0) return [];
  const call = async (group: T[]) => {
    const args = group.flatMap(argsOf);
    return listOf(await link.run(script, keys.shard(group[0]?.shard ?? 0), [...first, ...args]));
  };
  if (link.isOneServer) return await call(about);
  const groups = Map.groupBy(about, ({ shard }) => shard);
  const replies = new Map<T, unknown>();
  await Promise.all([...groups.values()].map(async (group) => {
    (await call(group)).forEach((reply, index) => replies.set(group[index] as T, reply));
  }));
  return about.map((one) => replies.get(one));
}

/**
 * Asks about things on several servers of a cluster.
 * @returns the answers in the order of the things; undefined for those whose server does not answer in time
 * @throws if none of them answers
 */
export async function eachThatAnswers<T, R>(
  about: readonly T[],
  ask: (one: T) => Promise<R>,
  timeoutMs: number,
): Promise<(R | undefined)[]> {
  const answers = await Promise.allSettled(about.map((one) => bounded(ask(one), timeoutMs)));
  if (answers.some(({ status }) => status === "fulfilled")) {
    return answers.map((one) => one.status === "fulfilled" ? one.value : undefined);
  }
  for (const one of answers) if (one.status === "rejected") throw one.reason;
  return [];
}
