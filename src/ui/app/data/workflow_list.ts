/** The workflows that a list shows: pages of the API, kept up to date by a watch. */
import { createStore } from "@xstate/store";
import {
  areWaits,
  changedRows,
  compareRows,
  compareWaits,
  type Filters,
  labelSelector,
  mergedRows,
  passes,
  type Row,
  rowOf,
} from "../model/rows.ts";
import { api, type Trouble, troubleOf } from "./api.ts";
import { createdSince } from "./clock.ts";
import { session } from "./session.ts";
import { openWatch, type WorkflowChange } from "./watch.ts";

/** Rows of a page. */
const PAGE = 100;
/**
 * The server reads a thousand workflows for a page with a filter that no index knows. Where few pass, so many pages are asked for
 * until somebody has to ask for more.
 */
const MOST_PAGES = 10;
/** Rows that are enough to stop before that. */
const ENOUGH = 20;

interface ListState {
  rows: readonly Row[];
  /** Where the next page begins; undefined: there is none. */
  next: string | undefined;
  /** So many have come that the oldest are not among the rows any more. */
  isCut: boolean;
  isLoading: boolean;
  trouble: Trouble | undefined;
}

const EMPTY: ListState = {
  rows: [],
  next: undefined,
  isCut: false,
  isLoading: true,
  trouble: undefined,
};

/** @param compare the order of its rows */
function createListStore(compare: typeof compareRows) {
  return createStore({
    context: EMPTY,
    on: {
      loading: (context) => ({ ...context, isLoading: true, trouble: undefined }),
      loaded: (
        context,
        { rows, next, isFirst }: { rows: Row[]; next: string | undefined; isFirst: boolean },
      ) => {
        const kept = isFirst ? [] : context.rows;
        const put = new Map(rows.map((row) => [row.key, row]));
        const all = mergedRows(kept, { put, gone: new Set() }, compare);
        return { rows: all, next, isCut: false, isLoading: false, trouble: undefined };
      },
      failed: (context, { trouble }: { trouble: Trouble }) => ({
        ...context,
        isLoading: false,
        trouble,
      }),
      changed: (context, changes: { put: Map<string, Row>; gone: Set<string> }): ListState => {
        const hasMore = context.next !== undefined;
        const { rows, isCut } = changedRows(context.rows, changes, hasMore, compare);
        // The next page begins after those that had to go.
        return isCut ? { ...context, rows, isCut, next: undefined } : { ...context, rows };
      },
    },
  });
}

/** Those filters of the API that are the same for lists and counts. */
export function queryOf(filters: Filters, after: number | undefined) {
  const { name } = filters;
  return {
    ...(areWaits(filters) && { waiting: true }),
    ...(name !== "" && {
      "listOptions.fieldSelector": `metadata.name=${name}`,
      nameFilter: "Contains",
    }),
    ...(after !== undefined && { createdAfter: new Date(after).toISOString() }),
  };
}

/** A list under one set of filters. */
export class WorkflowList {
  readonly store: ReturnType<typeof createListStore>;
  readonly #filters: Filters;
  readonly #fields: readonly string[];
  readonly #selector: string;
  #after: number | undefined;
  #closeWatch = () => {};
  #isClosed = false;

  /** @param fields members that its rows need, as of `rowFields` */
  constructor(filters: Filters, fields: readonly string[]) {
    this.store = createListStore(areWaits(filters) ? compareWaits : compareRows);
    this.#filters = filters;
    this.#fields = fields;
    this.#selector = labelSelector(filters, session.getSnapshot().context.labelPrefix);
    void this.load();
  }

  close(): void {
    this.#isClosed = true;
    this.#closeWatch();
  }

  /** Loads the first page, and follows the changes from there. */
  async load(): Promise<void> {
    this.#closeWatch();
    this.store.trigger.loading();
    this.#after = await createdSince(this.#filters);
    if (this.#isClosed) return;
    const version = await this.#pages(undefined);
    if (version === undefined || this.#isClosed) return;
    const { namespace } = this.#filters;
    this.#closeWatch = openWatch({
      namespace,
      labelSelector: this.#selector,
      waiting: areWaits(this.#filters),
      fields: this.#fields,
      version,
      onChanges: (changes) => this.#apply(changes),
      onStale: () => void this.load(),
    });
  }

  /** Loads the next page. */
  async more(): Promise<void> {
    const { next, isLoading } = this.store.getSnapshot().context;
    if (next === undefined || isLoading) return;
    this.store.trigger.loading();
    await this.#pages(next);
  }

  /** Loads pages until there are some rows. @returns the version of the first; undefined when it could not be loaded */
  async #pages(start: string | undefined): Promise<string | undefined> {
    const before = start === undefined ? 0 : this.store.getSnapshot().context.rows.length;
    const version = await this.#page(start);
    for (let page = 1; page < MOST_PAGES && version !== undefined; page++) {
      const { rows, next } = this.store.getSnapshot().context;
      if (this.#isClosed || next === undefined || rows.length - before >= ENOUGH) break;
      this.store.trigger.loading();
      if (await this.#page(next) === undefined) break;
    }
    return version;
  }

  /** @returns the version of the page; undefined when it could not be loaded */
  async #page(start: string | undefined): Promise<string | undefined> {
    const { namespace } = this.#filters;
    try {
      const { metadata, items } = await api.call("WorkflowService_ListWorkflows", {
        params: { namespace },
        query: {
          "listOptions.limit": PAGE,
          "listOptions.labelSelector": this.#selector || undefined,
          "listOptions.continue": start,
          parameter: this.#filters.parameter || undefined,
          exactTimes: true,
          waits: true,
          ...queryOf(this.#filters, this.#after),
          fields: ["metadata", ...this.#fields.map((field) => `items.${field}`)].join(","),
        },
      });
      if (this.#isClosed) return undefined;
      const rows = (items ?? []).map(rowOf).filter((row) =>
        passes(row, this.#filters, this.#after)
      );
      const isFirst = start === undefined;
      this.store.trigger.loaded({ rows, next: metadata.continue || undefined, isFirst });
      return metadata.resourceVersion ?? "";
    } catch (error) {
      if (!this.#isClosed) this.store.trigger.failed({ trouble: troubleOf(error) });
      return undefined;
    }
  }

  #apply(changes: WorkflowChange[]): void {
    const put = new Map<string, Row>();
    const gone = new Set<string>();
    for (const { type, object } of changes) {
      const row = rowOf(object);
      if (type === "DELETED" || !passes(row, this.#filters, this.#after)) {
        gone.add(row.key);
        put.delete(row.key);
      } else {
        put.set(row.key, row);
        gone.delete(row.key);
      }
    }
    this.store.trigger.changed({ put, gone });
  }
}
