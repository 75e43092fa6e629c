/** Events and what became of them. This part of the script is loaded when somebody opens such a page. */
import type { JSX } from "preact";
import { useMemo, useRef } from "preact/hooks";
import { type DeliveryPage, EVENTS_MS, readDeliveries } from "../data/deliveries.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { setQuery } from "../data/router.ts";
import { type DeliveryFilters, deliveryFilters, STATES } from "../model/deliveries.ts";
import { mayReplay } from "../model/rights.ts";
import { Empty, LoadState } from "../parts/basics.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { DeliveryTable } from "./events/delivery_table.tsx";
import { EventTabs } from "./events/event_tabs.tsx";
import { ReplayAll } from "./events/replay_all.tsx";
import { TextFilter } from "./workflows/filters.tsx";

export { BindingPage, BindingsPage } from "./events/bindings.tsx";
export { EventPage } from "./events/event.tsx";
export { PlaygroundPage } from "./events/playground.tsx";

/** Other filters begin with the newest events. */
const FIRST_PAGE = { from: undefined };

export function EventsPage({ query }: PageProps): JSX.Element {
  const text = query.toString();
  const filters = useMemo(() => deliveryFilters(query), [text]);
  const { value, trouble, reload } = usePolled(
    text,
    EVENTS_MS,
    (signal) => readDeliveries(filters, { signal }),
  );
  const again = () => void reload();
  // Other filters: the rows stay until there are others, so that the page does not flicker.
  const before = useRef<DeliveryPage | undefined>(undefined);
  if (value !== undefined) before.current = value;
  const page = value ?? (trouble === undefined ? before.current : undefined);
  const isDead = filters.state === "dead";
  // Of an older page, and of one where some may follow, it is not known that there are none.
  const hasSome = page !== undefined &&
    (page.items.length > 0 || page.next !== undefined || filters.from !== "");
  const mayReplayAll = mayReplay(useRights(filters.namespace));
  return (
    <div class="page">
      <h1>{TEXTS.pages.events}</h1>
      <EventTabs open={isDead ? "dead" : "all"} namespace={filters.namespace} />
      <Filters filters={filters} />
      {isDead && mayReplayAll && <ReplayAll filters={filters} hasSome={hasSome} onDone={again} />}
      {page !== undefined && page.items.length > 0 && (
        <DeliveryTable
          items={page.items}
          isDead={isDead}
          onReplay={again}
        />
      )}
      <LoadState trouble={trouble} isLoaded={page !== undefined} again={again} />
      {trouble === undefined && page?.items.length === 0 && (
        <None filters={filters} hasMore={page.next !== undefined} />
      )}
      {trouble === undefined && page !== undefined && (
        <Pages
          from={filters.from}
          next={page.next}
        />
      )}
    </div>
  );
}

function Filters({ filters }: { filters: DeliveryFilters }): JSX.Element {
  const { fields, state } = TEXTS.events;
  return (
    <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
      <div class="filter-line">
        <TextFilter
          name="discriminator"
          value={filters.discriminator}
          label={fields.discriminator}
          clears={FIRST_PAGE}
          isSearch
        />
        <TextFilter
          name="namespace"
          value={filters.namespace}
          label={fields.namespace}
          clears={FIRST_PAGE}
        />
        <TextFilter
          name="binding"
          value={filters.binding}
          label={fields.binding}
          clears={FIRST_PAGE}
        />
        <label class="field">
          <span>{fields.state}</span>
          <select
            value={filters.state}
            onChange={({ currentTarget }) =>
              setQuery({ ...FIRST_PAGE, state: currentTarget.value })}
          >
            <option value="">{fields.anyState}</option>
            {STATES.map((one) => <option key={one} value={one}>{state[one]}</option>)}
          </select>
        </label>
      </div>
    </form>
  );
}

/** Older pages stand in the address too. */
function Pages({ from, next }: { from: string; next: string | undefined }): JSX.Element | null {
  if (from === "" && next === undefined) return null;
  return (
    <nav class="more" aria-label={TEXTS.events.page}>
      {from !== "" && (
        <button type="button" onClick={() => setQuery(FIRST_PAGE)}>
          {TEXTS.events.newest}
        </button>
      )}
      {next !== undefined && (
        <button type="button" onClick={() => setQuery({ from: next })}>{TEXTS.events.older}</button>
      )}
    </nav>
  );
}

function None(
  { filters, hasMore }: { filters: DeliveryFilters; hasMore: boolean },
): JSX.Element {
  const { none, noDead, noMatch, looked } = TEXTS.events;
  const { namespace, discriminator, binding, from, state } = filters;
  const isFiltered = [namespace, discriminator, binding, from].some((one) => one !== "");
  if (!isFiltered && state === "") {
    return (
      <Empty title={none.title}>
        <p>{none.next}</p>
        <pre class="code"><code>{none.command}</code></pre>
      </Empty>
    );
  }
  if (!isFiltered && state === "dead") {
    return (
      <Empty title={noDead.title}>
        <p>{noDead.next}</p>
      </Empty>
    );
  }
  return (
    <Empty title={noMatch.title}>
      <p>{hasMore ? looked : noMatch.next}</p>
      <p class="buttons">
        <a class="button" href={addressOf("/events")}>{noMatch.clear}</a>
      </p>
    </Empty>
  );
}
