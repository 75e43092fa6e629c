/** The last runs of a template or a cron workflow, with how long each took. */
import type { JSX } from "preact";
import type { Workflow } from "../../../spec/manifest.ts";
import { api } from "../data/api.ts";
import { useNow } from "../data/clock.ts";
import { type PolledView, usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { lookOfWorkflow } from "../model/phases.ts";
import { may } from "../model/rights.ts";
import { spanOf } from "../model/times.ts";
import { workflowPath } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { Ago, GivenTitle, Span, WorkflowPhase } from "./basics.tsx";
import { type RowColumn, Rows } from "./rows.tsx";

const FIELDS = [
  "metadata",
  "items.metadata.name",
  "items.metadata.namespace",
  "items.metadata.uid",
  "items.metadata.creationTimestamp",
  "items.metadata.annotations",
  "items.spec.suspend",
  "items.status.phase",
  "items.status.startedAt",
  "items.status.finishedAt",
  "items.status.waitsSince",
].join(",");

interface RunsOptions {
  most?: number;
  everyMs?: number;
  /** When it is another one, they are read again at once. */
  version?: string;
}

/**
 * The newest workflows with a label; none as long as it is not known that the visitor may list them.
 * @param namespace "" for all
 */
export function useRuns(
  namespace: string,
  label: string,
  { most = 20, everyMs = 5_000, version = "" }: RunsOptions = {},
): PolledView<Workflow[] | undefined> & { mayList: boolean } {
  const mayList = may(useRights(namespace), "workflows", "list");
  const runs = usePolled(`${namespace} ${label} ${mayList}`, everyMs, async (signal) => {
    if (!mayList) return undefined;
    const { items } = await api.call("WorkflowService_ListWorkflows", {
      params: { namespace },
      query: {
        "listOptions.limit": most,
        "listOptions.labelSelector": label,
        exactTimes: true,
        waits: true,
        fields: FIELDS,
      },
      signal,
    });
    return items ?? [];
  }, version);
  return { ...runs, mayList };
}

export function Runs(
  { label, runs, current, more = [] }: {
    label: string;
    runs: readonly Workflow[];
    /** Name of the run whose page shows them. */
    current?: string;
    /** Columns besides those that all runs have. */
    more?: readonly RowColumn<Workflow>[];
  },
): JSX.Element {
  const now = useNow();
  const { heads } = TEXTS.runs;
  const spans = runs.map(({ status }) => spanOf(status ?? {}, now) ?? 0);
  const longest = Math.max(1, ...spans);
  return (
    <Rows
      label={label}
      items={runs}
      keyOf={({ metadata }) => metadata.uid ?? ""}
      columns={[
        {
          title: heads.phase,
          look: "tight",
          show: (run) => <WorkflowPhase of={run} />,
        },
        {
          title: heads.name,
          look: "main",
          show: (run) => <RunName run={run} isCurrent={run.metadata.name === current} />,
        },
        ...more,
        {
          title: heads.started,
          look: "tight",
          show: ({ metadata }) => <Ago at={metadata.creationTimestamp} />,
        },
        {
          title: heads.duration,
          show: (run) => (
            <span class="span-bar">
              <Span of={run.status} />
              <svg viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
                <rect
                  class={`fill-${lookOfWorkflow(run)}`}
                  width={Math.max(1, (spanOf(run.status ?? {}, now) ?? 0) / longest * 100)}
                  height="8"
                />
              </svg>
            </span>
          ),
        },
      ]}
    />
  );
}

function RunName({ run, isCurrent }: { run: Workflow; isCurrent: boolean }): JSX.Element {
  const { namespace = "", name = "" } = run.metadata;
  return (
    <>
      {isCurrent
        ? <span aria-current="true">{TEXTS.runs.this(name)}</span>
        : <a href={addressOf(workflowPath(namespace, name))} data-keys-row="">{name}</a>}
      <GivenTitle of={run.metadata} />
    </>
  );
}
