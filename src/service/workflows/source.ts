/** Stored workflows by name: finds the shard of each, and remembers how many shards there are. */
import { shardOf, workflowActorId } from "../../actors/actor_ids.ts";
import type { ActorId, Change, LoadBounds, Store, StoredActor } from "../../store/port.ts";
import type { Clock } from "../../platform/clock.ts";
import type { Version } from "../../store/version.ts";
import { Hold } from "./hold.ts";
import { LargeReads, SMALL_READ } from "./large_reads.ts";

export interface WorkflowSource {
  /**
   * What a request holds that is about to begin: nothing yet.
   * @param party its caller, who has a share of the room
   * @param goneSignal see {@link Hold}
   */
  newHold(party: string, goneSignal?: () => AbortSignal): Hold;
  /** The same source for one request: what it finds has room until the hold is released. Outside of requests nothing is held. */
  heldBy(hold: Hold): WorkflowSource;
  /**
   * Loads a page of a list, and takes room for it. While there is none, nothing is held.
   * @throws {Problem} Unavailable when there is none for a long time
   */
  page<Page>(load: () => Promise<Page>, sizeOf: (page: Page) => number): Promise<Page>;
  /** Gives back the room for a page that is sent. */
  givePage(size: number): void;
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

/** What the sources of all requests share. */
interface Shared {
  large: LargeReads;
  load(id: ActorId, bounds?: LoadBounds): Promise<StoredActor | undefined>;
  actors: WorkflowSource["actors"];
}

class Source implements WorkflowSource {
  readonly #shared: Shared;
  readonly #hold: Hold | undefined;

  constructor(shared: Shared, hold?: Hold) {
    this.#shared = shared;
    this.#hold = hold;
  }

  get actors(): WorkflowSource["actors"] {
    return this.#shared.actors;
  }

  newHold(party: string, goneSignal?: () => AbortSignal): Hold {
    return new Hold(this.#shared.large, party, goneSignal);
  }

  heldBy(hold: Hold): WorkflowSource {
    return new Source(this.#shared, hold);
  }

  page<Page>(load: () => Promise<Page>, sizeOf: (page: Page) => number): Promise<Page> {
    return this.#shared.large.page(load, sizeOf, this.#hold);
  }

  givePage(size: number): void {
    // Others took none.
    if (size > SMALL_READ) this.#hold?.give(size);
  }

  async find(namespace: string, name: string): Promise<StoredActor | undefined> {
    if (namespace === "" || name === "") return undefined;
    const { large, load } = this.#shared;
    const id = workflowActorId(namespace, name);
    return await large.load(id, (bounds) => load(id, bounds), this.#hold);
  }

  async findHead(namespace: string, name: string): Promise<StoredActor | undefined> {
    if (namespace === "" || name === "") return undefined;
    const { large, load } = this.#shared;
    const id = workflowActorId(namespace, name);
    return await large.loadSmall(() => load(id, FEW_NODES), this.#hold);
  }
}

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
  return new Source({
    large: new LargeReads(clock),
    load,
    actors: {
      load: (id) => load(id),
      history: async (id, after) =>
        await store.query.history(shardOf(id, await shardCount()), id, after),
    },
  });
}
