/** Steps that wait for a call, oldest first, as far as they were asked for. */
import { createStore } from "@xstate/store";
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { compareWaiting, waitingSteps } from "../model/waits.ts";
import { api, type Trouble, troubleOf } from "./api.ts";
import { openWatch, type WorkflowChange } from "./watch.ts";

export interface WaitingEntry {
  /** Of the step. */
  key: string;
  workflow: Workflow;
  node: NodeStatus;
}

/** Where the templates of its own steps are. */
const SPECS = ["spec", "status.storedWorkflowTemplateSpec"] as const;
/** Members of the workflows that are needed. */
const FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.resourceVersion",
  "spec.workflowTemplateRef",
  ...SPECS.flatMap((spec) =>
    [
      "templateDefaults.suspend",
      ...["name", "suspend", "steps.name", "steps.inline.suspend"].map((one) => `templates.${one}`),
      ...["name", "inline.suspend"].map((one) => `templates.dag.tasks.${one}`),
    ].map((one) => `${spec}.${one}`)
  ),
  "status.storedTemplates",
  "status.phase",
  "status.nodes",
] as const;
/** Workflows of a page. */
const PAGE = 100;

interface WaitingState {
  entries: readonly WaitingEntry[];
  isLoading: boolean;
  /** Where the next page begins; undefined: there is none. */
  next: string | undefined;
  trouble: Trouble | undefined;
}

interface Seen {
  workflows: Workflow[];
  gone?: Set<string>;
}

function createWaitingStore() {
  return createStore({
    context: { entries: [], isLoading: true, next: undefined, trouble: undefined } as WaitingState,
    on: {
      /** What the workflows wait for now, in place of what they waited for before. */
      seen: (context, { workflows, gone = new Set() }: Seen) => {
        const seen = new Set([...workflows.map(keyOf), ...gone]);
        const kept = context.entries.filter(({ workflow }) => !seen.has(keyOf(workflow)));
        const entries = [...kept, ...workflows.flatMap(entriesOf)].sort(compareEntries);
        return { ...context, entries };
      },
      begun: (context, { isAnew }: { isAnew: boolean }): WaitingState => ({
        ...context,
        entries: isAnew ? [] : context.entries,
        isLoading: true,
        trouble: undefined,
      }),
      loaded: (context, { next }: { next: string | undefined }): WaitingState => ({
        ...context,
        next,
        isLoading: false,
      }),
      failed: (context, { trouble }: { trouble: Trouble }): WaitingState => ({
        ...context,
        isLoading: false,
        trouble,
      }),
    },
  });
}

function keyOf({ metadata }: Workflow): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function entriesOf(workflow: Workflow): WaitingEntry[] {
  return waitingSteps(workflow).map((node) => ({
    key: `${keyOf(workflow)}/${node.id}`,
    workflow,
    node,
  }));
}

function compareEntries(a: WaitingEntry, b: WaitingEntry): number {
  return compareWaiting(a.node, b.node) || (a.key < b.key ? -1 : 1);
}

export class WaitingList {
  readonly store: ReturnType<typeof createWaitingStore> = createWaitingStore();
  readonly #namespace: string;
  #closeWatch = () => {};
  #isClosed = false;

  constructor(namespace: string) {
    this.#namespace = namespace;
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    this.#closeWatch();
  }

  async load(): Promise<void> {
    this.#closeWatch();
    const version = await this.#read(undefined);
    if (version === undefined || this.#isClosed) return;
    this.#closeWatch = openWatch({
      namespace: this.#namespace,
      waiting: true,
      fields: FIELDS,
      version,
      onChanges: (changes) => this.#apply(changes),
      onStale: () => void this.load(),
    });
  }

  #apply(changes: WorkflowChange[]): void {
    // Only the last state of each workflow counts.
    const last = new Map(changes.map((change) => [keyOf(change.object), change]));
    const gone = new Set<string>();
    const workflows: Workflow[] = [];
    const { next, entries } = this.store.getSnapshot().context;
    const shown = new Set(entries.map(({ workflow }) => keyOf(workflow)));
    for (const [key, { type, object }] of last) {
      if (type === "DELETED") gone.add(key);
      // What has begun to wait comes after the pages that were not read yet.
      else if (next === undefined || shown.has(key)) workflows.push(object);
    }
    this.store.trigger.seen({ workflows, gone });
  }

  /** Reads the next page. */
  async more(): Promise<void> {
    const { next, isLoading } = this.store.getSnapshot().context;
    if (next !== undefined && !isLoading) await this.#read(next);
  }

  /** Reads one page; resolves with its version, or undefined when it could not be read. */
  async #read(start: string | undefined): Promise<string | undefined> {
    this.store.trigger.begun({ isAnew: start === undefined });
    try {
      const { metadata, items } = await api.call("WorkflowService_ListWorkflows", {
        params: { namespace: this.#namespace },
        query: {
          "listOptions.limit": PAGE,
          "listOptions.continue": start,
          waiting: true,
          exactTimes: true,
          fields: ["metadata", ...FIELDS.map((field) => `items.${field}`)].join(","),
        },
      });
      if (this.#isClosed) return undefined;
      this.store.trigger.seen({ workflows: items ?? [] });
      this.store.trigger.loaded({ next: metadata.continue || undefined });
      return metadata.resourceVersion ?? "";
    } catch (error) {
      if (!this.#isClosed) this.store.trigger.failed({ trouble: troubleOf(error) });
      return undefined;
    }
  }
}
