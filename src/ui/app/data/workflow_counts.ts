/** How many workflows of each phase there are under the filters of a list: over all of them, not only over the rows. */
import { createStore } from "@xstate/store";
import {
  type BarChart,
  chartOf,
  type CountAnswer,
  type Filters,
  labelSelector,
} from "../model/rows.ts";
import { api } from "./api.ts";
import { createdSince } from "./clock.ts";
import { session } from "./session.ts";
import { queryOf } from "./workflow_list.ts";

export const BARS = 60;
/** While workflows change, they are counted again after so long, ms. */
const REST_MS = 10_000;

function createCountStore() {
  return createStore({
    context: { chart: undefined as BarChart | undefined },
    on: { counted: (_, { chart }: { chart: BarChart }) => ({ chart }) },
  });
}

export class WorkflowCounts {
  readonly store: ReturnType<typeof createCountStore> = createCountStore();
  readonly #filters: Filters;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #countedAt = -Infinity;
  #isClosed = false;

  constructor(filters: Filters) {
    this.#filters = filters;
    // What a parameter selects is not counted anywhere.
    if (filters.parameter !== "") this.#isClosed = true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** Something may have changed: counts at once, or when the last count is old enough. */
  refresh(): void {
    if (this.#isClosed || this.#timer !== undefined) return;
    const rest = Math.max(0, this.#countedAt + REST_MS - performance.now());
    this.#timer = setTimeout(() => void this.#count(), rest);
  }

  async #count(): Promise<void> {
    // What changes from now on may not be in this count.
    this.#timer = undefined;
    const { namespace } = this.#filters;
    const after = await createdSince(this.#filters);
    const selector = labelSelector(this.#filters, session.getSnapshot().context.labelPrefix);
    this.#countedAt = performance.now();
    try {
      const answer = await api.call("WorkflowService_CountWorkflows", {
        params: { namespace },
        query: {
          bars: BARS,
          "listOptions.labelSelector": selector || undefined,
          ...queryOf(this.#filters, after),
        },
      });
      const chart = chartOf(answer as unknown as CountAnswer);
      if (!this.#isClosed) this.store.trigger.counted({ chart });
    } catch {
      // The list tells what is wrong; the chart shows its rows meanwhile.
    }
  }
}
