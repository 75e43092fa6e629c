/** One cron workflow: its schedule in words and on a time line, its runs, and those that were skipped. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { CronWorkflow, Workflow } from "../../../spec/manifest.ts";
import { api } from "../data/api.ts";
import { useNow } from "../data/clock.ts";
import { usePolled } from "../data/polled.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { navigate } from "../data/router.ts";
import { session } from "../data/session.ts";
import { useStore } from "../data/use_store.ts";
import { dueTimes, skipsOf, stateOf } from "../model/crons.ts";
import { lookOfWorkflow, wordOf } from "../model/phases.ts";
import { may, maySubmit } from "../model/rights.ts";
import { absoluteText, durationText, relativeText, timeOf } from "../model/times.ts";
import { About } from "../parts/about.tsx";
import { Ago, CopyButton, Fact, LoadState } from "../parts/basics.tsx";
import { Boundary } from "../parts/boundary.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { LookIcon } from "../parts/icons.tsx";
import { Manifest } from "../parts/manifest.tsx";
import { EditLink } from "../parts/edit_links.tsx";
import { type LineRun, RunLine } from "../parts/run_line.tsx";
import { Runs, useRuns } from "../parts/runs.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { actOnCron, type CronRef, type CronVerb, Schedules, StateBadge } from "./crons/shared.tsx";

const EVERY_MS = 3_000;
const RESOURCE = "cronworkflows";
/** Due times that are named. */
const MOST_NEXT = 8;
/** Due times are worked out again after so long, ms. */
const STEP_MS = 1_000;

export function CronPage({ params }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = params;
  const ref = { namespace, name };
  const { value, trouble, reload } = usePolled(
    `${namespace}/${name}`,
    EVERY_MS,
    (signal) => api.call("CronWorkflowService_GetCronWorkflow", { params: ref, signal }),
  );
  const prefix = useStore(session, (context) => context.labelPrefix);
  const runs = useRuns(namespace, `${prefix}cron-workflow=${name}`);
  return (
    <div class="page">
      <div class="headline">
        <h1 class="wide-name">{name}</h1>
        <CopyButton text={name} what={TEXTS.copy.name} />
        {value !== undefined && <StateBadge cron={value} />}
        {(value !== undefined || trouble?.kind === "refused") && (
          <Actions cron={value} of={ref} reload={reload} />
        )}
      </div>
      <LoadState trouble={trouble} isLoaded={value !== undefined} again={() => void reload()} />
      {value !== undefined && (
        <>
          <Boundary about={value.metadata.resourceVersion ?? ""}>
            <About of={value.metadata} />
            <Facts cron={value} />
            <Troubles cron={value} />
            <Times cron={value} runs={runs.value ?? []} />
          </Boundary>
          <History namespace={namespace} name={name} runs={runs} />
          <Boundary about={value.metadata.resourceVersion ?? ""}>
            <Skips cron={value} />
            <Manifest
              title={TEXTS.crons.manifest}
              object={{ metadata: value.metadata, spec: value.spec }}
            />
          </Boundary>
        </>
      )}
    </div>
  );
}

interface ActionsProps {
  /** Absent: it cannot be read, and can only be deleted. */
  cron: CronWorkflow | undefined;
  of: CronRef;
  reload: () => Promise<void>;
}

function Actions({ cron, of, reload }: ActionsProps): JSX.Element {
  const { crons } = TEXTS;
  const rights = useRights(of.namespace, of.name);
  const mayRun = maySubmit(rights);
  const maySwitch = may(rights, RESOURCE, "patch");
  const [asked, setAsked] = useState<"runNow" | "remove" | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const run = async (verb: CronVerb) => {
    setBusy(true);
    const isDone = await actOnCron(verb, of);
    setBusy(false);
    if (isDone && verb === "remove") navigate("/cron");
    else await reload();
  };
  const toggle = cron?.spec?.suspend === true ? "switchOn" : "switchOff";
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {cron !== undefined && mayRun && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => setAsked("runNow")}
        >
          {crons.runNow}
        </button>
      )}
      {cron !== undefined && maySwitch && stateOf(cron) !== "stopped" && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => void run(toggle)}
        >
          {crons[toggle]}
        </button>
      )}
      {cron !== undefined && (
        <EditLink kind="CronWorkflow" namespace={of.namespace} name={of.name} />
      )}
      {may(rights, RESOURCE, "delete") && (
        <button
          type="button"
          disabled={isBusy}
          onClick={() => setAsked("remove")}
        >
          {crons.remove}
        </button>
      )}
      {asked !== undefined && (
        <Confirm
          title={asked === "remove" ? crons.removeAsk(of.name) : crons.runAsk(of.name)}
          what={asked === "remove" ? crons.removeWhat : crons.runWhat}
          action={crons[asked]}
          isDanger={asked === "remove"}
          onYes={() => void run(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </div>
  );
}

const DEFAULT_HISTORY = { succeeded: 3, failed: 1 };

function Facts({ cron }: { cron: CronWorkflow }): JSX.Element {
  const { metadata, spec, status } = cron;
  const { facts, policies, history, counts } = TEXTS.crons;
  const deadline = spec.startingDeadlineSeconds ?? 0;
  return (
    <dl class="facts">
      <Fact name={facts.namespace}>
        <a
          href={addressOf(`/cron?${new URLSearchParams({ namespace: metadata.namespace ?? "" })}`)}
        >
          {metadata.namespace}
        </a>
      </Fact>
      <Fact name={facts.schedule}>
        <Schedules cron={cron} />
      </Fact>
      <Fact name={facts.policy}>{policies[spec.concurrencyPolicy || "Allow"]}</Fact>
      {spec.when !== undefined && spec.when !== "" && (
        <Fact name={facts.when}>
          <code>{spec.when}</code>
        </Fact>
      )}
      {spec.stopStrategy?.expression !== undefined && (
        <Fact name={facts.stop}>
          <code>{spec.stopStrategy.expression}</code>
        </Fact>
      )}
      {deadline > 0 && <Fact name={facts.deadline}>{durationText(deadline * 1000)}</Fact>}
      <Fact name={facts.history}>
        {history(
          spec.successfulJobsHistoryLimit ?? DEFAULT_HISTORY.succeeded,
          spec.failedJobsHistoryLimit ?? DEFAULT_HISTORY.failed,
        )}
      </Fact>
      <Fact name={facts.counts}>{counts(status?.succeeded ?? 0, status?.failed ?? 0)}</Fact>
    </dl>
  );
}

/** Why it does not run, or might not. */
function Troubles({ cron }: { cron: CronWorkflow }): JSX.Element | null {
  const { trouble, offSince, stoppedFor } = TEXTS.crons;
  const state = stateOf(cron);
  const conditions = cron.status?.conditions ?? [];
  return (
    <>
      {state === "off" && <p class="notice-line">{offSince}</p>}
      {state === "stopped" && <p class="notice-line">{stoppedFor}</p>}
      {conditions.map(({ type, message }) => (
        <div key={type}>
          <p>{trouble[type as "SpecError" | "SubmissionError"] ?? trouble.other(type)}</p>
          <p class="server-words">{message}</p>
        </div>
      ))}
    </>
  );
}

/** The time line shows at least so much of the future, ms. */
const LEAST_MS = 10_000;

/** The past as far as runs are kept, and about as much of the future. */
function extentOf(runs: readonly LineRun[], due: readonly number[], now: number): [number, number] {
  const first = runs.map(({ from }) => from).reduce((a, b) => Math.min(a, b), now);
  const future = Math.max((due.at(-1) ?? now) - now, LEAST_MS);
  // A long past would press the future into a corner.
  const past = Math.min(now - first, 2 * future);
  return [now - Math.max(past, future / 8) * 1.03, now + future * 1.03];
}

function Times(
  { cron, runs }: { cron: CronWorkflow; runs: readonly Workflow[] },
): JSX.Element {
  const now = useNow();
  const step = Math.floor(now / STEP_MS);
  const { next, line } = TEXTS.crons;
  const isOff = stateOf(cron) !== "on";
  const due = useMemo(() => dueTimes(cron, now, { most: MOST_NEXT }), [cron, step]);
  const bars = runs.flatMap((run): LineRun[] => {
    const from = timeOf(run.status?.startedAt) ?? timeOf(run.metadata.creationTimestamp);
    if (from === undefined) return [];
    const to = timeOf(run.status?.finishedAt) ?? now;
    const look = lookOfWorkflow(run);
    const title = `${run.metadata.name}, ${wordOf(look)}, ${durationText(to - from)}`;
    return [{ key: run.metadata.uid ?? "", from, to, look, title }];
  });
  const [from, until] = extentOf(bars, due.times, now);
  const row = {
    key: "",
    runs: bars.filter((bar) => bar.to >= from),
    due: { times: due.times, hasMore: false },
    isOff,
  };
  return (
    <section class="card">
      <h2>{line.past}</h2>
      <RunLine label={line.past} rows={[row]} from={from} until={until} now={now} />
      <h3>{isOff ? next.off : next.title}</h3>
      {due.times.length === 0
        ? <p class="faint">{next.none}</p>
        : (
          <ol class={isOff ? "next-runs faint" : "next-runs"}>
            {due.times.map((time) => (
              <li key={time}>
                <time dateTime={new Date(time).toISOString()}>{absoluteText(time)}</time>{" "}
                <span class="faint">{relativeText(time, now)}</span>
              </li>
            ))}
          </ol>
        )}
    </section>
  );
}

function History(
  { namespace, name, runs: { value, trouble, mayList } }: {
    namespace: string;
    name: string;
    runs: ReturnType<typeof useRuns>;
  },
): JSX.Element | null {
  const { runs } = TEXTS.crons;
  const prefix = useStore(session, (context) => context.labelPrefix);
  if (!mayList) return null;
  const all = new URLSearchParams({ namespace, label: `${prefix}cron-workflow=${name}` });
  return (
    <section class="card">
      <div class="card-head">
        <h2>{runs.title}</h2>
        {(value?.length ?? 0) > 0 && <a href={addressOf(`/?${all}`)}>{TEXTS.templates.runs.all}</a>}
      </div>
      {trouble !== undefined && (
        <>
          <p>{TEXTS.templates.runs.hidden}</p>
          <p class="server-words">{trouble.message}</p>
        </>
      )}
      {value?.length === 0 && <p class="faint">{runs.none}</p>}
      {value !== undefined && value.length > 0 && (
        <Runs
          label={runs.title}
          runs={value}
          more={[{
            title: TEXTS.runs.heads.due,
            look: "tight",
            show: ({ metadata }) => <Ago at={metadata.annotations?.[`${prefix}scheduled-time`]} />,
          }]}
        />
      )}
    </section>
  );
}

function Skips({ cron }: { cron: CronWorkflow }): JSX.Element {
  const { skips: texts } = TEXTS.crons;
  const skips = skipsOf(cron);
  return (
    <section class="card">
      <h2>{texts.title}</h2>
      {skips.length === 0 ? <p class="faint">{texts.none}</p> : (
        <ol class="sentences">
          {skips.map(({ reason, from, to, count }) => (
            <li key={from}>
              <LookIcon look="Skipped" />
              <p>
                {count === 1
                  ? texts.one(absoluteText(from))
                  : texts.row(count, absoluteText(from), absoluteText(to))} {texts.reasons[reason]}
              </p>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}
