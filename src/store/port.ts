/**
 * The store port: everything Sluice keeps goes through here. Adapters: memory (tests), SQLite (embedded default), Redis
 * (production). One contract suite (`test/contract/store.test.ts`) runs on all of them.
 *
 * Ground rules, for every adapter:
 * - A resolved promise means durable, as far as the store's own durability setting goes.
 * - `commit` is ONE atomic step: all of it or nothing, and nothing at all when the epoch is stale.
 * - The store knows no workflow semantics: actors are named sets of parts (text), with an index entry for lists.
 * - Times are epoch milliseconds of the STORE's clock where the store decides (leases, timers' due check uses the caller's).
 * - Trouble with the backend (down, read-only, out of memory, loading) is a `Problem` with code Unavailable.
 */
import type { RawBytes } from "./raw_bytes.ts";
import type { Json } from "../base/json.ts";
import type { IndexEntry } from "../engine/index_entry.ts";
import type { LabelTerm } from "../expr/label_selector.ts";
import type { ManifestKind } from "../spec/manifest.ts";

/** Name of an actor: `wf/<namespace>/<name>`, `cron/<namespace>/<name>`, `locks`. It lives in the shard of its name. */
export type ActorId = string;

/** Part keys that begin so are nodes: a list may leave them out, and an adapter may keep them apart. */
export const NODE_PART_PREFIX = "n:";

/** A decimal string that grows with every change; per object strictly, over all objects in the order of commits. */
export type Version = string;

/** Position in a mailbox; opaque, ordered within a shard. "" is the beginning. */
export type Cursor = string;

// ---------------------------------------------------------------------------------------------------- membership, leases

export interface Lease {
  shard: number;
  /** Fencing token of the shard: grows by one with every new owner, never reused. */
  epoch: number;
}

export interface Membership {
  /** The store's time of day, epoch ms: the one that all replicas share. */
  now(): Promise<number>;
  /** Number of shards, fixed when the store was born. The first caller's wish wins; later wishes are ignored. */
  shardCount(wish: number): Promise<number>;
  /** Announces a replica as alive for `ttlMs`. */
  heartbeat(replica: string, ttlMs: number): Promise<void>;
  /** Takes the announcement back at once. */
  leave(replica: string): Promise<void>;
  /** Names of the live replicas, sorted. */
  replicas(): Promise<string[]>;
  /**
   * Takes the lease of a free or expired shard under a new epoch; undefined when somebody else holds it. Whoever takes its
   * own lease again gets a new epoch too: what it wrote under the old one and has not arrived yet never will.
   */
  acquire(shard: number, replica: string, ttlMs: number): Promise<Lease | undefined>;
  /** Extends leases still held under these epochs, also expired ones that nobody took; returns the shards that were lost. */
  renew(leases: Lease[], replica: string, ttlMs: number): Promise<number[]>;
  /** Gives a lease back; no effect when the epoch is stale. */
  release(lease: Lease): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- mailboxes and commits

/** A command on its way to an actor. `body` is the actor's own business. */
export interface Command {
  /** Unique; senders that may repeat use a derived, stable id. */
  id: string;
  actor: ActorId;
  /** An object: anything else is not read again. */
  body: Json;
  /** Replica and request waiting for the answer, if any. */
  replyTo?: { replica: string; request: string };
  /** Same key and same fingerprint → same answer, one effect, for `ttlMs` (the host's default when absent). */
  idempotency?: { key: string; fingerprint: string; ttlMs?: number };
}

export interface MailboxEntry {
  shard: number;
  cursor: Cursor;
  command: Command;
}

export type { IndexEntry };

export interface ActorChange {
  id: ActorId;
  /** Parts to write (key → text) and to drop; dropped first. */
  put: Record<string, string>;
  drop: string[];
  /** New index entry; undefined leaves it as it is. */
  index?: IndexEntry;
  /** Removes the actor, all its parts and its index entry. */
  remove?: boolean;
  /**
   * Of a removal: the parts stay under this name, where nobody finds them but `readRemains`, until they are dropped. For an
   * actor that is too large to be read or removed in one step.
   */
  remains?: string;
  /** Must not exist yet: otherwise the whole commit fails with `ActorExists`. */
  create?: boolean;
  /** Kept out of the change feed (for example locks). */
  silent?: boolean;
}

export interface Answer {
  key: string;
  fingerprint: string;
  answer: Json;
  /** Epoch ms after which the key is free again. */
  expiresAt: number;
  /** In a commit: the store adds the version that the commit gives to this actor. Not part of what is found. */
  actor?: ActorId;
  /** Version that belongs to the answer. */
  version?: Version;
}

/** Actors are changed in the order of the list; the same one may be there twice (removed, then created). */
export interface ShardCommit {
  shard: number;
  epoch: number;
  actors: ActorChange[];
  /** Effects still to be done outside; id → text. They stay until dropped. */
  outboxPut: Record<string, string>;
  outboxDrop: string[];
  /** Durable timers: id → due, epoch ms. Setting an id again moves it. */
  timersSet: Record<string, number>;
  timersClear: string[];
  answers: Answer[];
  /** Everything up to here is applied; entries up to it are trimmed. */
  cursor?: Cursor;
  /**
   * Outbox row that must have this text, "" for none: what this commit builds on. It is otherwise when the store has lost
   * what it had acknowledged (a power cut, a fail-over); then nothing is written, and the shard must be loaded again.
   */
  follows?: { row: string; text: string };
}

export interface CommitResult {
  /** New version of each changed actor, by id. */
  versions: Record<ActorId, Version>;
}

/** Thrown by `commit`: another replica owns the shard now, or the store has lost what `follows` names; nothing was written. */
export class StaleEpoch extends Error {
  readonly shard: number;
  constructor(shard: number, text = `Shard ${shard} is owned by another replica`) {
    super(text);
    this.name = "StaleEpoch";
    this.shard = shard;
  }
}

/** Thrown by `commit`: an actor to be created exists; nothing was written. */
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
  /** It has more nodes than were wanted: none of them is among the parts. */
  withoutNodes?: true;
}

/** Bounds of what is loaded of an actor with its nodes. */
export interface LoadBounds {
  /** Most nodes. */
  maxNodes: number;
  /** Most characters of all parts. */
  maxSize: number;
}

/** What a new owner of a shard starts from. */
export interface ShardState {
  cursor: Cursor;
  outbox: Record<string, string>;
  timers: Record<string, number>;
}

export interface ShardStore {
  /**
   * Puts commands into the mailboxes of their shards; refused with Unavailable when the store can't. Each entry is one
   * atomic step, several are not: after a refusal some may be in.
   */
  append(entries: { shard: number; command: Command }[]): Promise<void>;
  /**
   * Entries after the given cursors, in order within a shard, at most `max` in all; when there are more, the shards
   * take turns. Waits up to `waitMs` when there are
   * none; an aborted wait returns what it has.
   */
  readMailboxes(
    after: { shard: number; cursor: Cursor }[],
    max: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<MailboxEntry[]>;
  /**
   * Writes all of it or nothing.
   * @throws {StaleEpoch} {ActorExists} nothing was written
   * @throws {Problem} Unavailable: may or may not have been written. Load the shard and its actors again before the next
   * commit; from that load on, the lost commit can no longer arrive.
   */
  commit(commit: ShardCommit): Promise<CommitResult>;
  /** @param maxTimers so many timers are loaded, those that are due first. @default all */
  loadShard(shard: number, maxTimers?: number): Promise<ShardState>;
  /** @param bounds an actor beyond them comes without its nodes. @default none */
  loadActor(shard: number, id: ActorId, bounds?: LoadBounds): Promise<StoredActor | undefined>;
  /**
   * Parts of what a removal has left under this name, at most about `max`, from a cursor on; "" is the beginning. Some may
   * come twice. Without a next cursor there are no more.
   */
  readRemains(
    shard: number,
    name: string,
    cursor: string,
    max: number,
  ): Promise<{ parts: Record<string, string>; next?: string }>;
  /** Drops all of it, in pieces: others get their turn in between. */
  dropRemains(shard: number, name: string): Promise<void>;
  /** Stored answers that are not expired, by key. */
  findAnswers(shard: number, keys: string[]): Promise<Record<string, Answer>>;
  /** Tells a replica the answer to a request it waits for; lost when nobody listens. */
  reply(replica: string, answers: { request: string; answer: Json }[]): Promise<void>;
  /** Hears the answers meant for a replica, until the signal aborts. Resolves as soon as it listens. */
  onReply(
    replica: string,
    hear: (request: string, answer: Json) => void,
    signal: AbortSignal,
  ): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- lists and watches

export type { LabelTerm };

/** Filters of a list; all given ones must hold, bounds are inclusive. */
export interface ListQuery {
  /** Prefix of actor ids, for example `wf/`. */
  kind: "wf";
  namespace?: string;
  notNamespace?: string;
  name?: { value: string; match: "exact" | "contains" | "prefix" | "not" };
  labels?: LabelTerm[];
  phases?: string[];
  createdAfter?: number;
  startedAfter?: number;
  startedBefore?: number;
  finishedBefore?: number;
  finishedAfter?: number;
  /** 0 = all. */
  limit: number;
  /**
   * Entries to look at, roughly: a page of a query that selects few of many ends then, with fewer items and a token to go on
   * from. @default all
   */
  maxScan?: number;
  /**
   * Characters of parts to load, roughly: a page of more ends there with a token to go on from, but has one item at least.
   * @default all
   */
  maxSize?: number;
  /** Opaque token of the page before; any other text is InvalidArgument. */
  continue?: string;
  /** Keys of the only parts to load. @default all parts */
  parts?: readonly string[];
  /** Leaves out the parts with NODE_PART_PREFIX, at the source: a workflow of 10,000 nodes costs as little as a small one. */
  withoutNodes?: boolean;
  /** Count what comes after the page; may cost. */
  count?: boolean;
}

/**
 * Newest first: by `createdAt`, then by id, both descending. The order never changes for an object, so pages neither skip
 * nor repeat one, whatever changes in between; callers that show another order sort within the page.
 */
export interface ListPage {
  items: (StoredActor & { index: IndexEntry })[];
  continue?: string;
  remaining?: number;
  /** Version of the store at the time of the list: a watch that starts from it sees all later changes. */
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
   * Texts of the parts that it wrote or dropped as they were before, of all parts for DELETED, without nodes where the
   * removal has left remains; absent when there was none.
   */
  before?: Record<string, string>;
  /** The index entry after the change (the last one for DELETED), also when the change did not touch it. */
  index?: IndexEntry;
  /** What it wrote can't be read: whoever follows the actor loads it again. */
  unreadable?: true;
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
  /** Finds the actor id by object uid, for `…-by-uid` routes; undefined when unknown. */
  findByUid(uid: string): Promise<ActorId | undefined>;
  /** Current version of the feed. */
  version(): Promise<Version>;
  /**
   * Changes after a version (default: from the call on), in order, each once, until the signal aborts (then it ends
   * without an error). Bounded batches; a reader that is slow holds nothing in memory, and gets VersionTooOld when the
   * feed was trimmed past it.
   */
  watch(after: Version | undefined, signal: AbortSignal): AsyncIterable<Change[]>;
  /**
   * Changes after a version that are there now, in order, a bounded number of them; none when there is nothing.
   * @throws {VersionTooOld} the feed was trimmed past it
   */
  changes(after: Version): Promise<Change[]>;
  /**
   * All changes of one actor after a version, in order.
   * @throws {VersionTooOld} the feed was trimmed past it
   */
  history(shard: number, id: ActorId, after: Version): Promise<Change[]>;
}

// ---------------------------------------------------------------------------------------------------- manifests

export interface StoredManifest {
  kind: ManifestKind;
  /** "" for cluster-wide kinds. */
  namespace: string;
  name: string;
  version: Version;
  /** The object as JSON text, without resourceVersion (it is `version`). */
  text: string;
  labels: Record<string, string>;
}

export interface ManifestStore {
  get(kind: ManifestKind, namespace: string, name: string): Promise<StoredManifest | undefined>;
  /**
   * What was stored at some version of all manifests, without a call; `EventStore.offer` finds out whether it still is.
   * Undefined, or absent, where that is not known.
   */
  known?(
    kind: ManifestKind,
    namespace: string,
    name: string,
  ): { stored: StoredManifest | undefined; manifests: Version } | undefined;
  /** Sorted by namespace and name. `namespace` undefined = all. */
  list(
    kind: ManifestKind,
    query: {
      namespace?: string;
      labels?: LabelTerm[];
      nameContains?: string;
      limit: number;
      /** As in `ListQuery`. */
      maxSize?: number;
      continue?: string;
    },
  ): Promise<{ items: StoredManifest[]; continue?: string; version: Version }>;
  /**
   * Writes when the stored version equals `expect`: undefined = must not exist, "*" = whatever is there. Otherwise returns
   * the conflict. `text` comes back where it is not the given one: the cluster gives objects their own uid and times.
   */
  put(
    manifest: Omit<StoredManifest, "version">,
    expect: Version | undefined | "*",
  ): Promise<{ version: Version; text?: string } | { conflict: "exists" | "missing" | "changed" }>;
  /** Removes it and returns what was removed; undefined when there is none, or none of version `expect`. */
  remove(
    kind: ManifestKind,
    namespace: string,
    name: string,
    expect?: Version,
  ): Promise<StoredManifest | undefined>;
}

// ---------------------------------------------------------------------------------------------------- events

export interface QueuedEvent {
  id: string;
  namespace: string;
  discriminator: string;
  /** Body, metadata and sender, as text. */
  text: string;
  receivedAt: number;
  /** Attempts so far; 0 for a new one. Rises with `retryLater` and each time it is claimed from a silent worker. */
  attempts: number;
  /** Body size in bytes, for the delivery record. @default the size of `text` */
  size?: number;
  /** Version of all manifests when it was taken, after it was accepted; absent where the store can't tell. */
  manifests?: Version;
  /**
   * What lies in the queue can't be read: why, and its bytes. The other facts are what could be found out. To be ended with
   * `unreadableDelivery`.
   */
  unreadable?: RawBytes & { reason: string };
}

/** What became of an accepted event. */
export interface Delivery {
  id: string;
  namespace: string;
  discriminator: string;
  receivedAt: number;
  /** Body size in bytes. */
  size: number;
  state: "queued" | "done" | "dead";
  attempts: number;
  bindings: {
    binding: string;
    outcome: "not-matched" | "submitted" | "resumed" | "stopped" | "waiting" | "error";
    workflow?: string;
    message?: string;
    /** With outcome "error": the event comes back for this binding. */
    transient?: true;
  }[];
  /** Kept for dead letters, so that they can be replayed. */
  event?: string;
  /** The stored event, or this record itself, can't be read: its bytes. Such a dead letter can't be replayed. */
  unreadable?: RawBytes;
}

export interface EventStore {
  /**
   * Durable append with the bound check in one atomic step; counts what is queued, in work and waiting for a retry. Also
   * writes the delivery record, in state "queued". With `dedupe`, the same key and fingerprint again gives "duplicate"
   * with the first event's id; another fingerprint gives "mismatch"; both also when the queue is full. An id that is
   * queued already is a "duplicate".
   *
   * @param manifests a version that `ManifestStore.known` gave: when any manifest has changed since, the event is "stale"
   * and nothing is done
   */
  offer(
    event: Omit<QueuedEvent, "attempts" | "manifests">,
    bound: number,
    dedupe?: { key: string; fingerprint: string; expiresAt: number },
    manifests?: Version,
  ): Promise<{ result: "accepted" | "full" | "duplicate" | "mismatch" | "stale"; id: string }>;
  /**
   * Some `max` events for this worker, oldest first; before them those whose worker neither took nor touched them for
   * `claimAfterMs`. Waits up to `waitMs` when there are none. Events that were offered at the same moment may be taken, and
   * touched, together: they may be a few more than `max`, and who touches one touches all. One that can't be read is
   * among them as `unreadable`, and keeps no other one from being taken.
   */
  take(
    worker: string,
    max: number,
    claimAfterMs: number,
    waitMs: number,
    signal: AbortSignal,
  ): Promise<QueuedEvent[]>;
  /** Tells that the worker still works on these; no effect on those that another one has claimed. */
  touch(worker: string, ids: string[]): Promise<void>;
  /**
   * Ends events: removes each from the queue and writes its delivery record in one step. No effect for an event that is
   * no longer in the queue (another worker ended it).
   */
  finish(deliveries: Delivery[]): Promise<void>;
  /**
   * Gives an event back, to be taken again after a time with one attempt more; the record shows why. No effect when it is
   * no longer in the queue.
   *
   * @param afterMs by the store's clock
   */
  retryLater(delivery: Delivery, afterMs: number): Promise<void>;
  /** Writes over the record of an event that has ended; no effect when there is none, or the event is in the queue. */
  amend(delivery: Delivery): Promise<void>;
  /** Events queued, in work or waiting for a retry. */
  depth(): Promise<number>;
  /** Newest first. */
  deliveries(
    query: { namespace: string; state?: Delivery["state"]; limit: number; continue?: string },
  ): Promise<{ items: Delivery[]; continue?: string }>;
  delivery(namespace: string, id: string): Promise<Delivery | undefined>;
  /** Drops records beyond `maxCount` per namespace and older than `maxAgeMs`; never those of events still in the queue. */
  trimDeliveries(maxCount: number, maxAgeMs: number): Promise<void>;
}

// ---------------------------------------------------------------------------------------------------- blobs

export interface BlobStore {
  /** Small binary values (log chunks, memo entries). */
  putBlob(key: string, value: Uint8Array): Promise<void>;
  /** Adds to the end; what would go beyond `maxBytes` in all is cut off. */
  appendBlob(key: string, value: Uint8Array, maxBytes: number): Promise<void>;
  getBlob(key: string): Promise<Uint8Array | undefined>;
  /** Removes every blob whose key starts with the prefix. */
  removeBlobs(prefix: string): Promise<void>;
}

/**
 * What an answered write survives: `always` a power cut; `everysec` the death of any process, and a power cut but for the
 * last moments; `none` nothing of the backend's own end; `unknown` when the backend doesn't tell.
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
   * Everything gone but membership: shards, leases and epochs stay, versions go on growing, watches from before are too
   * old. For tests and the conformance server.
   */
  clear(): Promise<void>;
  close(): Promise<void>;
}
