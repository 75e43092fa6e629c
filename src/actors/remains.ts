/** The nodes of a large workflow after it was removed: what they left outside is cleaned up a few nodes at a time, then they go. */
import { leftByNode } from "../engine/cleanup/deletion.ts";
import type { Effect, UnwantedArtifacts } from "../engine/effect.ts";
import { Turns } from "../platform/turns.ts";
import { NODE_PART_PREFIX, type ShardStore } from "../store/port.ts";

/** Nodes that are looked at together. */
const PORTION = 200;

export interface RemainsDeps {
  shards: Pick<ShardStore, "readRemains" | "dropRemains">;
  /** Removes what ended tasks have left behind. */
  clean(tasks: string[]): Promise<void>;
  /** Removes artifacts. */
  collect(unwanted: UnwantedArtifacts): Promise<void>;
}

/** Sees to all nodes that a removal has left. Begins again from the first one after a crash: nothing of it harms when done twice. */
export async function sweepRemains(
  shard: number,
  effect: Extract<Effect, { type: "sweep-remains" }>,
  { shards, clean, collect }: RemainsDeps,
): Promise<void> {
  const { remains, repositoryRef } = effect;
  // A store in the process itself answers at once.
  const turns = new Turns("remains");
  for (let cursor: string | undefined = ""; cursor !== undefined;) {
    const { parts, next } = await shards.readRemains(shard, remains, cursor, PORTION);
    const left = Object.entries(parts)
      .filter(([key]) => key.startsWith(NODE_PART_PREFIX))
      .map(([, text]) => leftByNode(text, effect));
    const tasks = left.flatMap((one) => one.tasks);
    const artifacts = left.flatMap((one) => one.artifacts);
    if (tasks.length > 0) await clean(tasks);
    if (artifacts.length > 0) {
      const former = left.flatMap((one) => one.formerKeys);
      await collect({
        artifacts,
        ...(repositoryRef === undefined ? {} : { repositoryRef }),
        ...(former.length === 0 ? {} : { formerKeys: former }),
      });
    }
    cursor = next;
    await turns.pause();
  }
  await shards.dropRemains(shard, remains);
}
