/** What the commands of a batch did to one actor, gathered into changes for the commit. */
import { newTable } from "../../base/table.ts";
import type { ManifestRef } from "../../engine/engine.ts";
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
  #put: Record<string, string> | undefined;
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
      this.#put = undefined;
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
    for (const key of taken.drop) {
      delete this.#put?.[key];
      (this.#drop ??= new Set()).add(key);
      this.#isTouched = true;
    }
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

  #merge(put: Record<string, string>): void {
    const before = this.#put;
    if (before === undefined) this.#put = put;
    // Nearly always there is nothing to merge with.
    const isAlone = before === undefined && this.#drop === undefined;
    if (isAlone && this.#isTouched) return;
    for (const key in put) {
      this.#isTouched = true;
      if (isAlone) return;
      if (before !== undefined) before[key] = put[key] ?? "";
      this.#drop?.delete(key);
    }
  }

  /** Hands the last change to the batch. */
  finish(): void {
    if (!this.#isTouched) return;
    const drop = this.#drop === undefined ? [] : [...this.#drop];
    const change: ActorChange = { id: this.id, put: this.#put ?? newTable(), drop };
    if (this.kind.silent) change.silent = true;
    if (this.#index) change.index = this.#index;
    if (!this.#isStored) change.create = true;
    this.changes.push(change);
  }

  #removal(): ActorChange {
    return {
      id: this.id,
      put: {},
      drop: [],
      remove: true,
      ...(this.#remains !== undefined && { remains: this.#remains }),
      ...((this.#isMoved || this.kind.silent) && { silent: true }),
    };
  }
}

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
