/** What the commands of a batch did to one actor, gathered into changes for the commit. */
import type { ManifestRef } from "../../engine/engine.ts";
import type { PartText } from "../../base/part_text.ts";
import type { SpanRecord } from "../../platform/traces/span.ts";
import type { ActorChange, ActorId, IndexEntry } from "../../store/port.ts";
import type { ActorKind, HostEffect, HotEntry } from "../hot_actor.ts";
import type { ActorBatch, CommandOutcome, QueuedCommand } from "./actor_batch.ts";

export class ChangeDraft implements ActorBatch {
  readonly id: ActorId;
  readonly kind: ActorKind;
  readonly commands: QueuedCommand[];
  readonly entry: HotEntry;
  readonly outcomes: CommandOutcome[] = [];
  readonly changes: ActorChange[] = [];
  effects: HostEffect[] = [];
  isRemoved = false;
  endsTasks = false;
  spans: SpanRecord[] | undefined;
  /** As the first command left them; nearly always there is nothing to merge with. */
  #put: readonly PartText[] = NONE;
  /** The same, once there is something to merge with. */
  #merged: Map<string, PartText> | undefined;
  #drop: Set<string> | undefined;
  #index: IndexEntry | undefined;
  #remains: string | undefined;
  #isMoved = false;
  #isTouched = false;
  #isStored: boolean;
  #existed: boolean;

  constructor(id: ActorId, kind: ActorKind, commands: QueuedCommand[], entry?: HotEntry) {
    this.id = id;
    this.kind = kind;
    this.commands = commands;
    this.entry = entry ?? { actor: kind.hydrate(id, undefined), version: undefined };
    this.#existed = this.#isStored = this.entry.version !== undefined;
  }

  /** Call it after each command: notices that the command removed the actor. */
  afterReceive(): void {
    const exists = this.entry.actor.exists();
    if (this.#existed && !exists) {
      this.take();
      // Its tasks are cancelled by the host.
      this.effects = this.effects.filter(({ type }) => SURVIVORS.has(type));
      if (this.#isStored) this.changes.push(this.#removal());
      this.#remains = undefined;
      this.#isMoved = false;
      this.#put = NONE;
      this.#merged = undefined;
      this.#drop = undefined;
      this.#index = undefined;
      this.#isTouched = false;
      this.#isStored = false;
      this.isRemoved = true;
    }
    this.#existed = exists;
  }

  /** Takes what changed since the last call; gives the manifests that the actor needs to go on. */
  take(): ManifestRef[] {
    const taken = this.entry.actor.take();
    if (taken.drop.length > 0) this.#forget(taken.drop);
    if (taken.index) {
      this.#index = taken.index;
      this.#isTouched = true;
    }
    this.#merge(taken.put);
    if (taken.remains !== undefined) this.#remains = taken.remains;
    if (taken.isMoved === true) this.#isMoved = true;
    if (taken.endsTasks === true) this.endsTasks = true;
    if (taken.spans !== undefined) (this.spans ??= []).push(...taken.spans);
    for (const effect of taken.effects) this.effects.push(effect);
    return taken.needs;
  }

  #forget(keys: readonly string[]): void {
    this.#isTouched = true;
    const put = this.#byKey();
    for (const key of keys) {
      put.delete(key);
      (this.#drop ??= new Set()).add(key);
    }
  }

  #merge(put: readonly PartText[]): void {
    if (put.length === 0) return;
    this.#isTouched = true;
    if (this.#merged === undefined && this.#put.length === 0) {
      this.#put = put;
      return;
    }
    const merged = this.#byKey();
    for (const part of put) {
      merged.set(part.key, part);
      this.#drop?.delete(part.key);
    }
  }

  #byKey(): Map<string, PartText> {
    return this.#merged ??= new Map(this.#put.map((part) => [part.key, part]));
  }

  /** Hands the last change to the batch. */
  finish(): void {
    if (!this.#isTouched) return;
    const drop = this.#drop === undefined ? [] : [...this.#drop];
    const put = this.#merged === undefined ? this.#put : [...this.#merged.values()];
    const change: ActorChange = { id: this.id, put, drop };
    if (this.kind.silent) change.silent = true;
    if (this.#index) change.index = this.#index;
    if (!this.#isStored) change.create = true;
    this.changes.push(change);
  }

  #removal(): ActorChange {
    return {
      id: this.id,
      put: [],
      drop: [],
      remove: true,
      ...(this.#remains !== undefined && { remains: this.#remains }),
      ...((this.#isMoved || this.kind.silent) && { silent: true }),
    };
  }
}

const NONE: readonly PartText[] = [];

/** Effects that still make sense when their actor is gone. */
const SURVIVORS: ReadonlySet<HostEffect["type"]> = new Set([
  "clear-timer",
  "clean-tasks",
  "collect-artifacts",
  "notice",
  "drop-remains",
  "forget-archived",
  "observe-metric",
  "release-all-locks",
  "release-locks",
  "remove-claims",
  "send",
  "sweep-remains",
]);
