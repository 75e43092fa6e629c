/** Everything about one step, beside the views. Without a step: what the workflow got and gave. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { hasLogs } from "../../model/archived.ts";
import { useRights } from "../../data/rights.ts";
import { lookOfNode } from "../../model/phases.ts";
import { may, mayReadLogs } from "../../model/rights.ts";
import { MOST } from "../../model/story_parts.ts";
import { nodesOf, titleOf } from "../../model/tree.ts";
import { waitingSteps } from "../../model/waits.ts";
import { Ago, CopyButton, Fact, PhaseBadge, Span } from "../../parts/basics.tsx";
import { Icon } from "../../parts/icons.tsx";
import { LongWords, MOST_SHOWN } from "../../parts/long_words.tsx";
import { TEXTS } from "../../texts.ts";
import { Artifacts } from "./artifacts.tsx";
import { LogView } from "./log_view.tsx";
import { PodEvents } from "./pod_events.tsx";
import type { ViewProps } from "./view_props.ts";
import { WaitingActions } from "./waiting_actions.tsx";

export function SidePanel({ workflow, selected, select }: ViewProps): JSX.Element {
  const rights = useRights(workflow.metadata.namespace ?? "");
  const mayRead = mayReadLogs(rights);
  const node = selected === undefined ? undefined : nodesOf(workflow)[selected];
  if (node === undefined) return <WholePanel workflow={workflow} />;
  return (
    <aside class="panel" aria-label={TEXTS.panel.label}>
      <header>
        <h2 class="wide-name">{titleOf(node)}</h2>
        <button
          type="button"
          class="quiet"
          onClick={() => {
            focusSelected();
            select(undefined);
          }}
          aria-label={TEXTS.close}
        >
          <Icon name="close" />
        </button>
      </header>
      <NodeFacts node={node} />
      {node.message && <LongWords text={node.message} look="server-words" />}
      {isUntold(workflow, node) && <WaitingActions workflow={workflow} node={node} />}
      <Parameters title={TEXTS.panel.inputs} of={node.inputs?.parameters} />
      <Artifacts
        title={TEXTS.panel.inputArtifacts}
        workflow={workflow}
        node={node}
        direction="inputs"
      />
      <Outputs node={node} />
      <Artifacts
        title={TEXTS.panel.outputArtifacts}
        workflow={workflow}
        node={node}
        direction="outputs"
      />
      <Attempts workflow={workflow} node={node} select={select} />
      {node.type === "Pod" && may(rights, "events", "watch") && (
        <PodEvents key={`events ${node.id}`} workflow={workflow} node={node} />
      )}
      {node.type === "Pod" && mayRead && hasLogs(workflow) && (
        <NodeLogs key={node.id} workflow={workflow} node={node} />
      )}
      <p class="buttons">
        <CopyButton text={node.id} what={TEXTS.copy.nodeId} isNamed />
      </p>
    </aside>
  );
}

/** The button that closes the panel goes with it: whoever works with keys is at the step in the view again. */
function focusSelected(): void {
  const step = document.querySelector("#view .selected");
  const pressed = step?.querySelector<HTMLElement>("[data-keys-row]") ?? step;
  if (pressed instanceof HTMLElement || pressed instanceof SVGElement) pressed.focus();
}

/** A waiting step for which the sentences above have no place. */
function isUntold(workflow: Workflow, node: NodeStatus): boolean {
  return waitingSteps(workflow).findIndex(({ id }) => id === node.id) >= MOST;
}

function NodeFacts({ node }: { node: NodeStatus }): JSX.Element {
  const { facts } = TEXTS.panel;
  const template = node.templateRef?.template ?? node.templateName;
  return (
    <dl class="facts">
      <Fact name={facts.phase}>
        <PhaseBadge look={lookOfNode(node)} />
      </Fact>
      <Fact name={facts.type}>{TEXTS.nodeTypes[node.type] ?? node.type}</Fact>
      {template !== undefined && template !== "" && <Fact name={facts.template}>{template}</Fact>}
      <Fact name={facts.started}>
        <Ago at={node.startedAt} isFull />
      </Fact>
      <Fact name={facts.duration}>
        <Span of={node} />
      </Fact>
      {node.outputs?.exitCode !== undefined && (
        <Fact name={facts.exitCode}>
          <span class="number">{node.outputs.exitCode}</span>
        </Fact>
      )}
      {node.hostNodeName && <Fact name={facts.host}>{node.hostNodeName}</Fact>}
      {node.memoizationStatus?.hit === true && (
        <Fact name={facts.memoized}>{node.memoizationStatus.key}</Fact>
      )}
    </dl>
  );
}

function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section>
      <h3>{title}</h3>
      {children}
    </section>
  );
}

interface ShownParameter {
  name: string;
  value?: unknown;
  description?: string;
}

/** Longer values begin folded, characters. */
const LONG = 400;

function Parameters(
  { title, of = [] }: { title: string; of?: readonly ShownParameter[] | undefined },
): JSX.Element | null {
  if (of.length === 0) return null;
  return (
    <Section title={title}>
      <dl class="values">
        {of.map(({ name, value, description }) => (
          <div key={name}>
            <dt title={description}>{name}</dt>
            <dd>
              <Value text={value === undefined ? "" : String(value)} what={name} />
            </dd>
          </div>
        ))}
      </dl>
    </Section>
  );
}

function Value({ text, what }: { text: string; what: string }): JSX.Element {
  if (text === "") return <span class="faint">{TEXTS.none}</span>;
  const body = (
    <>
      <pre tabIndex={text.length > 80 ? 0 : undefined}>{text.slice(0, MOST_SHOWN)}</pre>
      {text.length > MOST_SHOWN && <p class="faint">{TEXTS.panel.cut(MOST_SHOWN)}</p>}
    </>
  );
  return (
    <>
      {text.length > LONG
        ? (
          <details>
            <summary>{TEXTS.panel.long(text.length)}</summary>
            {body}
          </details>
        )
        : body}
      <CopyButton text={text} what={what} />
    </>
  );
}

function Outputs({ node }: { node: NodeStatus }): JSX.Element {
  const { parameters = [], result } = node.outputs ?? {};
  const all: ShownParameter[] = [
    ...(result === undefined ? [] : [{ name: TEXTS.panel.result, value: result }]),
    ...parameters,
  ];
  return <Parameters title={TEXTS.panel.outputs} of={all} />;
}

function Attempts(
  { workflow, node, select }: Pick<ViewProps, "workflow" | "select"> & { node: NodeStatus },
): JSX.Element | null {
  const nodes = nodesOf(workflow);
  if (node.type !== "Retry") return null;
  const attempts = (node.children ?? []).flatMap((id) => nodes[id] ?? []);
  return (
    <Section title={TEXTS.panel.attempts}>
      <ol class="attempts">
        {attempts.map((attempt) => (
          <li key={attempt.id}>
            <button type="button" class="quiet" onClick={() => select(attempt.id)}>
              <PhaseBadge look={lookOfNode(attempt)} /> {titleOf(attempt)}
            </button>
            <span class="faint">
              <Span of={attempt} />
            </span>
            {attempt.message && <LongWords text={attempt.message} look="more" />}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function NodeLogs({ workflow, node }: { workflow: Workflow; node: NodeStatus }): JSX.Element {
  const [isOpen, setOpen] = useState(node.phase === "Failed" || node.phase === "Error");
  return (
    <details
      class="node-logs"
      open={isOpen}
      onToggle={({ currentTarget }) => setOpen(currentTarget.open)}
    >
      <summary>{TEXTS.logs.title}</summary>
      {isOpen && <LogView workflow={workflow} node={node} />}
    </details>
  );
}

function WholePanel({ workflow }: { workflow: Workflow }): JSX.Element {
  const { spec, status } = workflow;
  const given = spec.arguments?.parameters;
  const made = status?.outputs?.parameters;
  return (
    <aside class="panel" aria-label={TEXTS.panel.label}>
      <h2>{TEXTS.panel.whole}</h2>
      <p class="faint">{TEXTS.panel.choose}</p>
      <Parameters title={TEXTS.panel.arguments} of={given} />
      <Parameters title={TEXTS.panel.outputs} of={made} />
      <Labels labels={workflow.metadata.labels} />
    </aside>
  );
}

function Labels(
  { labels = {} }: { labels?: Record<string, string> | undefined },
): JSX.Element | null {
  const entries = Object.entries(labels);
  if (entries.length === 0) return null;
  return (
    <Section title={TEXTS.panel.labels}>
      <ul class="labels">
        {entries.map(([key, value]) => (
          <li key={key}>
            <code>{key}={value}</code>
          </li>
        ))}
      </ul>
    </Section>
  );
}
