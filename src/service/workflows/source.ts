/** Stored workflows by name: finds the shard of each, and remembers how many shards there are. */
import { shardOf, workflowActorId } from "../../actors/actor_ids.ts";
import type { ActorId, Change, LoadBounds, Store, StoredActor } from "../../store/port.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Version } from "../../store/version.ts";
import { LargeReads } from "./large_reads.ts";

export interface WorkflowSource {
  /** Room for those that are large. */
  readonly large: LargeReads;
  /** The stored actor of a workflow; undefined when there is none. */
  find(namespace: string, name: string): Promise<StoredActor | undefined>;
  /** The same without nodes, unless there are few. */
  findHead(namespace: string, name: string): Promise<StoredActor | undefined>;
  /** Actors by id, and what happened to them: the source of read models. */
  readonly actors: {
    load(id: ActorId): Promise<StoredActor | undefined>;
    history(id: ActorId, after: Version): Promise<Change[]>;
  };
}

/** Most nodes that are loaded although they are not wanted. */
const FEW_NODES: LoadBounds = { maxNodes: 10, maxSize: 2 ** 16 };

/** Number of shards of a store on which no host has been started yet. */
const DEFAULT_SHARDS = 64;

/** Makes a source over a store. */
export function createWorkflowSource(store: Store, clock: Clock): WorkflowSource {
  let shards: Promise<number> | undefined;
  const shardCount = async (): Promise<number> => {
    // Once known, the number never changes. A failure is forgotten.
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
  const large = new LargeReads(clock);
  return {
    large,
    async find(namespace, name) {
      if (namespace === "" || name === "") return undefined;
      const id = workflowActorId(namespace, name);
      return await large.load(namespace, (bounds) => load(id, bounds));
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
