/** What can be done with the chosen workflows together; what the visitor may do with none of them is not there. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { actOnMany, refOf } from "../../data/actions.ts";
import { useRightsIn } from "../../data/rights.ts";
import { allows, NEEDS_CONSENT, type Verb, VERBS } from "../../model/actions.ts";
import { mayAct } from "../../model/rights.ts";
import type { Row } from "../../model/rows.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { keepFocus } from "../../parts/focus.ts";
import { TEXTS } from "../../texts.ts";

export function Batch(
  { rows, clear }: { rows: readonly Row[]; clear: () => void },
): JSX.Element | null {
  const [asked, setAsked] = useState<Verb | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const placeOf = ({ workflow }: Row) => workflow.metadata.namespace ?? "";
  const rightsIn = useRightsIn([...new Set(rows.map(placeOf))]);
  if (rows.length === 0) return null;
  const isOffered = (row: Row, verb: Verb) => mayAct(rightsIn(placeOf(row)), verb);
  const fit = (verb: Verb) =>
    rows.filter((row) => allows(row.workflow, verb) && isOffered(row, verb));
  const look = asked === "resume" ? "main" : "danger";
  const run = async (verb: Verb) => {
    setAsked(undefined);
    setBusy(true);
    await actOnMany(verb, fit(verb).map(({ workflow }) => refOf(workflow)));
    setBusy(false);
    clear();
    keepFocus();
  };
  return (
    <div class="batch" role="toolbar" aria-label={TEXTS.list.batch}>
      <strong>{TEXTS.list.chosen(rows.length)}</strong>
      {VERBS.filter((verb) => rows.some((row) => isOffered(row, verb))).map((verb) => {
        const count = fit(verb).length;
        return (
          <button
            key={verb}
            type="button"
            disabled={count === 0 || isBusy}
            title={count === 0 ? TEXTS.actions[verb].invalid : undefined}
            onClick={() => NEEDS_CONSENT.has(verb) ? setAsked(verb) : void run(verb)}
          >
            {TEXTS.actions[verb].do}
            {count > 0 && count < rows.length && ` (${count})`}
          </button>
        );
      })}
      <button type="button" class="quiet" onClick={clear}>{TEXTS.list.clear}</button>
      {asked !== undefined && (
        <Dialog
          title={TEXTS.actions[asked].ask(fit(asked).length)}
          onClose={() => setAsked(undefined)}
        >
          <p>{TEXTS.actions[asked].what}</p>
          <ul class="names">
            {fit(asked).slice(0, 20).map(({ key }) => <li key={key}>{key}</li>)}
            {fit(asked).length > 20 && <li>{TEXTS.list.moreRefused(fit(asked).length - 20)}</li>}
          </ul>
          <p class="buttons">
            <button type="button" class={look} onClick={() => void run(asked)}>
              {TEXTS.actions[asked].do}
            </button>
            <button type="button" onClick={() => setAsked(undefined)}>{TEXTS.cancel}</button>
          </p>
        </Dialog>
      )}
    </div>
  );
}
