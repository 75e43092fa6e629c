/** Stored workflows by name: finds the shard of each, and remembers how many shards there are. */
import { shardOf, workflowActorId } from "../actors/actor_ids.ts";
import type { Store, StoredActor } from "../store/port.ts";

export interface WorkflowSource {
  /** The stored actor of a workflow; undefined when there is none. */
  find(namespace: string, name: string): Promise<StoredActor | undefined>;
}

/** Shards of a store that nobody has started a host on. */
const DEFAULT_SHARDS = 64;

/** Makes a source over a store. */
export function createWorkflowSource(store: Store): WorkflowSource {
  let shards: Promise<number> | undefined;
  const shardCount = async (): Promise<number> => {
    // The number never changes once it is known; a failed look is forgotten.
    shards ??= store.membership.shardCount(DEFAULT_SHARDS);
    try {
      return await shards;
    } catch (error) {
      shards = undefined;
      throw error;
    }
  };
  return {
    async find(namespace, name) {
      if (namespace === "" || name === "") return undefined;
      const id = workflowActorId(namespace, name);
      return await store.shards.loadActor(shardOf(id, await shardCount()), id);
    },
  };
}
