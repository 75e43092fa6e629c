/** Cron workflows: when each runs next, and how its last runs went. */
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import type { CronWorkflow } from "../../../spec/manifest.ts";
import { api } from "../data/api.ts";
import { useNow } from "../data/clock.ts";
import { PAGE, readRows } from "../data/pages.ts";
import { usePolled } from "../data/polled.ts";
import { addressOf } from "../data/root.ts";
import { dueTimes, stateOf } from "../model/crons.ts";
import { absoluteText, relativeText } from "../model/times.ts";
import { Ago, GivenTitle } from "../parts/basics.tsx";
import { ListBody, rowsWanted } from "../parts/list_page.tsx";
import { Rows } from "../parts/rows.tsx";
import { NewLink } from "../parts/edit_links.tsx";
import { RunLine } from "../parts/run_line.tsx";
import { cronPath, type PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { Schedules, StateBadge } from "./crons/shared.tsx";
import { TextFilter } from "./workflows/filters.tsx";

const EVERY_MS = 5_000;
const DAY_MS = 24 * 3600_000;
/** Rows and marks that the time line draws. */
const MOST_LINES = 20;
const MOST_MARKS = 96;
/** Due times are worked out again after so long, ms. */
const STEP_MS = 60_000;

export function CronsPage({ query }: PageProps): JSX.Element {
  const namespace = query.get("namespace") ?? "";
  const name = query.get("name") ?? "";
  const rows = rowsWanted(query);
  const list = usePolled(
    JSON.stringify([namespace, name]),
    EVERY_MS,
    (signal) =>
      readRows(rows, (start) =>
        api.call("CronWorkflowService_ListCronWorkflows", {
          params: { namespace },
          query: {
            "listOptions.limit": PAGE,
            "listOptions.continue": start,
            namePattern: name || undefined,
          },
          signal,
        })),
    rows,
  );
  return (
    <div class="page">
      <div class="headline">
        <h1>{TEXTS.crons.title}</h1>
        <NewLink kind="CronWorkflow" namespace={namespace} />
      </div>
      <form class="filter-line" role="search" onSubmit={(event) => event.preventDefault()}>
        <TextFilter name="name" value={name} label={TEXTS.crons.search} isSearch />
        <TextFilter name="namespace" value={namespace} label={TEXTS.list.fields.namespace} />
      </form>
      <ListBody
        list={list}
        isFiltered={name !== "" || namespace !== ""}
        kind="CronWorkflow"
        texts={{ ...TEXTS.crons, more: TEXTS.list.more, tooMany: TEXTS.templates.tooMany }}
      >
        {(items) => (
          <>
            <NextDay items={items} />
            <CronRows items={items} />
          </>
        )}
      </ListBody>
    </div>
  );
}

function keyOf({ metadata }: CronWorkflow): string {
  return `${metadata.namespace}/${metadata.name}`;
}

function NextDay({ items }: { items: readonly CronWorkflow[] }): JSX.Element | null {
  const now = useNow();
  const from = Math.floor(now / STEP_MS) * STEP_MS;
  const on = items.filter((cron) => stateOf(cron) === "on");
  const lines = useMemo(
    () =>
      on.slice(0, MOST_LINES).map((cron) => ({
        key: keyOf(cron),
        name: cron.metadata.name ?? "",
        runs: [],
        due: dueTimes(cron, from, { until: from + DAY_MS, most: MOST_MARKS }),
        isOff: false,
      })),
    [items, from],
  );
  const { line } = TEXTS.crons;
  if (lines.length === 0) return null;
  return (
    <section class="card">
      <h2>{line.title}</h2>
      <RunLine label={line.title} rows={lines} from={from} until={from + DAY_MS} now={now} />
      {on.length > MOST_LINES && <p class="faint">{line.more(MOST_LINES)}</p>}
    </section>
  );
}

/** When it runs next, in words. */
function Next({ cron }: { cron: CronWorkflow }): JSX.Element {
  const now = useNow();
  const state = stateOf(cron);
  if (state !== "on") return <span class="faint">{TEXTS.crons.notWhile[state]}</span>;
  const [next] = dueTimes(cron, now, { most: 1 }).times;
  if (next === undefined) return <span class="faint">{TEXTS.crons.never}</span>;
  return (
    <time dateTime={new Date(next).toISOString()} title={absoluteText(next)}>
      {relativeText(next, now)}
    </time>
  );
}

function CronRows({ items }: { items: readonly CronWorkflow[] }): JSX.Element {
  const { heads } = TEXTS.crons;
  return (
    <Rows
      label={TEXTS.crons.title}
      items={items}
      keyOf={keyOf}
      columns={[
        {
          title: heads.name,
          look: "name",
          show: ({ metadata, metadata: { namespace = "", name = "" } }) => (
            <>
              <a href={addressOf(cronPath(namespace, name))} data-keys-row="">{name}</a>
              <GivenTitle of={metadata} />
            </>
          ),
        },
        { title: heads.namespace, show: ({ metadata }) => metadata.namespace },
        { title: heads.state, look: "tight", show: (cron) => <StateBadge cron={cron} /> },
        { title: heads.schedule, look: "main", show: (cron) => <Schedules cron={cron} /> },
        { title: heads.next, look: "tight", show: (cron) => <Next cron={cron} /> },
        {
          title: heads.last,
          look: "tight",
          show: ({ status }) => <Ago at={status?.lastScheduledTime} />,
        },
        {
          title: heads.ended,
          look: "right",
          show: ({ status }) => `${status?.succeeded ?? 0}, ${status?.failed ?? 0}`,
        },
      ]}
    />
  );
}
