/**
 * A change of a workflow as watchers get it. What it shows is made when somebody asks: the object once, its text once for
 * all who get it. When there is a text, the object goes, and comes back from the text.
 */
import type { Workflow } from "../spec/manifest.ts";
import { sizeOfParts } from "../store/list_query.ts";
import { type Change, NODE_PART_PREFIX, type StoredActor, type Version } from "../store/port.ts";
import { MAX_WATCHED_SIZE } from "./page_size.ts";
import { changedWorkflow, labelsOf } from "./stored_workflow.ts";
import type { ReportUnreadable } from "../platform/unreadable.ts";

type Labels = Readonly<Record<string, string>>;

/** Parts of a workflow as watchers see it: of a very large one, which they get again with every change, without nodes. */
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
  #labels: Labels | undefined;
  #labelsBefore: Labels | undefined;
  /** For those who ask in the same moment. */
  #workflow: WeakRef<Workflow> | undefined;

  /**
   * @param change what the feed tells
   * @param stored the actor right after the change, right before it for DELETED
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

  /** The object after the change, before it for DELETED; with the version of the change. Not to be changed. */
  get workflow(): Workflow {
    const known = this.#workflow?.deref();
    if (known !== undefined) return known;
    const workflow = this.#read();
    this.#workflow = new WeakRef(workflow);
    return workflow;
  }

  #read(): Workflow {
    if (this.#text !== undefined) return JSON.parse(this.#text) as Workflow;
    const { namespace, name } = this;
    const [stored, change] = [this.#stored, this.#change];
    if (stored === undefined || change === undefined) throw new Error("A change has no state");
    return changedWorkflow(stored, change, { namespace, name }, this.#onUnreadable);
  }

  /** The object as text; `write` is called once, whoever asks. */
  textOf(write: (workflow: Workflow) => string): string {
    if (this.#text === undefined) {
      // Read before what they are read from goes.
      this.#labels = this.labels;
      this.#labelsBefore = this.labelsBefore;
      this.#text = write(this.workflow);
      this.#stored = undefined;
      this.#change = undefined;
    }
    return this.#text;
  }

  get labels(): Labels {
    return this.#labels ??= labelsOf(this.#stored?.parts["h"]) ?? this.#change?.index?.labels ?? {};
  }

  /** Labels before the change; undefined when it was not there. */
  get labelsBefore(): Labels | undefined {
    if (this.type === "ADDED") return undefined;
    return this.#labelsBefore ??= labelsOf(this.#change?.before?.["h"]) ?? this.labels;
  }
}
