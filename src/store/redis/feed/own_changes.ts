/**
 * What this process has committed lately, for its watches, which need not read it back from Redis. Of a shard that it owns it
 * knows every change after a certain version, as long as the epoch of the shard stays the same. The reader asks Redis for that
 * after each read, and has Redis tell the changes of all other shards.
 */
import { partsByKey } from "../../../base/part_text.ts";
import { randomUUID } from "node:crypto";
import type { Change, ShardCommit } from "../../port.ts";
import type { Version } from "../../version.ts";
import type { ShardMemory } from "../commits/shard_memory.ts";
import type { FeedEntry } from "./entry.ts";

/** Most changes that wait for the reader. */
const MAX_WAITING = 5_000;
/** Most shards whose epochs are asked for at each read: of a store with many, it costs less to read the others. */
const MAX_KNOWN = 128;

interface OwnEntry extends FeedEntry {
  shard: number;
  /** The call that wrote it. */
  call: number;
}

interface OwnShard {
  epoch: number;
  /** All changes after this version are known. */
  since: number;
}

/** Shards, and the epoch of each in which this process made all changes. */
export type KnownShards = ReadonlyMap<number, number>;

export const NONE_KNOWN: KnownShards = new Map();

export class OwnChanges {
  readonly #name = randomUUID();
  readonly #wake: () => void;
  readonly #shards = new Map<number, OwnShard>();
  /** The last answer of `knownAfter` with all shards, as long as nothing else is known of them. */
  #known: KnownShards | undefined;
  /** All of its changes are known after this version. */
  #knownSince = 0;
  #waiting: OwnEntry[] = [];
  #isWanted = false;
  #listens = false;
  #calls = 0;
  /** Calls whose changes were taken. */
  #taken = 0;

  /** @param wake makes the reader read */
  constructor(wake: () => void) {
    this.#wake = wake;
  }

  /** Somebody watches. Until somebody does, nothing is kept. */
  get isWanted(): boolean {
    return this.#isWanted;
  }

  /** Calls with commits so far. Calls are carried out in the order in which they are sent. */
  get calls(): number {
    return this.#calls;
  }

  /** What the messages about its commits say; "" while this process may have to hear them itself. */
  get sender(): string {
    return this.#isWanted && this.#listens ? this.#name : "";
  }

  begin(): void {
    this.#isWanted = true;
  }

  /** This process hears the messages about commits. */
  listens(): void {
    this.#listens = true;
  }

  end(): void {
    this.#isWanted = false;
    this.forget();
  }

  /**
   * A call with commits is being sent. The reader sends its next read right behind it, without waiting for a message.
   * @returns its number
   */
  countCall(): number {
    if (this.#isWanted) this.#wake();
    return ++this.#calls;
  }

  /** The changes of a commit as watches get them; undefined for one that only Redis can tell. To be called before it is sent. */
  draft({ actors }: ShardCommit, memory: ShardMemory): (Change | undefined)[] | undefined {
    if (!this.#isWanted) return undefined;
    return actors.map(({ id, create, remove, put, drop, index }) => {
      const before = create ? undefined : memory.entryOf(id);
      if (remove || (!create && before === undefined)) return undefined;
      const type = create ? "ADDED" : "MODIFIED";
      const change: Change = { type, id, version: "", put: partsByKey(put), drop };
      const now = index ?? before;
      if (now !== undefined) change.index = now;
      if (index !== undefined && before !== undefined) change.indexBefore = before;
      return change;
    });
  }

  /**
   * A commit was written.
   * @param drafts its changes
   * @param outcome the call that wrote it; versions of its changes, after something else, "" where nothing changed
   */
  note(
    { shard, epoch, actors }: ShardCommit,
    drafts: readonly (Change | undefined)[],
    { call, reply }: { call: number; reply: readonly (Version | undefined)[] },
  ): void {
    if (!this.#isWanted) return;
    // A call that had to be repeated is carried out after the read that was sent behind it.
    if (this.#taken >= call) this.#wake();
    let at = 0;
    for (const { silent } of actors) {
      const draft = drafts[at];
      const version = reply[++at] ?? "";
      if (version === "") continue;
      const known = this.#shards.get(shard);
      const isTold = silent || draft !== undefined;
      if (known?.epoch !== epoch || !isTold) {
        this.#shards.set(shard, { epoch, since: Number(version) });
        this.#known = undefined;
      } else if (!silent && draft !== undefined) {
        draft.version = version;
        this.#keep(draft, shard, call);
      }
    }
  }

  #keep(change: Change, shard: number, call: number): void {
    if (this.#waiting.length >= MAX_WAITING) return this.forget();
    let size = 0;
    for (const key in change.put) size += change.put[key]?.length ?? 0;
    const version = Number(change.version);
    const lacksTexts = change.type === "MODIFIED";
    this.#waiting.push({ version, change, size, lacksTexts, shard, call });
  }

  /** What happened in a shard is no longer known; in all of them by default. */
  forget(shard?: number): void {
    this.#known = undefined;
    if (shard !== undefined) {
      this.#shards.delete(shard);
    } else {
      this.#shards.clear();
      this.#waiting = [];
    }
  }

  /** Shards all of whose changes after a version are known. The same map as long as that stays as it is. */
  knownAfter(version: number): KnownShards {
    if (this.#known !== undefined && this.#knownSince <= version) return this.#known;
    const known = new Map<number, number>();
    let latest = 0;
    for (const [shard, { epoch, since }] of this.#shards) {
      latest = Math.max(latest, since);
      if (since <= version) known.set(shard, epoch);
      if (known.size === MAX_KNOWN) break;
    }
    this.#known = latest <= version ? known : undefined;
    this.#knownSince = latest;
    return known;
  }

  /** Tells whether all changes of these after a version are still known, in the same epochs. */
  stillKnows(known: KnownShards, version: number): boolean {
    if (known === this.#known) return true;
    for (const [shard, epoch] of known) {
      const now = this.#shards.get(shard);
      if (now?.epoch !== epoch || now.since > version) return false;
    }
    return true;
  }

  /**
   * Takes the changes of known shards after one version and up to another.
   * @param calls only what so many calls wrote
   */
  take(known: KnownShards, calls: number, after: number, upTo: number): FeedEntry[] {
    const taken: OwnEntry[] = [];
    this.#taken = calls;
    this.#waiting = this.#waiting.filter((entry) => {
      if (entry.version <= after) return false;
      if (entry.call > calls || entry.version > upTo || !known.has(entry.shard)) return true;
      taken.push(entry);
      return false;
    });
    return taken;
  }
}
