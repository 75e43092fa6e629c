/** Gathers what one actor changed in a batch into changes for the commit. */
import { newTable } from "../../base/table.ts";
import type { ManifestRef } from "../../engine/engine.ts";
import type { ActorChange, IndexEntry } from "../../store/port.ts";
import type { HostEffect } from "../hot_actor.ts";
import type { ActorBatch } from "./actor_batch.ts";

export class ChangeDraft {
  readonly batch: ActorBatch;
  #put: Record<string, string> | undefined;
  #drop: Set<string> | undefined;
  #index: IndexEntry | undefined;
  #remains: string | undefined;
  #isMoved = false;
  #isTouched = false;
  #isStored: boolean;
  #existed: boolean;

  constructor(batch: ActorBatch) {
    this.batch = batch;
    this.#isStored = batch.entry.version !== undefined;
    this.#existed = this.#isStored;
  }

  /** Call it after each command: notices that the command removed the actor. */
  afterReceive(): void {
    const exists = this.batch.entry.actor.exists();
    if (this.#existed && !exists) {
      this.take();
      const survivors = this.batch.effects.filter(survivesRemoval);
      this.batch.effects.splice(0, this.batch.effects.length, ...survivors);
      if (this.#isStored) this.batch.changes.push(this.#removal());
      this.#remains = undefined;
      this.#isMoved = false;
      this.#put = undefined;
      this.#drop = undefined;
      this.#index = undefined;
      this.#isTouched = false;
      this.#isStored = false;
      this.batch.isRemoved = true;
    }
    this.#existed = exists;
  }

  /** Takes what changed since the last call; gives the manifests that the actor needs to go on. */
  take(): ManifestRef[] {
    const taken = this.batch.entry.actor.take();
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
    if (taken.endsTasks === true) this.batch.endsTasks = true;
    if (taken.spans !== undefined) (this.batch.spans ??= []).push(...taken.spans);
    for (const effect of taken.effects) this.batch.effects.push(effect);
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
    const { id, kind } = this.batch;
    const drop = this.#drop === undefined ? [] : [...this.#drop];
    const change: ActorChange = { id, put: this.#put ?? newTable(), drop };
    if (kind.silent) change.silent = true;
    if (this.#index) change.index = this.#index;
    if (!this.#isStored) change.create = true;
    this.batch.changes.push(change);
  }

  #removal(): ActorChange {
    return {
      id: this.batch.id,
      put: {},
      drop: [],
      remove: true,
      ...(this.#remains !== undefined && { remains: this.#remains }),
      ...((this.#isMoved || this.batch.kind.silent) && { silent: true }),
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

/** The tasks of a removed actor are cancelled by the host. */
function survivesRemoval({ type }: HostEffect): boolean {
  return SURVIVORS.has(type);
}
