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
import type { ReportUnreadable } from "../../platform/unreadable.ts";

type Labels = Readonly<Record<string, string>>;

/** Most texts of a change that are kept besides that of the whole object. */
const MAX_EXCERPTS = 4;

/** What somebody wants to see of a workflow. */
export interface Excerpt {
  /** The same for all who want to see the same. */
  key: string;
  /** Nothing of it follows from nodes, so the workflow is read without them. */
  isWithoutNodes: boolean;
  /** The text; the workflow is not to be changed. */
  write(workflow: Workflow): string;
}

/** Parts of a workflow as watchers see it. A very large one has no nodes, because watchers get it again with every change. */
export function watchedParts(parts: Record<string, string>): Record<string, string> {
  if (sizeOfParts(parts) <= MAX_WATCHED_SIZE) return parts;
  const isShown = ([key]: [string, string]) => !key.startsWith(NODE_PART_PREFIX);
  return Object.fromEntries(Object.entries(parts).filter(isShown));
}

export class WorkflowChange {
  readonly type: Change["type"];
  readonly id: string;
  readonly version: Version;
  readonly namespace: string;
  readonly name: string;
  /** Characters that it holds, roughly. */
  readonly size: number;
  #stored: StoredActor | undefined;
  #change: Change | undefined;
  readonly #onUnreadable: ReportUnreadable | undefined;
  #text: string | undefined;
  /** By their keys. */
  #excerpts: BoundedCache<string, string> | undefined;
  #labels: Labels | undefined;
  #labelsBefore: Labels | undefined;
  /** For several watchers that ask at the same moment. */
  #workflow: WeakRef<Workflow> | undefined;

  /**
   * @param change as the feed has it
   * @param stored the actor right after the change, or right before it for DELETED
   */
  constructor(change: Change, stored: StoredActor, onUnreadable?: ReportUnreadable) {
    const [, namespace = "", ...name] = change.id.split("/");
    this.type = change.type;
    this.id = change.id;
    this.version = change.version;
    this.namespace = namespace;
    this.name = name.join("/");
    const parts = watchedParts(stored.parts);
    this.size = sizeOfParts(parts);
    this.#change = change;
    this.#stored = parts === stored.parts ? stored : { ...stored, parts };
    this.#onUnreadable = onUnreadable;
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

  #source(): Parameters<typeof changedWorkflow> {
    const { namespace, name } = this;
    const [stored, change] = [this.#stored, this.#change];
    if (stored === undefined || change === undefined) throw new Error("A change has no state");
    return [stored, change, { namespace, name }, this.#onUnreadable];
  }

  /** The whole object as text. `write` is called once for all watchers. */
  textOf(write: (workflow: Workflow) => string): string {
    if (this.#text === undefined) {
      // Read before their source is dropped.
      this.#labels = this.labels;
      this.#labelsBefore = this.labelsBefore;
      this.#text = write(this.workflow);
      this.#stored = undefined;
      this.#change = undefined;
    }
    return this.#text;
  }

  /** The text of an excerpt. `write` is called once for all watchers that want the same. */
  excerptOf({ key, isWithoutNodes, write }: Excerpt): string {
    const excerpts = this.#excerpts ??= new BoundedCache(MAX_EXCERPTS);
    const known = excerpts.get(key);
    if (known !== undefined) return known;
    const isHeadEnough = isWithoutNodes && this.#text === undefined;
    const workflow = isHeadEnough ? changedHead(...this.#source()) : this.workflow;
    return excerpts.set(key, write(workflow));
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
