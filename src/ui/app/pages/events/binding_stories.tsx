/** What each binding did with an event, and why. */
import type { JSX } from "preact";
import { EVENTS_MS, readWorkflow } from "../../data/deliveries.ts";
import { usePolled } from "../../data/polled.ts";
import { useRights } from "../../data/rights.ts";
import { addressOf } from "../../data/root.ts";
import {
  type BindingStory,
  decidingParts,
  OUTCOME_LOOKS,
  workflowsOf,
} from "../../model/deliveries.ts";
import { may } from "../../model/rights.ts";
import { PhaseBadge, WorkflowPhase } from "../../parts/basics.tsx";
import { bindingPath, workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { Condition } from "./condition.tsx";

/** Parts that the sentence names. */
const MOST_NAMED = 3;

export function BindingStories(
  { namespace, stories }: { namespace: string; stories: readonly BindingStory[] },
): JSX.Element {
  return (
    <ul class="binding-stories">
      {stories.map((story) => (
        <li key={story.binding}>
          <Story namespace={namespace} story={story} />
        </li>
      ))}
    </ul>
  );
}

function Story({ namespace, story }: { namespace: string; story: BindingStory }): JSX.Element {
  const { binding, outcome, verdict, hasChanged } = story;
  const texts = TEXTS.events.stories;
  const maySee = may(useRights(namespace), "workflows", "get");
  const names = outcome === undefined || outcome.outcome === "error" ? [] : workflowsOf(outcome);
  return (
    <>
      <div class="entry-head">
        {outcome !== undefined && (
          <PhaseBadge
            look={OUTCOME_LOOKS[outcome.outcome]}
            word={TEXTS.events.outcomes[outcome.outcome]}
          />
        )}
        <h3 class="wide-name">
          {binding === ""
            ? TEXTS.events.whole
            : <a href={addressOf(bindingPath(namespace, binding))}>{binding}</a>}
        </h3>
      </div>
      {outcome === undefined && <p class="faint">{texts.notAsked}</p>}
      {names.length > 0 && (
        <ul class="made">
          {names.map((name) => (
            <li key={name}>
              {maySee ? <MadeWorkflow namespace={namespace} name={name} /> : name}
            </li>
          ))}
        </ul>
      )}
      {outcome?.message !== undefined && (
        <pre class={outcome.outcome === "error" ? "server-words" : "faint"}>{outcome.message}</pre>
      )}
      {hasChanged && (
        <p class="notice-line">
          {verdict?.verdict === "selected" ? texts.changed.selected : texts.changed.other}
        </p>
      )}
      {verdict !== undefined && <Why story={story} />}
    </>
  );
}

/** A workflow with its phase. */
function MadeWorkflow({ namespace, name }: { namespace: string; name: string }): JSX.Element {
  const { value: made, trouble } = usePolled(
    `${namespace}/${name}`,
    EVENTS_MS,
    (signal) => readWorkflow(namespace, name, signal),
  );
  return (
    <>
      <a class="wide-name" href={addressOf(workflowPath(namespace, name))}>{name}</a>
      {made !== undefined && <WorkflowPhase of={made} />}
      {trouble?.kind === "missing" && <span class="faint">{TEXTS.events.stories.gone}</span>}
    </>
  );
}

/** Open where something did not go as one might have hoped. */
function Why({ story: { outcome, verdict } }: { story: BindingStory }): JSX.Element | null {
  const texts = TEXTS.events.stories;
  if (verdict === undefined) return null;
  const { selector, message } = verdict;
  if (selector === undefined) {
    return outcome?.message === message
      ? null
      : <pre class="server-words">{message ?? texts.unreadable}</pre>;
  }
  const deciding = decidingParts(selector).slice(0, MOST_NAMED).map(({ text = "" }) => text);
  const hasParts = selector.parts !== undefined || verdict.verdict !== "selected";
  return (
    <details open={verdict.verdict !== "selected"}>
      <summary>
        {texts.selector[verdict.verdict]}
        {hasParts && verdict.verdict !== "selected" && ` ${texts.because(deciding)}`}
      </summary>
      <Condition part={selector} />
    </details>
  );
}
