/** One workflow: what happened, its steps in several views, and what can be done. */
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { Workflow } from "../../../spec/manifest.ts";
import { prepareLayout } from "../data/layout.ts";
import { OneWorkflow } from "../data/one_workflow.ts";
import { useRights } from "../data/rights.ts";
import { addressOf } from "../data/root.ts";
import { setQuery } from "../data/router.ts";
import { useStore } from "../data/use_store.ts";
import { hasLogs } from "../model/archived.ts";
import { mayReadLogs } from "../model/rights.ts";
import { takesChoice, turned } from "../model/choice.ts";
import { causesOf } from "../model/story.ts";
import { nodesOf, treeOf } from "../model/tree.ts";
import { waitingSteps } from "../model/waits.ts";
import { About } from "../parts/about.tsx";
import {
  Ago,
  CopyButton,
  Fact,
  LoadState,
  Span,
  TroubleBox,
  WorkflowPhase,
} from "../parts/basics.tsx";
import { Boundary } from "../parts/boundary.tsx";
import type { PageProps } from "../paths.ts";
import { TEXTS } from "../texts.ts";
import { ActionBar } from "./workflow/action_bar.tsx";
import { ChoiceBar, type Chosen } from "./workflow/choice_bar.tsx";
import { GraphView } from "./workflow/graph_view.tsx";
import { LogView } from "./workflow/log_view.tsx";
import { ManifestView } from "./workflow/manifest_view.tsx";
import { PreviousRuns } from "./workflow/previous_runs.tsx";
import { CLOSED, showStep } from "./workflow/show_step.ts";
import { SidePanel } from "./workflow/side_panel.tsx";
import { Story } from "./workflow/story.tsx";
import { TimeView } from "./workflow/time_view.tsx";
import { TreeView } from "./workflow/tree_view.tsx";
import type { ViewProps } from "./workflow/view_props.ts";

const VIEWS = ["graph", "tree", "time", "logs", "manifest"] as const;
type View = typeof VIEWS[number];
/** They show steps, which can be chosen there. */
const DRAWN: ReadonlySet<View> = new Set(["graph", "tree", "time"]);

export function WorkflowPage({ params, query }: PageProps): JSX.Element {
  const { namespace = "", name = "" } = params;
  const one = useMemo(() => new OneWorkflow(namespace, name), [namespace, name]);
  // It starts while the workflow is on its way.
  useMemo(prepareLayout, []);
  useEffect(() => () => one.close(), [one]);
  const workflow = useStore(one.store, (context) => context.workflow);
  const isDeleted = useStore(one.store, (context) => context.isDeleted);
  const trouble = useStore(one.store, (context) => context.trouble);
  if (workflow === undefined) {
    return (
      <div class="page">
        <h1 class="wide-name">{name}</h1>
        <LoadState trouble={trouble} isLoaded={false} again={() => void one.load()} />
      </div>
    );
  }
  const template = workflow.spec.workflowTemplateRef?.name;
  return (
    <div class="page">
      {isDeleted && <p class="notice-line" role="status">{TEXTS.workflow.deleted}</p>}
      {trouble !== undefined && <TroubleBox trouble={trouble} again={() => void one.load()} />}
      <Head workflow={workflow}>
        {!isDeleted && <ActionBar workflow={workflow} />}
      </Head>
      <Boundary about={workflow.metadata.resourceVersion ?? ""}>
        <Story workflow={workflow} />
      </Boundary>
      <Views workflow={workflow} query={query} canChange={!isDeleted} />
      {template !== undefined && (
        <Boundary about={template}>
          <PreviousRuns workflow={workflow} template={template} />
        </Boundary>
      )}
    </div>
  );
}

/** Name and facts, with what can be done beside the name. */
export function Head(
  { workflow, children }: { workflow: Workflow; children: ComponentChildren },
): JSX.Element {
  const { metadata, spec, status } = workflow;
  const { name = "", namespace = "" } = metadata;
  const { facts } = TEXTS.workflow;
  const template = spec.workflowTemplateRef?.name;
  const link = (query: Record<string, string>) => addressOf(`/?${new URLSearchParams(query)}`);
  return (
    <>
      <div class="headline">
        <h1 class="wide-name">{name}</h1>
        <CopyButton text={name} what={TEXTS.copy.name} />
        <WorkflowPhase of={workflow} />
        {children}
      </div>
      <About of={metadata} />
      <dl class="facts">
        <Fact name={facts.namespace}>
          <a href={link({ namespace })}>{namespace}</a>
        </Fact>
        {template !== undefined && (
          <Fact name={facts.template}>
            <a href={link({ namespace, template })} title={facts.previous}>{template}</a>
          </Fact>
        )}
        <Fact name={facts.created}>
          <Ago at={metadata.creationTimestamp} isFull />
        </Fact>
        <Fact name={facts.duration}>
          <Span of={status} />
        </Fact>
        {status?.progress !== undefined && (
          <Fact name={facts.progress}>
            <span class="number">{status.progress}</span>
          </Fact>
        )}
      </dl>
    </>
  );
}

/** The step whose panel is open: the chosen one, else the one that needs somebody. */
function chosenNode(workflow: Workflow, chosen: string | null): string | undefined {
  if (chosen !== null) return chosen === CLOSED ? undefined : chosen;
  return waitingSteps(workflow)[0]?.id ?? causesOf(workflow)[0]?.id;
}

/** The steps of a workflow in several views, and the chosen one beside them. */
export function Views(
  { workflow, query, canChange = false }: {
    workflow: Workflow;
    query: URLSearchParams;
    /** It is a live workflow. */
    canChange?: boolean;
  },
): JSX.Element {
  const asked = query.get("view") as View;
  const { namespace = "" } = workflow.metadata;
  const mayRead = mayReadLogs(useRights(namespace)) && hasLogs(workflow);
  const views = VIEWS.filter((one) => one !== "logs" || mayRead);
  const view = views.includes(asked) ? asked : "graph";
  const nodes = nodesOf(workflow);
  const tree = useMemo(() => treeOf(nodes), [nodes]);
  const selected = chosenNode(workflow, query.get("node"));
  const [chosen, setChosen] = useState<Chosen>(undefined);
  const props: ViewProps = {
    workflow,
    tree,
    selected,
    select: showStep,
    choice: chosen !== undefined && takesChoice(workflow)
      ? { ids: chosen, turn: (ids) => setChosen((before) => turned(before ?? new Set(), ids)) }
      : undefined,
  };
  return (
    <>
      <div class="view-line">
        <Tabs views={views} view={view} />
        {canChange && DRAWN.has(view) && (
          <ChoiceBar workflow={workflow} chosen={chosen} setChosen={setChosen} />
        )}
      </div>
      <div class="split">
        <section
          id="view"
          role="tabpanel"
          aria-labelledby={`tab-${view}`}
          class={`view view-${view}`}
        >
          <Boundary about={view}>
            {view === "graph" && <GraphView {...props} />}
            {view === "tree" && <TreeView {...props} />}
            {view === "time" && <TimeView {...props} />}
            {view === "logs" && <LogView workflow={workflow} />}
            {view === "manifest" && <ManifestView workflow={workflow} />}
          </Boundary>
        </section>
        <Boundary about={selected ?? ""}>
          <SidePanel {...props} />
        </Boundary>
      </div>
    </>
  );
}

function Tabs({ views, view }: { views: readonly View[]; view: View }): JSX.Element {
  return (
    <div class="tabs" role="tablist" aria-label={TEXTS.workflow.views}>
      {views.map((one) => (
        <button
          key={one}
          type="button"
          role="tab"
          id={`tab-${one}`}
          aria-selected={one === view}
          aria-controls="view"
          onClick={() => setQuery({ view: one === "graph" ? undefined : one })}
        >
          {TEXTS.workflow.view[one]}
        </button>
      ))}
    </div>
  );
}
