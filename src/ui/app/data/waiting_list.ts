/** All steps that wait for a call, found among the workflows that have not ended. */
import { createStore } from "@xstate/store";
import type { NodeStatus, Workflow } from "../../../spec/manifest.ts";
import { completedLabel } from "../../../spec/naming.ts";
import { waitingSteps } from "../model/story.ts";
import { timeOf } from "../model/times.ts";
import { api, type Trouble, troubleOf } from "./api.ts";
import { session } from "./session.ts";
import { openWatch } from "./watch.ts";

export interface WaitingEntry {
  /** Of the step. */
  key: string;
  workflow: Workflow;
  node: NodeStatus;
}

/** Members of the workflows that are needed. */
const FIELDS = [
  "metadata.name",
  "metadata.namespace",
  "metadata.resourceVersion",
  "spec.workflowTemplateRef",
  "spec.templates.name",
  "spec.templates.suspend",
  "status.phase",
  "status.nodes",
] as const;
const PAGE = 100;
/** Workflows that are looked through; there is no index of those that wait. */
const MOST = 2_000;

interface WaitingState {
  entries: readonly WaitingEntry[];
  isLoading: boolean;
  /** There are more unfinished workflows than were looked through. */
  isPart: boolean;
  trouble: Trouble | undefined;
}

function createWaitingStore() {
  return createStore({
    context: { entries: [], isLoading: true, isPart: false, trouble: undefined } as WaitingState,
    on: {
      /** What the workflows wait for now, in place of what they waited for before. */
      seen: (context, { workflows, gone }: { workflows: Workflow[]; gone: Set<string> }) => {
        const seen = new Set([...workflows.map(keyOf), ...gone]);
        const kept = context.entries.filter(({ workflow }) => !seen.has(keyOf(workflow)));
        const entries = [...kept, ...workflows.flatMap(entriesOf)].sort(compareEntries);
        return { ...context, entries };
      },
      begun: (context): WaitingState => ({
        ...context,
        entries: [],
        isLoading: true,
        trouble: undefined,
      }),
      loaded: (context, { isPart }: { isPart: boolean }): WaitingState => ({
        ...context,
        isPart,
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

/** Oldest first. */
function compareEntries(a: WaitingEntry, b: WaitingEntry): number {
  const since = (entry: WaitingEntry) => timeOf(entry.node.startedAt) ?? 0;
  return since(a) - since(b) || (a.key < b.key ? -1 : 1);
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
    this.store.trigger.begun();
    try {
      const version = await this.#read();
      if (this.#isClosed) return;
      this.#closeWatch = openWatch({
        namespace: this.#namespace,
        fields: FIELDS,
        version,
        onChanges: (changes) => {
          // Only the last state of each workflow counts.
          const last = new Map(changes.map((change) => [keyOf(change.object), change]));
          const gone = [...last.values()].filter(({ type }) => type === "DELETED");
          this.store.trigger.seen({
            workflows: [...last.values()].filter(({ type }) => type !== "DELETED")
              .map(({ object }) => object),
            gone: new Set(gone.map(({ object }) => keyOf(object))),
          });
        },
        onStale: () => void this.load(),
      });
    } catch (error) {
      if (!this.#isClosed) this.store.trigger.failed({ trouble: troubleOf(error) });
    }
  }

  /** Reads page after page; resolves with the version of the first. */
  async #read(): Promise<string> {
    const { labelPrefix } = session.getSnapshot().context;
    let version: string | undefined;
    let next: string | undefined;
    let count = 0;
    do {
      const { metadata, items } = await api.call("WorkflowService_ListWorkflows", {
        params: { namespace: this.#namespace },
        query: {
          "listOptions.limit": PAGE,
          "listOptions.labelSelector": `${completedLabel({ labelPrefix })}!=true`,
          "listOptions.continue": next,
          fields: ["metadata", ...FIELDS.map((field) => `items.${field}`)].join(","),
        },
      });
      if (this.#isClosed) return "";
      version ??= metadata.resourceVersion ?? "";
      next = metadata.continue || undefined;
      count += items?.length ?? 0;
      this.store.trigger.seen({ workflows: items ?? [], gone: new Set() });
    } while (next !== undefined && count < MOST);
    this.store.trigger.loaded({ isPart: next !== undefined });
    return version;
  }
}
