/** The list of workflows: what runs, what waits, what failed. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import { BARS, WorkflowCounts } from "../data/workflow_counts.ts";
import { WorkflowList } from "../data/workflow_list.ts";
import {
  areWaits,
  type BarChart,
  chartOfRows,
  type Filters,
  filtersFrom,
  type Row,
  rowFields,
} from "../model/rows.ts";
import { maySubmit } from "../model/rights.ts";
import { Empty, Loading, TroubleBox } from "../parts/basics.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { Bars } from "./workflows/bars.tsx";
import { Batch } from "./workflows/batch.tsx";
import { columnsFrom } from "./workflows/columns.ts";
import { FilterBar } from "./workflows/filters.tsx";
import { Table } from "./workflows/table.tsx";

export function WorkflowsPage({ query }: PageProps): JSX.Element {
  const text = query.toString();
  const filters = useMemo(() => filtersFrom(query), [text]);
  const columns = useMemo(() => columnsFrom(query.get("columns") ?? ""), [text]);
  const prefix = useStore(session, (context) => context.labelPrefix);
  const list = useList(filters, rowFields(columns.map(({ field }) => field), filters, prefix));
  const rows = useStore(list.store, (context) => context.rows);
  const isLoading = useStore(list.store, (context) => context.isLoading);
  const trouble = useStore(list.store, (context) => context.trouble);
  const hasMore = useStore(list.store, (context) => context.next !== undefined);
  const isCut = useStore(list.store, (context) => context.isCut);
  const chart = useChart(filters, rows, hasMore || isCut);
  const mayCreate = maySubmit(useRights(filters.namespace));
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const chosen = rows.filter(({ key }) => selected.has(key));
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.pages.workflows}</h1>
        {mayCreate && <SubmitLink namespace={filters.namespace} />}
      </div>
      <FilterBar filters={filters} columns={query.get("columns") ?? ""} query={text} />
      {rows.length > 0 && <Bars chart={chart} areWaits={areWaits(filters)} />}
      <Batch rows={chosen} clear={() => setSelected(new Set())} />
      {rows.length > 0 && (
        <Table rows={rows} columns={columns} selected={selected} select={setSelected} />
      )}
      {trouble !== undefined && <TroubleBox trouble={trouble} again={() => void list.load()} />}
      {trouble?.kind === "refused" && filters.labels !== "" && (
        <p class="notice-line">{TEXTS.list.labelsRefused}</p>
      )}
      {trouble === undefined && isLoading && rows.length === 0 && <Loading />}
      {trouble === undefined && !isLoading && rows.length === 0 && (
        <NoRows filters={filters} hasMore={hasMore} mayCreate={mayCreate} />
      )}
      {isCut && <p class="notice-line">{TEXTS.list.cut(rows.length, areWaits(filters))}</p>}
      {trouble === undefined && hasMore && (
        <p class="more">
          <button type="button" disabled={isLoading} onClick={() => void list.more()}>
            {isLoading ? TEXTS.loading : TEXTS.list.more}
          </button>
          <span class="faint">{TEXTS.list.shown(rows.length)}</span>
        </p>
      )}
    </div>
  );
}

/** The list under these filters, with these members. Another replaces it when they change. */
function useList(filters: Filters, fields: readonly string[]): WorkflowList {
  // The fields have the prefix of labels, by which the list selects.
  const key = `${JSON.stringify(filters)} ${fields}`;
  const list = useMemo(() => new WorkflowList(filters, fields), [key]);
  useEffect(() => () => list.close(), [list]);
  return list;
}

/** What the server has counted under these filters; until then, and where it cannot, what is shown. */
function useChart(filters: Filters, rows: readonly Row[], isPart: boolean): BarChart {
  const prefix = useStore(session, (context) => context.labelPrefix);
  const counts = useMemo(
    () => new WorkflowCounts(filters),
    [`${prefix} ${JSON.stringify(filters)}`],
  );
  useEffect(() => () => counts.close(), [counts]);
  useEffect(() => counts.refresh(), [counts, rows]);
  const counted = useStore(counts.store, (context) => context.chart);
  return useMemo(() => counted ?? chartOfRows(rows, BARS, isPart), [counted, rows, isPart]);
}

function SubmitLink({ namespace }: { namespace: string }): JSX.Element {
  const query = namespace === "" ? "" : `?${new URLSearchParams({ namespace })}`;
  return <a class="button main" href={addressOf(`/submit${query}`)}>{TEXTS.submit.button}</a>;
}

/** It may be the id of a job, which no workflow is named after. */
function waitingPath({ name, namespace }: Filters): string {
  return `/waiting?${new URLSearchParams({ text: name, ...(namespace !== "" && { namespace }) })}`;
}

function NoRows(
  { filters, hasMore, mayCreate }: { filters: Filters; hasMore: boolean; mayCreate: boolean },
): JSX.Element {
  const isFiltered = Object.values(filters).some(({ length }) => length > 0);
  if (!isFiltered) {
    return (
      <Empty title={TEXTS.list.none.title}>
        {mayCreate && (
          <>
            <p>{TEXTS.list.none.next}</p>
            <pre class="code"><code>{TEXTS.list.none.command}</code></pre>
            <p class="buttons">
              <SubmitLink namespace="" />
            </p>
          </>
        )}
      </Empty>
    );
  }
  return (
    <Empty title={TEXTS.list.noMatch.title}>
      <p>{hasMore ? TEXTS.list.noMatch.more : TEXTS.list.noMatch.next}</p>
      <p class="buttons">
        <a class="button" href={addressOf("/")}>{TEXTS.list.noMatch.clear}</a>
        {filters.name !== "" && (
          <a class="button" href={addressOf(waitingPath(filters))}>
            {TEXTS.list.noMatch.amongWaits(filters.name)}
          </a>
        )}
      </p>
    </Empty>
  );
}
