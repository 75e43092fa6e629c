/** Why a selector is true or false: its parts, what each gave, and the values that decided. */
import type { JSX } from "preact";
import type { ConditionPart } from "../../../../http/routes/event_answers.ts";
import type { Look } from "../../model/phases.ts";
import { LookIcon } from "../../parts/icons.tsx";
import { TEXTS } from "../../texts.ts";

const LOOKS: Readonly<Record<ConditionPart["verdict"], Look>> = {
  true: "Succeeded",
  false: "Failed",
  error: "Error",
  skipped: "Omitted",
};

export function Condition({ part }: { part: ConditionPart }): JSX.Element {
  return (
    <ul class="condition" aria-label={TEXTS.events.parts.label}>
      <Part part={part} />
    </ul>
  );
}

function Part({ part }: { part: ConditionPart }): JSX.Element {
  const { text, verdict, operator, parts = [], values = [], message } = part;
  const texts = TEXTS.events.parts;
  return (
    <li class={`part ${verdict}`}>
      <div class="part-line">
        <LookIcon look={LOOKS[verdict]} />
        {operator === undefined ? <code>{text}</code> : <span>{texts.operators[operator]}</span>}
        <span class={`part-verdict look-${LOOKS[verdict]}`}>{texts.verdicts[verdict]}</span>
      </div>
      {values.length > 0 && (
        <ul class="part-values">
          {values.map((one) => (
            <li key={one.text}>
              <code>{one.text}</code> = <code>{one.value}</code>
            </li>
          ))}
        </ul>
      )}
      {message !== undefined && <pre class="server-words" tabIndex={0}>{message}</pre>}
      {parts.length > 0 && (
        <ul>
          {parts.map((one, index) => <Part key={index} part={one} />)}
        </ul>
      )}
    </li>
  );
}
