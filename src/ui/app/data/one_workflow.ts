/** One workflow, kept up to date by a watch. */
import { createStore } from "@xstate/store";
import type { Workflow } from "../../../spec/manifest.ts";
import { api, type Trouble, troubleOf } from "./api.ts";
import { openWatch, type WorkflowChange } from "./watch.ts";

interface OneState {
  workflow: Workflow | undefined;
  isDeleted: boolean;
  trouble: Trouble | undefined;
}

function createOneStore() {
  return createStore({
    context: { workflow: undefined, isDeleted: false, trouble: undefined } as OneState,
    on: {
      shown: (_, { workflow }: { workflow: Workflow }): OneState => ({
        workflow,
        isDeleted: false,
        trouble: undefined,
      }),
      deleted: (context): OneState => ({ ...context, isDeleted: true }),
      failed: (context, { trouble }: { trouble: Trouble }): OneState => ({ ...context, trouble }),
    },
  });
}

/** A workflow with more nodes does not come with every change: it would take longer to read than until the next change. */
const MANY_NODES = 200;
/** What a watch tells of such a workflow. */
const HEAD_FIELDS = ["metadata.name", "metadata.resourceVersion", "status.phase"] as const;
/** Between two reads of it: at least so long, ms, and so many times as long as the last read took. */
const SHORTEST_REST_MS = 500;
const REST_SHARE = 4;

export class OneWorkflow {
  readonly store: ReturnType<typeof createOneStore> = createOneStore();
  readonly #namespace: string;
  readonly #name: string;
  #closeWatch = () => {};
  #isClosed = false;
  /** Waits for the next read of a large workflow. */
  #reading: ReturnType<typeof setTimeout> | undefined;
  /** When the next read may begin, and whether one is under way. */
  #readableAt = 0;
  #isReading = false;
  #isOutdated = false;

  constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.#name = name;
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#reading);
    this.#closeWatch();
  }

  /** Loads the workflow, and follows its changes from there. */
  async load(): Promise<void> {
    this.#closeWatch();
    const workflow = await this.#read();
    if (workflow !== undefined && !this.#isClosed) this.#follow(workflow);
  }

  /**
   * The same where the server no longer has the changes since the last one of this workflow, which may be long ago: it is
   * followed from the version that the store has now.
   */
  async #loadAnew(): Promise<void> {
    const version = await this.#versionOfStore();
    const workflow = await this.#read();
    if (workflow !== undefined && !this.#isClosed) this.#follow(workflow, version);
  }

  async #versionOfStore(): Promise<string | undefined> {
    try {
      const { metadata } = await api.call("WorkflowService_ListWorkflows", {
        params: { namespace: this.#namespace },
        query: {
          "listOptions.fieldSelector": `metadata.name=${this.#name}`,
          "listOptions.limit": 1,
          fields: "metadata",
        },
      });
      return metadata.resourceVersion;
    } catch {
      // Reading the workflow tells what is wrong.
      return undefined;
    }
  }

  #follow(workflow: Workflow, version = workflow.metadata.resourceVersion): void {
    this.#closeWatch();
    this.#closeWatch = openWatch({
      namespace: this.#namespace,
      name: this.#name,
      ...(isLarge(workflow) && { fields: HEAD_FIELDS }),
      version: version ?? "",
      onChanges: (changes) => this.#apply(changes),
      onStale: () => void this.#loadAnew(),
    });
  }

  async #read(): Promise<Workflow | undefined> {
    try {
      const workflow = await api.call("WorkflowService_GetWorkflow", {
        params: { namespace: this.#namespace, name: this.#name },
        query: { exactTimes: true },
      });
      if (!this.#isClosed) this.store.trigger.shown({ workflow });
      return workflow;
    } catch (error) {
      if (this.#isClosed) return undefined;
      const trouble = troubleOf(error);
      const { workflow } = this.store.getSnapshot().context;
      if (trouble.kind === "missing" && workflow !== undefined) this.store.trigger.deleted();
      else this.store.trigger.failed({ trouble });
      return undefined;
    }
  }

  #apply(changes: WorkflowChange[]): void {
    const last = changes.at(-1);
    if (last === undefined) return;
    if (last.type === "DELETED") {
      this.store.trigger.deleted();
      return;
    }
    const { workflow: shown } = this.store.getSnapshot().context;
    // Neither the head of a large workflow nor what the server sends of a very large one has its nodes.
    const isReduced = last.object.status?.nodes === undefined && shown?.status?.nodes !== undefined;
    if (isReduced) {
      this.#readSoon();
      return;
    }
    this.store.trigger.shown({ workflow: last.object });
    if (isLarge(last.object)) this.#follow(last.object);
  }

  /** Reads a large workflow again: at once after a rest, and never twice at a time. */
  #readSoon(): void {
    this.#isOutdated = true;
    if (this.#isReading || this.#reading !== undefined) return;
    const rest = Math.max(0, this.#readableAt - performance.now());
    this.#reading = setTimeout(() => void this.#readAgain(), rest);
  }

  async #readAgain(): Promise<void> {
    this.#reading = undefined;
    this.#isReading = true;
    this.#isOutdated = false;
    const began = performance.now();
    await this.#read();
    const now = performance.now();
    this.#readableAt = now + Math.max(SHORTEST_REST_MS, REST_SHARE * (now - began));
    this.#isReading = false;
    if (this.#isOutdated && !this.#isClosed) this.#readSoon();
  }
}

function isLarge({ status }: Workflow): boolean {
  return Object.keys(status?.nodes ?? {}).length > MANY_NODES;
}
