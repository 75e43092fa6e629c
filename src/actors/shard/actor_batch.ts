/** A batch as data: the commands of each actor, and what they did to it. */
import type { Json } from "../../base/json.ts";
import type { SpanRecord } from "../../platform/traces/span.ts";
import type { ActorChange, ActorId, Cursor } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import type { ActorKind, Answer, HostEffect, HotEntry } from "../hot_actor.ts";
import type { KnownManifests } from "../port.ts";
import type { Result } from "../result.ts";

/** A command that waits in a shard's queue. */
export interface QueuedCommand {
  actor: ActorId;
  body: Json;
  /** Where it stood in the mailbox, if it came from there. */
  cursor?: Cursor;
  replyTo?: { replica: string; request: string };
  idempotency?: { key: string; fingerprint: string; ttlMs?: number };
  /** Hears the result, once. */
  settle?: (result: Result) => void;
  /** What its sender has read for it. */
  manifests?: KnownManifests;
  /** It is done only if all manifests have this version when it is written. */
  ifManifests?: Version;
  /** Row of the timer that made this command. */
  timer?: string;
  /** Monotonic time of arrival, ms. */
  arrivedAt: number;
}

/** What the sender of a command is told once the batch is committed, or why the command was refused. */
export type CommandOutcome = { answer: Answer | undefined } | { error: unknown };

/** The commands of one actor in a batch, and what they did. */
export interface ActorBatch {
  id: ActorId;
  kind: ActorKind;
  commands: QueuedCommand[];
  entry: HotEntry;
  /** In the order of the commands. */
  outcomes: CommandOutcome[];
  changes: ActorChange[];
  effects: HostEffect[];
  /** The actor was removed in this batch, and perhaps created again afterwards. */
  isRemoved: boolean;
  /** It was ended without a look at its nodes: all its tasks are cancelled. */
  isAside?: true;
  /** Its running tasks are to be ended. */
  endsTasks: boolean;
  /** Work that has ended, for whoever traces it. Absent: none. */
  spans?: SpanRecord[] | undefined;
}

/** Commands whose results are known without their actors: the result, or the command of the batch that they repeat. */
export type KnownResults = ReadonlyMap<QueuedCommand, Result | QueuedCommand>;
