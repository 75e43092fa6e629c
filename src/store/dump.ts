/**
 * All that a store holds as one stream of records, without anything that belongs to one adapter or to one number of
 * shards. A copy reads the records of one store and writes them to another; an export and an import have a file in the place
 * of one of them. What belongs to a shard is placed anew by its home: the actor that it is about.
 *
 * Not among the records, because a new store begins with its own: leases, epochs, replicas, the change feed, cursors, and
 * the mark of the last commit of a shard.
 */
import type { Json } from "../base/json.ts";
import type { Delivery, QueuedEvent } from "./event_port.ts";
import type { StoredManifest } from "./manifest_port.ts";
import type { ActorId, Command, IndexEntry } from "./port.ts";
import type { Version } from "./version.ts";

export type StoreRecord =
  | { type: "manifest"; manifest: StoredManifest }
  /** A piece of a blob: BLOB_PIECE bytes, the last one less. `bytes` is base64. */
  | { type: "blob"; key: string; start: number; bytes: string }
  /** Some parts of a large actor, whose own record comes later. */
  | { type: "parts"; actor: ActorId; parts: Record<string, string> }
  | {
    type: "actor";
    actor: ActorId;
    version: Version;
    index?: IndexEntry;
    parts: Record<string, string>;
  }
  /** Parts that a removal has left. */
  | { type: "remains"; name: string; parts: Record<string, string> }
  /** A row of the outbox. */
  | { type: "effect"; id: string; text: string }
  /** `due` is in epoch ms. */
  | { type: "timer"; id: string; due: number }
  /** A command in a mailbox that is not applied yet. */
  | { type: "command"; command: Command }
  | {
    type: "answer";
    key: string;
    fingerprint: string;
    answer: Json;
    expiresAt: number;
    version?: Version;
  }
  /** An event in the queue. `retryAt`: it was tried, and waits until then, epoch ms. */
  | { type: "event"; event: Omit<QueuedEvent, "manifests" | "unreadable">; retryAt?: number }
  /** The key of an event that must not be taken twice; `expiresAt` in epoch ms. */
  | { type: "dedupe"; key: string; id: string; fingerprint: string; expiresAt: number }
  | { type: "delivery"; delivery: Delivery };

/** Bytes in one record of a blob. */
export const BLOB_PIECE = 65_536;
/** Characters of parts, texts and pieces after which a batch or a record ends, roughly. */
const BATCH_SIZE = 1 << 19;
/** Most records in a batch. */
const BATCH_RECORDS = 256;

/** What is to be known of a store before it is read. */
export interface SourceFacts {
  shards: number;
  /** Highest version of all objects. */
  version: Version;
  /** Another text as soon as a server has worked on the store. */
  state: string;
  /** Number of actors, for the progress. */
  actors: number;
}

/** A store, or a file, to read from. */
export interface StoreSource {
  /** Address as messages show it. */
  readonly name: string;
  /**
   * @throws {Problem} FailedPrecondition: there is no store, a server works on it, or it is an unfinished copy;
   * Unavailable: it can't be reached
   */
  facts(): Promise<SourceFacts>;
  /** All records, in batches that are never empty. Commands and events come in the order in which they were stored. */
  read(): AsyncIterable<StoreRecord[]>;
  close(): Promise<void>;
}

export interface CopyPlan extends Pick<SourceFacts, "state" | "version" | "actors"> {
  /** Name of the source. */
  from: string;
  /** Number of shards of the new store. */
  shards: number;
  /** Removes an unfinished copy that is there, of whatever source. */
  restart: boolean;
  /** The shard in which a record is at home. */
  shardOf(record: StoreRecord): number;
}

/** A store, or a file, to write to. No server starts on a store until `finish`. */
export interface StoreTarget {
  readonly name: string;
  /**
   * Begins a copy, or goes on with an unfinished one. If the source has changed since that one began, what is there is
   * removed first.
   * @returns whether it goes on
   * @throws {Problem} FailedPrecondition when the target holds anything else
   */
  begin(plan: CopyPlan): Promise<boolean>;
  /** Writes records; those that are there already are written again, or left as they are. */
  write(records: StoreRecord[]): Promise<void>;
  /** What was written, to check it; absent for a target that can't be read. */
  read?(): AsyncIterable<StoreRecord[]>;
  /** The next `begin` removes what is there. */
  discard(): Promise<void>;
  /** The copy is complete: a server may start. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

/** Length of a record in memory, roughly, in characters. */
function sizeOf(record: StoreRecord): number {
  switch (record.type) {
    case "manifest":
      return record.manifest.text.length;
    case "blob":
      return record.bytes.length;
    case "effect":
      return record.text.length;
    case "event":
      return record.event.text.length;
    case "parts":
    case "actor":
    case "remains": {
      let size = 256;
      for (const key in record.parts) size += key.length + (record.parts[key]?.length ?? 0);
      return size;
    }
    default:
      return 1_024;
  }
}

/** Collects records into batches. */
export async function* inBatches(
  records: AsyncIterable<StoreRecord> | Iterable<StoreRecord>,
): AsyncGenerator<StoreRecord[]> {
  let batch: StoreRecord[] = [];
  let size = 0;
  for await (const record of records) {
    batch.push(record);
    size += sizeOf(record);
    if (size < BATCH_SIZE && batch.length < BATCH_RECORDS) continue;
    yield batch;
    [batch, size] = [[], 0];
  }
  if (batch.length > 0) yield batch;
}

/** Slices of some parts, each small enough for a record; the last one may be empty. */
export function* partSlices(
  parts: Iterable<readonly [string, string]>,
): Generator<Record<string, string>> {
  let slice: Record<string, string> = {};
  let size = 0;
  for (const [key, text] of parts) {
    if (size >= BATCH_SIZE) {
      yield slice;
      [slice, size] = [{}, 0];
    }
    slice[key] = text;
    size += key.length + text.length;
  }
  yield slice;
}
