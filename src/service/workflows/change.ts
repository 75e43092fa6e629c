/**
 * A change of a workflow as watchers get it. A text of it is made when somebody first asks for it, once for all watchers that
 * want the same. When the text of the whole object has been made, its parts are dropped: the object can be read from the text.
 */
import { BoundedCache } from "../../base/bounded_cache.ts";
import type { Workflow } from "../../spec/manifest.ts";
import { sizeOfParts } from "../../store/list_query.ts";
import { type Change, NODE_PART_PREFIX, type StoredActor } from "../../store/port.ts";
import type { Version } from "../../store/version.ts";
import { MAX_WATCHED_SIZE } from "../page_size.ts";
import { changedHead, changedWorkflow, labelsOf } from "./stored_workflow.ts";
import { waitedBefore } from "./waits.ts";
import type { ReportUnreadable } from "../../platform/unreadable.ts";

type Labels = Readonly<Record<string, string>>;

/** Most texts of a change that are kept besides that of the whole object. */
const MAX_EXCERPTS = 4;

/** What somebody wants to see of a workflow. */
export interface Excerpt<Form> {
  /** The same for all who want to see the same, and in the same form. */
  key: string;
  /** Nothing of it follows from nodes, so the workflow is read without them. */
  isWithoutNodes: boolean;
  /** Starts and ends are shown in milliseconds. Only for changes that keep their source. */
  exactTimes: boolean;
  /**
   * What is shown; the workflow is not to be changed.
   * @param waitsSince since when a step waits, epoch ms; undefined: none waits
   */
  write(workflow: Workflow, waitsSince: number | undefined): Form;
}

/** Parts of a workflow as watchers see it. A very large one has no nodes, because watchers get it again with every change. */
export function watchedParts(
  parts: Record<string, string>,
  size: number = sizeOfParts(parts),
): Record<string, string> {
  if (size <= MAX_WATCHED_SIZE) return parts;
  const isShown = ([key]: [string, string]) => !key.startsWith(NODE_PART_PREFIX);
  return Object.fromEntries(Object.entries(parts).filter(isShown));
}

export interface ChangeOptions {
  onUnreadable?: ReportUnreadable | undefined;
  /** Somebody may ask for exact times, which the text of the whole object does not have. */
  keepsSource?: boolean;
}

export class WorkflowChange {
  readonly type: Change["type"];
  readonly id: string;
  readonly version: Version;
  readonly namespace: string;
  readonly name: string;
  /** Since when a step waits after the change (before it for DELETED), epoch ms; undefined: none waits. */
  readonly waitsSince: number | undefined;
  /** Characters that it holds, roughly. */
  readonly size: number;
  readonly #keepsSource: boolean;
  #stored: StoredActor | undefined;
  #change: Change | undefined;
  readonly #onUnreadable: ReportUnreadable | undefined;
  #text: string | undefined;
  /** By their keys. */
  #excerpts: BoundedCache<string, unknown> | undefined;
  #labels: Labels | undefined;
  #labelsBefore: Labels | undefined;
  #hasWaited: boolean | undefined;
  /** For several watchers that ask at the same moment. */
  #workflow: WeakRef<Workflow> | undefined;

  /**
   * @param change as the feed has it
   * @param stored the actor right after the change, or right before it for DELETED
   */
  constructor(change: Change, stored: StoredActor, options: ChangeOptions = {}) {
    const [, namespace = "", ...name] = change.id.split("/");
    this.type = change.type;
    this.id = change.id;
    this.version = change.version;
    this.namespace = namespace;
    this.name = name.join("/");
    const size = sizeOfParts(stored.parts);
    const parts = watchedParts(stored.parts, size);
    this.#keepsSource = options.keepsSource === true;
    // The text of the whole object may come beside the parts.
    this.size = (parts === stored.parts ? size : sizeOfParts(parts)) * (this.#keepsSource ? 2 : 1);
    this.waitsSince = change.index?.waitsSince;
    this.#change = change;
    this.#stored = parts === stored.parts ? stored : { ...stored, parts };
    this.#onUnreadable = options.onUnreadable;
  }

  /** The object after the change (before it for DELETED), with the version of the change. Not to be changed. */
  get workflow(): Workflow {
    const known = this.#workflow?.deref();
    if (known !== undefined) return known;
    const workflow = this.#read();
    this.#workflow = new WeakRef(workflow);
    return workflow;
  }

  #read(): Workflow {
    if (this.#text !== undefined) return JSON.parse(this.#text) as Workflow;
    return changedWorkflow(...this.#source());
  }

  #source(exactTimes = false): Parameters<typeof changedWorkflow> {
    const { namespace, name } = this;
    const [stored, change] = [this.#stored, this.#change];
    if (stored === undefined || change === undefined) throw new Error("A change has no state");
    const known = { onUnreadable: this.#onUnreadable, exactTimes };
    return [stored, change, { namespace, name }, known];
  }

  /** The whole object as text. `write` is called once for all watchers. */
  textOf(write: (workflow: Workflow) => string): string {
    if (this.#text === undefined) {
      // Read before their source is dropped.
      this.#labels = this.labels;
      this.#labelsBefore = this.labelsBefore;
      this.#hasWaited = this.hasWaited;
      this.#text = write(this.workflow);
      if (!this.#keepsSource) {
        this.#stored = undefined;
        this.#change = undefined;
      }
    }
    return this.#text;
  }

  /** An excerpt. `write` is called once for all watchers that want the same. */
  excerptOf<Form>({ key, isWithoutNodes, exactTimes, write }: Excerpt<Form>): Form {
    const excerpts = this.#excerpts ??= new BoundedCache(MAX_EXCERPTS);
    const known = excerpts.get(key);
    if (known !== undefined) return known as Form;
    const isExact = exactTimes && this.hasSource;
    const isHeadEnough = isWithoutNodes && (isExact || this.#text === undefined);
    const workflow = isHeadEnough
      ? changedHead(...this.#source(isExact))
      : isExact
      ? changedWorkflow(...this.#source(isExact))
      : this.workflow;
    const made = write(workflow, this.waitsSince);
    excerpts.set(key, made);
    return made;
  }

  /** It can still be shown in every form. */
  get hasSource(): boolean {
    return this.#stored !== undefined;
  }

  /** A step waits after the change (before it for DELETED). */
  get isWaiting(): boolean {
    return this.waitsSince !== undefined;
  }

  /** A step waited before the change. */
  get hasWaited(): boolean {
    return this.#hasWaited ??= this.#change !== undefined && waitedBefore(this.#change);
  }

  get labels(): Labels {
    return this.#labels ??= labelsOf(this.#stored?.parts["h"]) ?? this.#change?.index?.labels ?? {};
  }

  /** Labels before the change; undefined when it was not there. */
  get labelsBefore(): Labels | undefined {
    if (this.type === "ADDED") return undefined;
    const { before, indexBefore } = this.#change ?? {};
    return this.#labelsBefore ??= labelsOf(before?.["h"]) ?? indexBefore?.labels ?? this.labels;
  }
}
