/** What lists of stored things have in common: states of loading, nothing there, and more rows. */
import type { ComponentChildren, JSX } from "preact";
import { MOST_ROWS, PAGE, type Rows } from "../data/pages.ts";
import type { PolledView } from "../data/polled.ts";
import { setQuery } from "../data/router.ts";
import type { StoredKindName } from "../paths.ts";
import { Empty, LoadState } from "./basics.tsx";
import { NewLink } from "./edit_links.tsx";

/** How many rows are wanted, from the query of the page. */
export function rowsWanted(query: URLSearchParams): number {
  const asked = Number(query.get("rows") ?? "");
  return Number.isInteger(asked) ? Math.min(MOST_ROWS, Math.max(PAGE, asked)) : PAGE;
}

interface ListBodyProps<Item> {
  list: PolledView<Rows<Item>>;
  /** Filters are set, so that there may be more without them. */
  isFiltered: boolean;
  texts: {
    none: { title: string; next: string; command?: string };
    noMatch: { title: string; next: string };
    more: string;
    tooMany: string;
  };
  /** What is stored where nothing is yet. */
  kind?: StoredKindName;
  /** Shows the rows. */
  children: (items: readonly Item[]) => ComponentChildren;
}

/** The rows of a list, or why there are none. */
export function ListBody<Item>(
  { list: { value, trouble, reload }, isFiltered, texts, kind, children }: ListBodyProps<Item>,
): JSX.Element {
  const count = value?.items.length ?? 0;
  return (
    <>
      <LoadState trouble={trouble} isLoaded={value !== undefined} again={() => void reload()} />
      {count > 0 && children(value?.items ?? [])}
      {value !== undefined && count === 0 && trouble === undefined && (
        <Empty title={isFiltered ? texts.noMatch.title : texts.none.title}>
          <p>{isFiltered ? texts.noMatch.next : texts.none.next}</p>
          {!isFiltered && texts.none.command !== undefined && (
            <pre class="code"><code>{texts.none.command}</code></pre>
          )}
          {!isFiltered && kind !== undefined && <NewLink kind={kind} namespace="" />}
        </Empty>
      )}
      {value?.hasMore === true && count < MOST_ROWS && (
        <p class="more">
          <button
            type="button"
            onClick={() => setQuery({ rows: String(count + PAGE) }, { isReplacing: true })}
          >
            {texts.more}
          </button>
        </p>
      )}
      {value?.hasMore === true && count >= MOST_ROWS && <p class="notice-line">{texts.tooMany}</p>}
    </>
  );
}
