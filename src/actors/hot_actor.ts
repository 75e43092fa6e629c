/**
 * What the host knows of an actor in memory, whatever its kind. An actor decides nothing about storing or timing: it
 * receives commands, goes on as far as it can, and hands out what changed. The host commits that before anything of it
 * becomes visible; when a commit is lost the actor is thrown away and hydrated again.
 */
import type { PartText } from "../base/part_text.ts";
import type { Json } from "../base/json.ts";
import type { Steps } from "../base/steps.ts";
import type { Effect } from "../engine/effect.ts";
import type { EngineEnv, ManifestRef } from "../engine/engine.ts";
import type { SpanRecord } from "../platform/traces/span.ts";
import type { PostWebhook, PostWebhooks } from "./webhooks/delivery.ts";
import type { ActorId, IndexEntry, LoadBounds, StoredActor } from "../store/port.ts";
import type { Version } from "../store/version.ts";

/** An order to another actor, delivered at least once. */
export interface SendCommand {
  type: "send";
  /** Stable id: sending twice is sending once. */
  id: string;
  to: ActorId;
  body: Json;
}

/** What an actor may want done outside. A workflow that deletes itself sends itself a command. */
export type HostEffect =
  | Exclude<Effect, { type: "delete-workflow" }>
  | SendCommand
  | PostWebhook
  | PostWebhooks;

/** What changed since the last call of `take`. */
export interface Taken {
  put: PartText[];
  drop: string[];
  index?: IndexEntry;
  effects: HostEffect[];
  needs: ManifestRef[];
  /** Of an actor that is gone: its parts stay in the store under this name, for an effect that looks at them. */
  remains?: string;
  /** Tasks that it has under way are to be ended. */
  endsTasks?: true;
  /** Work that has ended, for whoever traces it. */
  spans?: SpanRecord[];
  /** Of an actor that is gone: it only moved elsewhere, so watchers do not hear of it. */
  isMoved?: true;
}

/**
 * Makes what the sender is told, once the version of the commit is known (undefined in a stored answer). It shows the
 * actor as it was when the command was applied, whatever came after.
 */
export type Answer = (version: Version | undefined) => object;

export interface HotActor {
  readonly id: ActorId;
  /** Only a part of it was loaded: it serves one batch and is not kept. */
  readonly isBare?: true;
  /** False before it was created and after it was removed. */
  exists(): boolean;
  /**
   * Applies one command; for a large actor step by step, so that others get their turn. Nothing else is asked of it before
   * the last step.
   *
   * @param stored version of the store, if the actor is sure to be as it is stored there
   * @throws {Problem} when the command is refused, also by a step; then nothing changed
   */
  receive(body: Json, env: EngineEnv, stored?: Version): Answer | Steps<Answer> | undefined;
  /** Goes on until nothing more can be done now. */
  advance(env: EngineEnv): void;
  /** If much has changed: makes ready what `take` hands out, which must be the next call. @default nothing has to be ready */
  prepareTake?(): Steps<void> | undefined;
  take(): Taken;
  /** How much memory it holds, in units of a small workflow. */
  weight(): number;
  /** Nothing of it is under way: it waits for the world outside, or is done. */
  rests(): boolean;
  /** It has ended, so commands for it are rare. @default false */
  isOver?(): boolean;
  /** It waits for a lock, or in one, so it may go on at any moment. @default false */
  awaitsLock?(): boolean;
  /** Its last turn was over before all was done: it goes on by a timer. */
  isGrowing(): boolean;
}

/** Where the spans of this replica's workflows go. */
export interface SpanReceiver {
  ended(spans: readonly SpanRecord[] | undefined): void;
  /** A shard is run here from now on. */
  tookOver(shard: number): void;
}

/** Makes actors of one kind. */
export interface ActorKind {
  /** Prefix of the ids. */
  readonly prefix: string;
  /** Changes of these actors are not shown to watchers. */
  readonly silent: boolean;
  /** Tells bodies that make an actor which normally doesn't exist yet: the host then need not look for it first. */
  creates(body: Json): boolean;
  hydrate(id: ActorId, stored: StoredActor | undefined): HotActor;
  /**
   * Ends an actor that can't be loaded, or can't go on, whatever is tried. Needs nothing of it to be readable.
   * Absent: what it fails at is refused, each time.
   */
  putAside?(id: ActorId, stored: StoredActor, reason: string, env: EngineEnv): Taken;
  /** Tells commands whose sender is told that they were refused, from what has happened and can't be refused. */
  mayRefuse?(body: Json): boolean;
  /** The same for an actor with many parts, so that others get their turn. @default `hydrate` */
  hydrateInTurns?(stored: StoredActor): Steps<HotActor>;
  /** How much of an actor is enough to carry out a command; undefined: all of it. Absent: all for every command. */
  enough?(body: Json): LoadBounds | undefined;
  /**
   * An actor of which only a part was loaded, or that cannot be read, for commands for which that is enough.
   * @param cause why it could not be read
   */
  hydrateBare?(stored: StoredActor, cause?: unknown): HotActor;
  /** Absent: nobody waits for answers of these actors. */
  readonly answers?: StoredAnswers;
}

/** Answers to those who were not told when their command was applied. */
export interface StoredAnswers {
  /** A stored answer, with the version that its commit made. */
  withVersion(answer: Json, version: Version): object;
  /** The actor as it is stored, for a sender whose own answer was not kept. */
  view(stored: StoredActor): object;
}

/** An actor in memory with what the host must remember of it. */
export interface HotEntry {
  actor: HotActor;
  /** Version of the last commit; undefined while nothing is stored. */
  version: Version | undefined;
}
