/** The archive: workflows that have ended, also those that were deleted. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { Workflow } from "../../../spec/manifest.ts";
import { api } from "../data/api.ts";
import { createdSince } from "../data/clock.ts";
import { PAGE, readRows } from "../data/pages.ts";
import { usePolled } from "../data/polled.ts";
import { addressOf } from "../data/root.ts";
import { session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import {
  type ArchiveFilters,
  archiveFiltersFrom,
  archiveSelector,
  ENDED_PHASES,
  isOnlyArchived,
} from "../model/archived.ts";
import { Ago, GivenTitle, Span, WorkflowPhase } from "../parts/basics.tsx";
import { ListBody, rowsWanted } from "../parts/list_page.tsx";
import { Rows } from "../parts/rows.tsx";
import { archivedPath, type PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { PhaseFilter, SinceFilter, TextFilter } from "./workflows/filters.tsx";

const EVERY_MS = 10_000;

export function ArchivePage({ query }: PageProps): JSX.Element {
  const text = query.toString();
  const filters = useMemo(() => archiveFiltersFrom(query), [text]);
  const prefix = useStore(session, (context) => context.labelPrefix);
  const rows = rowsWanted(query);
  const list = usePolled(
    `${prefix} ${JSON.stringify(filters)}`,
    EVERY_MS,
    (signal) => readRows(rows, (start) => readPage(filters, prefix, start, signal)),
    rows,
  );
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.archive.title}</h1>
        {(list.value?.items.length ?? 0) > 0 && (
          <span class="faint" role="status">
            {TEXTS.archive.shown(list.value?.items.length ?? 0)}
          </span>
        )}
      </div>
      <Filters filters={filters} />
      <ListBody
        list={list}
        isFiltered={Object.values(filters).some(({ length }) => length > 0)}
        texts={TEXTS.archive}
      >
        {(items) => <ArchiveRows items={items} />}
      </ListBody>
    </div>
  );
}

async function readPage(
  filters: ArchiveFilters,
  prefix: string,
  start: string | undefined,
  signal: AbortSignal,
) {
  const after = await createdSince(filters);
  return await api.call("ArchivedWorkflowService_ListArchivedWorkflows", {
    query: {
      namespace: filters.namespace || undefined,
      namePrefix: filters.name || undefined,
      exactTimes: true,
      "listOptions.limit": PAGE,
      "listOptions.continue": start,
      "listOptions.labelSelector": archiveSelector(filters, prefix) || undefined,
      "listOptions.fieldSelector": after === undefined
        ? undefined
        : `spec.startedAt>${new Date(after).toISOString()}`,
    },
    signal,
  });
}

function Filters({ filters }: { filters: ArchiveFilters }): JSX.Element {
  const { archive, list } = TEXTS;
  return (
    <form class="filter-line" role="search" onSubmit={(event) => event.preventDefault()}>
      <TextFilter name="name" value={filters.name} label={archive.search} isSearch />
      <TextFilter name="namespace" value={filters.namespace} label={list.fields.namespace} />
      <TextFilter
        name="label"
        value={filters.labels}
        label={archive.label}
        hint={list.fields.labelsHint}
      />
      <SinceFilter label={archive.started} since={filters.since} />
      <PhaseFilter choices={ENDED_PHASES} phases={filters.phases} />
    </form>
  );
}

function ArchiveRows({ items }: { items: readonly Workflow[] }): JSX.Element {
  const { heads, places, kept } = TEXTS.archive;
  return (
    <Rows
      label={TEXTS.archive.title}
      items={items}
      keyOf={({ metadata }) => metadata.uid ?? ""}
      columns={[
        {
          title: heads.phase,
          look: "tight",
          show: (workflow) => <WorkflowPhase of={workflow} />,
        },
        {
          title: heads.name,
          look: "main",
          show: ({ metadata, metadata: { namespace = "", name = "", uid = "" }, status }) => (
            <>
              <a href={addressOf(archivedPath(namespace, name, uid))} data-keys-row="">{name}</a>
              <GivenTitle of={metadata} />
              {status?.message !== undefined && <p class="message">{status.message}</p>}
            </>
          ),
        },
        { title: heads.namespace, show: ({ metadata }) => metadata.namespace },
        {
          title: kept,
          look: "tight",
          show: (workflow) => isOnlyArchived(workflow) ? places.only : places.both,
        },
        { title: heads.duration, look: "right", show: ({ status }) => <Span of={status} /> },
        {
          title: heads.finished,
          look: "tight",
          show: ({ status }) => <Ago at={status?.finishedAt} />,
        },
      ]}
    />
  );
}
