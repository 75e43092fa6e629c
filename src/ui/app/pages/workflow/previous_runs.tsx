/** Runs of the same template beside this one: whether it takes as long as usual, and whether it usually fails. */
import type { JSX } from "preact";
import type { Workflow } from "../../../../spec/manifest.ts";
import { addressOf } from "../../data/root.ts";
import { session } from "../../data/session.ts";
import { useStore } from "../../data/use_store.ts";
import { Runs, useRuns } from "../../parts/runs.tsx";
import { TEXTS } from "../../texts.ts";

/** Runs that are shown. */
const MOST = 12;
/** They stand beside what people look at, so the server is seldom asked for them, ms. */
const EVERY_MS = 60_000;

export function PreviousRuns(
  { workflow, template }: { workflow: Workflow; template: string },
): JSX.Element | null {
  const { namespace = "", name = "" } = workflow.metadata;
  const prefix = useStore(session, (context) => context.labelPrefix);
  const { value: runs = [] } = useRuns(namespace, `${prefix}workflow-template=${template}`, {
    most: MOST,
    everyMs: EVERY_MS,
    version: workflow.status?.phase ?? "",
  });
  // What is beside the workflow must not stand in its way: without other runs the page is whole.
  if (runs.every(({ metadata }) => metadata.name === name)) return null;
  return (
    <section class="card" aria-labelledby="runs-title">
      <div class="card-head">
        <h2 id="runs-title">{TEXTS.runs.title(template)}</h2>
        <a href={addressOf(`/?${new URLSearchParams({ namespace, template })}`)}>
          {TEXTS.workflow.facts.previous}
        </a>
      </div>
      <Runs label={TEXTS.runs.title(template)} runs={runs} current={name} />
    </section>
  );
}
