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

export class OneWorkflow {
  readonly store: ReturnType<typeof createOneStore> = createOneStore();
  readonly #namespace: string;
  readonly #name: string;
  #closeWatch = () => {};
  #isClosed = false;

  constructor(namespace: string, name: string) {
    this.#namespace = namespace;
    this.#name = name;
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    this.#closeWatch();
  }

  /** Loads the workflow, and follows its changes from there. */
  async load(): Promise<void> {
    this.#closeWatch();
    const workflow = await this.#read();
    if (workflow === undefined || this.#isClosed) return;
    this.#closeWatch = openWatch({
      namespace: this.#namespace,
      name: this.#name,
      version: workflow.metadata.resourceVersion ?? "",
      onChanges: (changes) => this.#apply(changes),
      onStale: () => void this.load(),
    });
  }

  async #read(): Promise<Workflow | undefined> {
    try {
      const workflow = await api.call("WorkflowService_GetWorkflow", {
        params: { namespace: this.#namespace, name: this.#name },
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
    // A very large workflow comes without its nodes.
    const isReduced = last.object.status?.nodes === undefined &&
      this.store.getSnapshot().context.workflow?.status?.nodes !== undefined;
    if (isReduced) void this.#read();
    else this.store.trigger.shown({ workflow: last.object });
  }
}
