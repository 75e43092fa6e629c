/** Pages of workflows: of a list of the store, and of all that have had a name. */
import { defined } from "../../base/defined.ts";
import { ARCHIVED_NAME_LABEL } from "../../spec/manifest.ts";
import { continueAfter, placeOf } from "../../store/list_query.ts";
import type { ListPage, ListQuery } from "../../store/port.ts";
import type { ServiceDeps } from "../deps.ts";
import type { PageStart } from "../continue_token.ts";

/** Gives a page of a list. */
export type List = (query: ListQuery) => Promise<ListPage>;

/** Most items that an offset skips. */
const MAX_SKIP = 1_000_000;
/** Begins the tokens of pages that have only deleted workflows. No token of the store has it. */
const DELETED = "~";

/** The list of the store. */
export function listOf({ store }: Pick<ServiceDeps, "store">): List {
  return (query) => store.query.list(query);
}

/**
 * The list of the workflows of a name: those that still exist, then those that only the archive has. The latter have another
 * name in the store, so each of the two is a list of its own.
 */
export function listOfName({ store }: Pick<ServiceDeps, "store">, name: string): List {
  const exact = { value: name, match: "exact" } as const;
  const label = { key: ARCHIVED_NAME_LABEL, operator: "=" as const, values: [name] };
  return async ({ name: _name, continue: token = "", ...query }) => {
    const isPastLive = token.startsWith(DELETED);
    const live = isPastLive
      ? undefined
      : await store.query.list({ ...query, name: exact, continue: token });
    if (live?.continue !== undefined && query.count !== true) return live;
    const room = query.limit - (live?.items.length ?? 0);
    const deleted = await store.query.list({
      ...query,
      // One at least tells whether there are any.
      ...(query.limit > 0 && { limit: Math.max(1, room) }),
      labels: [...query.labels ?? [], label],
      continue: isPastLive ? token.slice(DELETED.length) : "",
    });
    return live === undefined ? deletedPage(deleted, query) : bothPages(live, deleted, query);
  };
}

/** A page of deleted workflows, with tokens that say so. */
function deletedPage(page: ListPage, query: Omit<ListQuery, "name" | "continue">): ListPage {
  return {
    ...page,
    items: page.items.map((item) => ({ ...item, continue: DELETED + cursorAfter(item, query) })),
    ...defined({ continue: page.continue === undefined ? undefined : DELETED + page.continue }),
  };
}

/** What exists, and of what was deleted as much as there is room for. */
function bothPages(
  live: ListPage,
  deleted: ListPage,
  query: Omit<ListQuery, "name" | "continue">,
): ListPage {
  const { items, version, remaining: liveLeft } = live;
  const isFull = live.continue !== undefined || (query.limit > 0 && items.length >= query.limit);
  const after = isFull ? undefined : deletedPage(deleted, query);
  const hasDeleted = deleted.items.length > 0 || deleted.continue !== undefined;
  const next = live.continue ?? (isFull && hasDeleted ? DELETED : after?.continue);
  const isCounted = liveLeft !== undefined && deleted.remaining !== undefined;
  const unseen = isFull ? deleted.items.length : 0;
  return {
    items: [...items, ...after?.items ?? []],
    version,
    ...defined({
      continue: next,
      remaining: isCounted ? liveLeft + (deleted.remaining ?? 0) + unseen : undefined,
      isWithoutArchive: live.isWithoutArchive ?? deleted.isWithoutArchive,
    }),
  };
}

/** The cursor that continues after an item of a list. */
export function cursorAfter(
  { id, index, continue: token }: ListPage["items"][number],
  query: Pick<ListQuery, "waiting">,
): string {
  return token ?? continueAfter({ createdAt: placeOf(index, query), id });
}

/**
 * One page of a list. The items before a foreign client's offset are skipped without being loaded.
 * @param query with the bounds of one page
 */
export async function pageFrom(
  list: List,
  { cursor, offset }: PageStart,
  query: ListQuery,
): Promise<ListPage> {
  if (cursor !== undefined) return await list({ ...query, continue: cursor });
  if (offset === 0) return await list(query);
  const { maxScan: _scan, ...whole } = query;
  const { maxSize: _size, ...all } = whole;
  const skipped = await list({ ...all, limit: Math.min(offset, MAX_SKIP), parts: [] });
  if (skipped.continue === undefined) return { items: [], version: skipped.version, remaining: 0 };
  return await list({ ...whole, continue: skipped.continue });
}
