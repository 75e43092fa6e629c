/**
 * The store port: everything Sluice keeps goes through here. Adapters: memory (tests), SQLite (embedded default), Redis
 * (production). One contract suite (`test/contract/store/store.test.ts`) runs on all of them.
 *
 * Ground rules, for every adapter:
 * - A resolved promise means durable, as far as the store's own durability setting goes.
 * - `commit` is ONE atomic step: all of it or nothing, and nothing at all when the epoch is stale.
 * - The store knows no workflow semantics: actors are named sets of parts (text), with an index entry for lists.
 * - Times are epoch milliseconds of the STORE's clock where the store decides (leases, timers' due check uses the caller's).
 * - Trouble with the backend (down, read-only, out of memory, loading) is a `Problem` with code Unavailable.
 */
import type { PartText } from "../base/part_text.ts";
import type { Json } from "../base/json.ts";
import type { IndexEntry } from "../engine/index_entry.ts";
import type { EntryFilter } from "../expr/selectors/entry_filter.ts";
import type { LabelTerm } from "../expr/selectors/label_selector.ts";
import type { CountedEntries, EntryCounts } from "./entry_counts.ts";
import type { BlobStore } from "./blob_port.ts";
import type { ManifestStore } from "./manifest_port.ts";
import type { EventStore } from "./event_port.ts";
import type { Version } from "./version.ts";

/** Name of an actor: `wf/<namespace>/<name>`, `cron/<namespace>/<name>`, `locks`. It lives in the shard of its name. */
export type ActorId = string;

/** Prefix of the keys of parts that are nodes: a list may leave them out, and an adapter may store them separately. */
export const NODE_PART_PREFIX = "n:";

/** Position in a mailbox: opaque, ordered within a shard; "" is the beginning. */
export type Cursor = string;

// ---------------------------------------------------------------------------------------------------- membership, leases

export interface Lease {
  shard: number;
  /** Fencing token of the shard: grows by one with every new owner, never reused. */
  epoch: number;
  /** When the former owner's lease ran out, if it did not give it back. */
  expiredAt?: number;
}

/** Who lives, and when that was. */
export interface Alive {
  /** As {@link Membership.replicas}. */
  replicas: string[];
  /** As {@link Membership.now}. */
  now: number;
}

export interface Membership {
  /** The store's time of day in epoch ms, which all replicas share. */
  now(): Promise<number>;
  /** Number of shards, fixed when the store was created. The first caller's wish wins; later wishes are ignored. */
  shardCount(wish: number): Promise<number>;
  /** Announces a replica as alive for `ttlMs`, and sees who lives. */
  heartbeat(replica: string, ttlMs: number): Promise<Alive>;
  /** Withdraws the announcement at once, and frees the leases that the replica still has. It may have ended without a word. */
  leave(replica: string): Promise<void>;
  /** Names of the live replicas, sorted. */
  replicas(): Promise<string[]>;
  /**
   * Takes the lease of a free or expired shard under a new epoch; undefined if another replica holds it. A replica that
   * acquires its own lease again also gets a new epoch: what it wrote under the old one and has not arrived yet never
   * will.
   */
  acquire(shard: number, replica: string, ttlMs: number): Promise<Lease | undefined>;
  /**
   * Extends leases that are still held under these epochs, even expired ones if nobody took them; returns the lost
   * shards.
   * @param unknown gets the shards whose server does not answer now, while others do
   */
  renew(leases: Lease[], replica: string, ttlMs: number, unknown?: Set<number>): Promise<number[]>;
  /** Gives a lease back; no effect if the epoch is stale. */
  release(lease: Lease): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- mailboxes and commits

/** A command on its way to an actor. Only the actor reads `body`. */
export interface Command {
  /** Unique; a sender that may repeat itself derives a stable id. */
  id: string;
  actor: ActorId;
  /** An object; a command with any other body counts as unreadable. */
  body: Json;
  /** The replica and request that wait for the answer, if any. */
  replyTo?: { replica: string; request: string };
  /** Same key and same fingerprint → same answer, one effect, for `ttlMs` (the host's default when absent). */
  idempotency?: { key: string; fingerprint: string; ttlMs?: number };
}

export interface MailboxEntry {
  shard: number;
  cursor: Cursor;
  command: Command;
  /** When it was stored; absent if the store does not tell. */
  storedAt?: number;
}

export type { IndexEntry };

export interface ActorChange {
  id: ActorId;
  /** Parts to write, each key once, and to drop; dropped first. */
  put: readonly PartText[];
  drop: string[];
  /** New index entry; undefined leaves the old one. */
  index?: IndexEntry;
  /** Removes the actor, all its parts and its index entry. */
  remove?: boolean;
  /**
   * Of a removal: the parts stay under this name until they are dropped; only `readRemains` finds them. For actors that
   * are too large to be read or removed in one step.
   */
  remains?: string;
  /** The actor must not exist yet: otherwise the whole commit fails with `ActorExists`. */
  create?: boolean;
  /** Kept out of the change feed (for example locks): all changes of one actor are, or none. */
  silent?: boolean;
}

export interface Answer {
  key: string;
  fingerprint: string;
  answer: Json;
  /** Epoch ms after which the key is free again. */
  expiresAt: number;
  /** In a commit: the store adds the version that the commit gives to this actor. Not part of a stored answer. */
  actor?: ActorId;
  /** Version that belongs to the answer. */
  version?: Version;
}

/** Actors are changed in the order of the list; one may occur twice (removed, then created). */
export interface ShardCommit {
  shard: number;
  epoch: number;
  actors: ActorChange[];
  /** Effects still to be carried out; id → text. They stay until dropped. */
  outboxPut: Record<string, string>;
  outboxDrop: string[];
  /** Durable timers: id → time when due, epoch ms. Setting an id again moves the timer. */
  timersSet: Record<string, number>;
  timersClear: string[];
  answers: Answer[];
  /** Mailbox entries up to this one are applied; they are removed. */
  cursor?: Cursor;
  /**
   * The outbox row on which this commit builds must have this text; "" means no row. If it does not, the store has lost
   * what it had acknowledged (a power cut, a fail-over): nothing is written, and the shard must be loaded again.
   */
  follows?: { row: string; text: string };
  /** Manifests were used as {@link ManifestStore.known} told them: all must still have this version. */
  ifManifests?: Version;
}

export interface CommitResult {
  /** New version of each changed actor, by id. */
  versions: Record<ActorId, Version>;
}

/**
 * Thrown by `commit`: another replica owns the shard, or the store has lost what `follows` names. Nothing was written.
 */
export class StaleEpoch extends Error {
  readonly shard: number;
  constructor(shard: number, text = `Shard ${shard} is owned by another replica`) {
    super(text);
    this.name = "StaleEpoch";
    this.shard = shard;
  }
}

/** Thrown by `commit`: an actor to be created exists. Nothing was written. */
export class ActorExists extends Error {
  readonly actor: ActorId;
  constructor(actor: ActorId) {
    super(`Actor ${actor} exists`);
    this.name = "ActorExists";
    this.actor = actor;
  }
}

export interface StoredActor {
  id: ActorId;
  version: Version;
  parts: Record<string, string>;
  /** It is beyond the given bounds: none of its nodes are among the parts. */
  withoutNodes?: true;
}

/** Bounds up to which an actor is loaded with its nodes. */
export interface LoadBounds {
  /** Most nodes. */
  maxNodes: number;
  /** Most characters of all parts. */
  maxSize: number;
}

/** The state from which a new owner of a shard starts. */
export interface ShardState {
  cursor: Cursor;
  outbox: Record<string, string>;
  timers: Record<string, number>;
}

export interface ShardStore {
  /**
   * Puts commands into the mailboxes of their shards. Each is one atomic step, but several are not: after a refusal
   * some may have been stored.
   */
  append(entries: { shard: number; command: Command }[]): Promise<void>;
  /**
   * Entries after the given cursors, in order within a shard, at most `max` in all; if there are more, the shards take
   * turns. Waits up to `waitMs` if there are none; an aborted wait returns what it has.
   */
  readMailboxes(
    after: { shard: number; cursor: Cursor }[],
    max: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<MailboxEntry[]>;
  /**
   * Writes all of it or nothing.
   * @throws {StaleEpoch}, {ActorExists} or {ManifestsChanged}: nothing was written
   * @throws {Problem} Unavailable: nothing was written, or with `mayBeDone` the commit may or may not have been. Then load
   * the shard and its actors again before the next commit; after that load, the lost commit can no longer arrive.
   */
  commit(commit: ShardCommit): Promise<CommitResult>;
  /** @param maxTimers number of timers to load, those that are due first. @default all */
  loadShard(shard: number, maxTimers?: number): Promise<ShardState>;
  /** @param bounds an actor beyond these is loaded without its nodes. @default no bounds */
  loadActor(shard: number, id: ActorId, bounds?: LoadBounds): Promise<StoredActor | undefined>;
  /**
   * Parts that a removal has left under this name, about `max` at most, from a cursor on; "" is the beginning. Some may
   * be returned twice. Without a next cursor, there are no more.
   */
  readRemains(
    shard: number,
    name: string,
    cursor: string,
    max: number,
  ): Promise<{ parts: Record<string, string>; next?: string }>;
  /** Drops everything under this name, in pieces: others get their turn in between. */
  dropRemains(shard: number, name: string): Promise<void>;
  /** Stored answers that are not expired, by key. */
  findAnswers(shard: number, keys: string[]): Promise<Record<string, Answer>>;
  /** Sends a replica the answers to requests; they are lost if nobody listens. */
  reply(replica: string, answers: { request: string; answer: Json }[]): Promise<void>;
  /** Listens for the answers to a replica until the signal aborts. Resolves as soon as it listens. */
  onReply(
    replica: string,
    hear: (request: string, answer: Json) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- lists and watches

export type { LabelTerm };

/** Filters of a list. All given ones must hold; bounds are inclusive. */
export interface ListQuery extends EntryFilter {
  /** Prefix of actor ids, for example `wf/`. */
  kind: "wf";
  /** Only entries with `waitsSince`, in another order: oldest first. */
  waiting?: boolean;
  /** Value of an indexed parameter. Only the archive filters by it, so the caller does too. */
  parameter?: { name: string; value: string };
  /** 0 = all. */
  limit: number;
  /**
   * Most entries to examine, roughly. A page that selects few of many entries ends there, with fewer items and a token
   * to continue. @default all
   */
  maxScan?: number;
  /**
   * Most characters of parts to load, roughly. A larger page ends there with a token to continue, but has at least one
   * item.
   * @default all
   */
  maxSize?: number;
  /** Opaque token of the previous page; any other text is InvalidArgument. */
  continue?: string;
  /** Keys of the parts to load. @default all */
  parts?: readonly string[];
  /**
   * Leaves out the parts with NODE_PART_PREFIX, without reading them: a workflow of 10,000 nodes costs as little as a
   * small one.
   */
  withoutNodes?: boolean;
  /** Count what comes after the page; this may be expensive. */
  count?: boolean;
}

/**
 * Newest first: by `createdAt`, then by id, both descending. The position of an object never changes, so pages neither
 * skip nor repeat objects, whatever changes in between. Callers that show another order sort within the page. A list of
 * those that are waiting begins with the earliest `waitsSince`. An object that waits anew moves towards the end, so it may
 * come twice.
 */
export interface ListPage {
  items: (StoredActor & {
    index: IndexEntry;
    /** The token that continues after it, where its place does not tell. */
    continue?: string;
  })[];
  continue?: string;
  remaining?: number;
  /** The archive did not answer, so finished workflows are missing. */
  isWithoutArchive?: true;
  /** Version of the store at the time of the list: a watch from it sees all later changes. */
  version: Version;
}

export interface Change {
  type: "ADDED" | "MODIFIED" | "DELETED";
  /** Actor or manifest key: `wf/ns/name`, `WorkflowTemplate/ns/name`, … */
  id: string;
  version: Version;
  /** The change itself: parts written and dropped; for manifests the one part `m`. DELETED carries nothing. */
  put: Record<string, string>;
  drop: string[];
  /**
   * Earlier texts of the parts that it wrote or dropped; for DELETED of all parts, without nodes if the removal has
   * left remains. Absent if there were none. A history always has them; a watch may leave out those of MODIFIED.
   */
  before?: Record<string, string>;
  /** For MODIFIED without `before`: the index entry that the change replaced. Absent if it wrote none. */
  indexBefore?: IndexEntry;
  /** The index entry after the change (for DELETED, the last one), even if the change did not touch it. */
  index?: IndexEntry;
  /** It lacks texts: it can't be read, or made an actor whose nodes are too large for the feed. Who follows that must load it. */
  mustLoad?: true;
  /** Characters of those nodes. */
  nodesSize?: number;
}

/** Thrown by a watch whose start is no longer in the feed. The caller lists again. */
export class VersionTooOld extends Error {
  constructor(version: Version) {
    super(`too old resource version: ${version}`);
    this.name = "VersionTooOld";
  }
}

export interface QueryStore {
  list(query: ListQuery): Promise<ListPage>;
  /**
   * How many entries were created in each span of time. Reads their order alone, never an entry, and lets others have their
   * turn.
   * @param bounds epoch ms, ascending: a span goes from one up to, and not including, the next
   */
  count(of: CountedEntries, bounds: readonly number[]): Promise<EntryCounts>;
  /** Finds the actor id by object uid, for `…-by-uid` routes; undefined if it is unknown. */
  findByUid(uid: string): Promise<ActorId | undefined>;
  /** Current version of the feed. */
  version(): Promise<Version>;
  /**
   * Changes after a version (default: from the call on), in order, each once, until the signal aborts, which ends it
   * without an error. Batches are bounded. A slow reader keeps nothing in memory, and gets VersionTooOld if the feed
   * was trimmed past it.
   */
  watch(after: Version | undefined, signal: AbortSignal): AsyncIterable<Change[]>;
  /**
   * Changes after a version that exist now, in order; a bounded number of them, or none.
   * @throws {VersionTooOld} the feed was trimmed past it
   */
  changes(after: Version): Promise<Change[]>;
  /** All changes of one actor after a version, in order. @throws {VersionTooOld} the feed was trimmed past it */
  history(shard: number, id: ActorId, after: Version): Promise<Change[]>;
}

/**
 * What an acknowledged write survives. `always`: a power cut. `everysec`: the death of any process, and a power cut
 * except for the last moments. `none`: not even the end of the backend. `unknown`: the backend doesn't tell.
 */
export type Durability = "always" | "everysec" | "none" | "unknown";

/** The whole store, as adapters implement it. */
export interface Store {
  readonly membership: Membership;
  readonly shards: ShardStore;
  readonly query: QueryStore;
  readonly manifests: ManifestStore;
  readonly events: EventStore;
  readonly blobs: BlobStore;
  /** Resolves when the backend answers; rejects with Unavailable otherwise. */
  ping(): Promise<void>;
  /** What the backend's settings promise, as read when it was opened. */
  durability?(): Durability;
  /**
   * Removes everything except membership: shards, leases and epochs stay, versions go on growing, and earlier watches
   * are too old. For tests and the conformance server.
   */
  clear(): Promise<void>;
  close(): Promise<void>;
}
