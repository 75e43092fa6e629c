/** A retry: from where, with which parameters, and which steps run again, as the server plans it. */
import type { JSX } from "preact";
import { useEffect, useMemo, useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { type ActionOptions, planOfRetry, type RetryPlan } from "../../data/actions.ts";
import { readAgain } from "../../data/again.ts";
import { type Trouble, troubleOf } from "../../data/api.ts";
import { isChoosable, selectorOf, turned } from "../../model/choice.ts";
import { lookOfNode, phaseOf } from "../../model/phases.ts";
import { nodesOf, titleOf } from "../../model/tree.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";
import { ParameterFields, parameterTexts } from "./parameter_fields.tsx";

/** Steps that are listed; the search finds others. */
const MOST_CHOICES = 300;
/** Steps that the preview names. */
const MOST_NAMED = 30;
/** The server is asked after this pause, ms. */
const PAUSE_MS = 250;
/** The views have them; among the steps of the list they would only be in the way. */
const CONTAINERS: ReadonlySet<string> = new Set(["Steps", "StepGroup", "DAG", "TaskGroup"]);
/** The start is what is ticked. Other starts are selectors; none means what failed. */
const CHOSEN = "chosen";

interface RetryFormProps {
  workflow: Workflow;
  /** Nodes that are chosen already. */
  first?: ReadonlySet<string> | undefined;
  send: (options: ActionOptions) => void;
  cancel: () => void;
}

export function RetryForm({ workflow, first, send, cancel }: RetryFormProps): JSX.Element {
  const [start, setStart] = useState(first === undefined ? "" : CHOSEN);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(first ?? new Set());
  const selector = start !== CHOSEN ? start : chosen.size === 0 ? "" : selectorOf(chosen);
  const [values, setValues] = useState<Record<string, string>>({});
  const options: ActionOptions = {
    ...(selector !== "" && { nodeFieldSelector: selector, restartSuccessful: true }),
    ...parameterTexts(values),
  };
  const { plan, refusal } = usePlan(workflow, options);
  const { retry } = TEXTS;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send(options);
      }}
    >
      <p>{TEXTS.actions.retry.what}</p>
      <StartChoice workflow={workflow} start={start} setStart={setStart} />
      {start === CHOSEN && (
        <StepList
          workflow={workflow}
          chosen={chosen}
          turn={(ids) => setChosen((before) => turned(before, ids))}
        />
      )}
      <section aria-live="polite" aria-labelledby="plan-title">
        <h3 id="plan-title">{retry.plan(plan?.count)}</h3>
        {refusal !== undefined && <p class="server-words">{refusal}</p>}
        {plan !== undefined && <Planned plan={plan} />}
      </section>
      <ParameterFields {...{ workflow, values, setValues }} hint={retry.values} />
      <p class="buttons">
        <button type="submit" class="main" disabled={refusal !== undefined}>
          {TEXTS.actions.retry.do}
        </button>
        <button type="button" onClick={cancel}>{TEXTS.cancel}</button>
      </p>
    </form>
  );
}

function Planned({ plan: { count, nodes } }: { plan: RetryPlan }): JSX.Element {
  return (
    <>
      <ul class="names">
        {nodes.slice(0, MOST_NAMED).map(({ id, displayName }) => <li key={id}>{displayName}</li>)}
        {count > MOST_NAMED && <li>{TEXTS.list.moreRefused(count - MOST_NAMED)}</li>}
      </ul>
      <p class="faint">{TEXTS.retry.after}</p>
    </>
  );
}

/** From the failed steps, or also from chosen ones, or from all of a template. */
function StartChoice({ workflow, start, setStart }: {
  workflow: Workflow;
  start: string;
  setStart: (start: string) => void;
}): JSX.Element {
  const templates = useMemo(() => {
    const done = Object.values(nodesOf(workflow))
      .filter((node) => !CONTAINERS.has(node.type) && node.phase === "Succeeded");
    return [...new Set(done.flatMap(({ templateName }) => templateName || []))].sort();
  }, [workflow]);
  const { retry } = TEXTS;
  return (
    <label class="field">
      <span>{retry.from}</span>
      <select value={start} onChange={({ currentTarget }) => setStart(currentTarget.value)}>
        {phaseOf(workflow) !== "Succeeded" && <option value="">{retry.failed}</option>}
        <option value={CHOSEN}>{retry.alsoSteps}</option>
        <optgroup label={retry.alsoTemplate}>
          {templates.map((name) => <option key={name} value={`templateName=${name}`}>{name}
          </option>)}
        </optgroup>
      </select>
    </label>
  );
}

/** The tenth item of a loop comes after the second. */
const IN_ORDER = new Intl.Collator("en", { numeric: true });

/** All steps that can be chosen, the chosen ones first; names that stand more than once are told apart by their paths. */
function StepList({ workflow, chosen, turn }: {
  workflow: Workflow;
  chosen: ReadonlySet<string>;
  turn: (ids: readonly string[]) => void;
}): JSX.Element {
  const [text, setText] = useState("");
  const steps = useMemo(() => {
    const all = Object.values(nodesOf(workflow))
      .filter((node) => isChoosable(node) && (chosen.has(node.id) || !CONTAINERS.has(node.type)));
    // Where somebody ticks, nothing moves: those come first that were chosen before.
    const rank = ({ id }: NodeStatus) => chosen.has(id) ? 0 : 1;
    return all.sort((a, b) => rank(a) - rank(b) || IN_ORDER.compare(a.name, b.name));
  }, [workflow]);
  const found = steps.filter(({ name }) => name.toLowerCase().includes(text.toLowerCase()));
  const { retry } = TEXTS;
  return (
    <fieldset class="field steps">
      <legend>{retry.steps}</legend>
      <input
        type="search"
        aria-label={retry.search}
        placeholder={retry.search}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
      />
      <ul>
        {found.slice(0, MOST_CHOICES).map((node: NodeStatus) => (
          <li key={node.id}>
            <label class="check">
              <input
                type="checkbox"
                checked={chosen.has(node.id)}
                onChange={() => turn([node.id])}
              />
              <LookIcon look={lookOfNode(node)} />
              <span>{titleOf(node)}</span>
              <span class="faint">{pathOf(node)}</span>
            </label>
          </li>
        ))}
      </ul>
      {found.length > MOST_CHOICES && (
        <p class="faint">{retry.moreSteps(found.length - MOST_CHOICES)}</p>
      )}
    </fieldset>
  );
}

/** What lies around a step: its name without those of the workflow and of itself. */
function pathOf({ name, displayName }: NodeStatus): string {
  const path = name.slice(name.indexOf(".") + 1);
  return path === name || path === displayName ? "" : path;
}

function usePlan(
  workflow: Workflow,
  options: ActionOptions,
): { plan?: RetryPlan; refusal?: string } {
  const [found, setFound] = useState<{ plan?: RetryPlan; refusal?: string }>({});
  const key = JSON.stringify(options);
  useEffect(() => {
    const stop = new AbortController();
    const ask = async () => {
      try {
        const { signal } = stop;
        const tell = (trouble: Trouble | undefined) =>
          trouble && setFound({ refusal: trouble.message });
        const plan = await readAgain(() => planOfRetry(workflow, options, signal), {
          signal,
          tell,
        });
        if (!stop.signal.aborted) setFound({ plan });
      } catch (error) {
        if (!stop.signal.aborted) setFound({ refusal: troubleOf(error).message });
      }
    };
    const timer = setTimeout(() => void ask(), PAUSE_MS);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [key, workflow.metadata.uid]);
  return found;
}
