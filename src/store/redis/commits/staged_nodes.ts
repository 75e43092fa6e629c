/**
 * Nodes of new actors that are too large for one call: while Redis carries it out, it answers nobody. They are written ahead,
 * some at a time, under a name that nobody reads. The commit renames them. Those of a commit that never comes expire.
 */
import { randomUUID } from "node:crypto";
import { Turns } from "../../../platform/turns.ts";
import { isLargeCreation, isNode } from "../../large_creation.ts";
import type { ActorId, ShardCommit } from "../../port.ts";
import type { RedisContext } from "../context.ts";
import { SHARD_KEY } from "../keys.ts";
import { STAGE_NODES } from "../scripts.ts";
import { shorteningOf, shortKey, shortText } from "../texts/short_texts.ts";

/** Nodes in one call. */
const PORTION = 1_000;
/** How long they stay without the commit, ms. */
const KEPT_MS = 3_600_000;

/** What the commit script must know of such nodes: their name, a space, how many they are. By their actors. */
export type StagedNodes = ReadonlyMap<ActorId, string>;

/** Whether a commit has nodes that have to be written ahead. */
export function hasNodesToStage({ actors }: ShardCommit): boolean {
  return actors.some(isLargeCreation);
}

/** Writes such nodes of a commit. */
export async function stageNodes(
  { link, keys, terms }: RedisContext,
  { shard, actors }: ShardCommit,
): Promise<StagedNodes> {
  const { layout } = await terms();
  const staged = new Map<ActorId, string>();
  const turns = new Turns();
  for (const { id, put } of actors.filter(isLargeCreation)) {
    const name = randomUUID();
    const how = shorteningOf(layout, id);
    const nodes = put.filter(isNode);
    for (let at = 0; at < nodes.length; at += PORTION) {
      await turns.pause();
      const args = [name, String(KEPT_MS)];
      for (const part of nodes.slice(at, at + PORTION)) {
        if (how === undefined) args.push(part.key, part.text);
        else args.push(shortKey(part.key, how), shortText(part.text, how));
      }
      await link.run(STAGE_NODES, keys.shard(shard), args);
    }
    staged.set(id, `${name} ${nodes.length}`);
  }
  return staged;
}

/** Drops nodes that were written ahead for a commit that was refused. */
export async function dropStaged(
  { link, keys }: RedisContext,
  shard: number,
  staged: StagedNodes,
): Promise<void> {
  for (const shown of staged.values()) {
    const key = keys.shard(shard) + SHARD_KEY.staged + shown.slice(0, shown.indexOf(" "));
    await link.send(key, ["UNLINK", key]);
  }
}
