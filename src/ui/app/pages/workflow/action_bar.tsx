/** What can be done with a workflow: only what its state and the visitor's rights allow is there. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { act, type ActionOptions, refOf } from "../../data/actions.ts";
import { useRights } from "../../data/rights.ts";
import { navigate } from "../../data/router.ts";
import { allows, type Verb, VERBS } from "../../model/actions.ts";
import { mayAct } from "../../model/rights.ts";
import { waitingSteps } from "../../model/waits.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { keepFocus } from "../../parts/focus.ts";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { MessageField } from "./message_field.tsx";
import { ParameterFields, parameterTexts } from "./parameter_fields.tsx";
import { RetryForm } from "./retry_form.tsx";

/** What opens a dialog first. */
const ASKS: ReadonlySet<Verb> = new Set(["stop", "terminate", "delete", "retry", "resubmit"]);

export function ActionBar({ workflow }: { workflow: Workflow }): JSX.Element {
  const [asked, setAsked] = useState<Verb | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const ref = refOf(workflow);
  const rights = useRights(ref.namespace, ref.name);
  // It would let steps go on that wait for somebody's approval.
  const asks = (verb: Verb) =>
    ASKS.has(verb) || (verb === "resume" && waitingSteps(workflow).length > 0);
  const run = async (verb: Verb, options: ActionOptions = {}) => {
    setAsked(undefined);
    setBusy(true);
    const name = await act(verb, ref, options);
    setBusy(false);
    keepFocus();
    if (verb === "resubmit" && name !== undefined) navigate(workflowPath(ref.namespace, name));
    if (verb === "delete" && name !== undefined) navigate("/");
  };
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {VERBS.filter((verb) => allows(workflow, verb) && mayAct(rights, verb)).map((verb) => (
        <button
          key={verb}
          type="button"
          disabled={isBusy}
          onClick={() => asks(verb) ? setAsked(verb) : void run(verb)}
        >
          {TEXTS.actions[verb].do}
        </button>
      ))}
      {asked !== undefined && (
        <Dialog
          title={TEXTS.actions.askOne(TEXTS.actions[asked].do, ref.name)}
          onClose={() => setAsked(undefined)}
        >
          <AskForm
            verb={asked}
            workflow={workflow}
            send={(options) => void run(asked, options)}
            cancel={() => setAsked(undefined)}
          />
        </Dialog>
      )}
    </div>
  );
}

interface AskProps {
  verb: Verb;
  workflow: Workflow;
  send: (options: ActionOptions) => void;
  cancel: () => void;
}

function AskForm({ verb, workflow, send, cancel }: AskProps): JSX.Element {
  const [message, setMessage] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  if (verb === "retry") return <RetryForm workflow={workflow} send={send} cancel={cancel} />;
  const isResubmit = verb === "resubmit";
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send({ ...(message !== "" && { message }), ...parameterTexts(values) });
      }}
    >
      <p>{TEXTS.actions[verb].what}</p>
      {verb === "stop" && <MessageField message={message} setMessage={setMessage} />}
      {isResubmit && (
        <ParameterFields
          {...{ workflow, values, setValues }}
          hint={TEXTS.actions.resubmit.values}
        />
      )}
      <p class="buttons">
        <button type="submit" class={isResubmit || verb === "resume" ? "main" : "danger"}>
          {TEXTS.actions[verb].do}
        </button>
        <button type="button" onClick={cancel}>{TEXTS.cancel}</button>
      </p>
    </form>
  );
}
