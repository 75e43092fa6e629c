/** Stored workflows by name: finds the shard of each, and remembers how many shards there are. */
import { shardOf, workflowActorId } from "../actors/actor_ids.ts";
import type { ActorId, Change, LoadBounds, Store, StoredActor, Version } from "../store/port.ts";

export interface WorkflowSource {
  /** The stored actor of a workflow; undefined when there is none. */
  find(namespace: string, name: string): Promise<StoredActor | undefined>;
  /** The same without nodes, unless there are few. */
  findHead(namespace: string, name: string): Promise<StoredActor | undefined>;
  /** The same by id, and what happened to it: what read models are made from. */
  readonly actors: {
    load(id: ActorId): Promise<StoredActor | undefined>;
    history(id: ActorId, after: Version): Promise<Change[]>;
  };
}

/** Nodes that are loaded where they are not wanted. */
const FEW_NODES: LoadBounds = { maxNodes: 10, maxSize: 2 ** 16 };

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
  const load = async (id: ActorId, bounds?: LoadBounds) =>
    await store.shards.loadActor(shardOf(id, await shardCount()), id, bounds);
  return {
    async find(namespace, name) {
      if (namespace === "" || name === "") return undefined;
      return await load(workflowActorId(namespace, name));
    },
    async findHead(namespace, name) {
      if (namespace === "" || name === "") return undefined;
      return await load(workflowActorId(namespace, name), FEW_NODES);
    },
    actors: {
      load: (id) => load(id),
      history: async (id, after) =>
        await store.query.history(shardOf(id, await shardCount()), id, after),
    },
  };
}
