/** What is noted about shards and the manifests beside their feeds. */
import type { RedisContext } from "../context.ts";
import { SHARD_KEY } from "../keys.ts";
import { FIND } from "../list_scripts.ts";
import { listOf } from "../replies.ts";

/**
 * Reads a field of each; on one server with one call, which is sent before this returns.
 * @param bases of shards or of the manifests
 */
export async function readMeta(
  { link }: RedisContext,
  bases: readonly string[],
  field: string,
): Promise<unknown[]> {
  const metas = bases.map((base) => base + SHARD_KEY.meta);
  return link.isOneServer
    ? listOf(await link.run(FIND, metas[0] ?? "", ["HGET", field, ...metas]))
    : await Promise.all(metas.map((key) => link.send(key, ["HGET", key, field])));
}
