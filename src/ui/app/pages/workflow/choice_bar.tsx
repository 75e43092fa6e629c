/** Choosing steps in the views, and the retry of those. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { act, type ActionOptions, refOf } from "../../data/actions.ts";
import { useRights } from "../../data/rights.ts";
import { takesChoice } from "../../model/choice.ts";
import { mayAct } from "../../model/rights.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { TEXTS } from "../../texts.ts";
import { RetryForm } from "./retry_form.tsx";

/** Ids of the chosen nodes; undefined while none are chosen at all. */
export type Chosen = ReadonlySet<string> | undefined;

export function ChoiceBar(
  { workflow, chosen, setChosen }: {
    workflow: Workflow;
    chosen: Chosen;
    setChosen: (chosen: Chosen) => void;
  },
): JSX.Element | null {
  const [isAsking, setAsking] = useState(false);
  const ref = refOf(workflow);
  const rights = useRights(ref.namespace, ref.name);
  if (!takesChoice(workflow) || !mayAct(rights, "retry")) return null;
  const { choice } = TEXTS;
  const send = async (options: ActionOptions) => {
    setAsking(false);
    if (await act("retry", ref, options) !== undefined) setChosen(undefined);
  };
  return (
    <div class="choice" role="toolbar" aria-label={choice.bar}>
      {chosen !== undefined && (
        <>
          <span role="status">{choice.chosen(chosen.size)}</span>
          <button
            type="button"
            class="main"
            disabled={chosen.size === 0}
            onClick={() => setAsking(true)}
          >
            {choice.retry}
          </button>
        </>
      )}
      <button
        type="button"
        aria-pressed={chosen !== undefined}
        onClick={() => setChosen(chosen === undefined ? new Set() : undefined)}
      >
        {choice.begin}
      </button>
      {isAsking && (
        <Dialog
          title={TEXTS.actions.askOne(TEXTS.actions.retry.do, ref.name)}
          onClose={() => setAsking(false)}
        >
          <RetryForm
            workflow={workflow}
            first={chosen}
            send={(options) => void send(options)}
            cancel={() => setAsking(false)}
          />
        </Dialog>
      )}
    </div>
  );
}
