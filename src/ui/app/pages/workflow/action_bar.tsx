/** What can be done with a workflow: only what its state allows is there. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { act, type ActionOptions, refOf } from "../../data/actions.ts";
import { navigate } from "../../data/router.ts";
import { allows, type Verb, VERBS } from "../../model/actions.ts";
import { causesOf } from "../../model/story.ts";
import { nodesOf, titleOf } from "../../model/tree.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

/** What opens a dialog first. */
const ASKS: ReadonlySet<Verb> = new Set(["stop", "terminate", "delete", "retry", "resubmit"]);

export function ActionBar({ workflow }: { workflow: Workflow }): JSX.Element {
  const [asked, setAsked] = useState<Verb | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const ref = refOf(workflow);
  const run = async (verb: Verb, options: ActionOptions = {}) => {
    setAsked(undefined);
    setBusy(true);
    const name = await act(verb, ref, options);
    setBusy(false);
    if (verb === "resubmit" && name !== undefined) navigate(workflowPath(ref.namespace, name));
    if (verb === "delete" && name !== undefined) navigate("/");
  };
  return (
    <div class="actions" role="toolbar" aria-label={TEXTS.workflow.actions}>
      {VERBS.filter((verb) => allows(workflow, verb)).map((verb) => (
        <button
          key={verb}
          type="button"
          disabled={isBusy}
          onClick={() => ASKS.has(verb) ? setAsked(verb) : void run(verb)}
        >
          {TEXTS.actions[verb].do}
        </button>
      ))}
      {asked !== undefined && (
        <Dialog
          title={TEXTS.actions[asked].ask(1)}
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
  const given = workflow.spec.arguments?.parameters ?? [];
  const [values, setValues] = useState<Record<string, string>>({});
  const takesParameters = verb === "retry" || verb === "resubmit";
  const parameters = Object.entries(values).map(([name, value]) => `${name}=${value}`);
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send({
          ...(message !== "" && { message }),
          ...(parameters.length > 0 && { parameters }),
        });
      }}
    >
      <p>{TEXTS.actions[verb].what}</p>
      {verb === "retry" && <RetryPreview workflow={workflow} />}
      {verb === "stop" && (
        <label class="field">
          <span>{TEXTS.actions.message}</span>
          <input
            value={message}
            maxLength={1000}
            onInput={({ currentTarget }) => setMessage(currentTarget.value)}
          />
        </label>
      )}
      {takesParameters &&
        given.map(({ name, value, description }) => (
          <label key={name} class="field">
            <span>{name}</span>
            <input
              value={values[name] ?? String(value ?? "")}
              title={description}
              onInput={({ currentTarget }) => setValues({ ...values, [name]: currentTarget.value })}
            />
          </label>
        ))}
      <p class="buttons">
        <button type="submit" class={takesParameters ? "main" : "danger"}>
          {TEXTS.actions[verb].do}
        </button>
        <button type="button" onClick={cancel}>{TEXTS.cancel}</button>
      </p>
    </form>
  );
}

/** Which steps run again: those that failed, and those that came after them. */
function RetryPreview({ workflow }: { workflow: Workflow }): JSX.Element {
  const failed = causesOf(workflow).map(titleOf);
  const omitted = Object.values(nodesOf(workflow)).filter(({ phase }) => phase === "Omitted")
    .map(titleOf);
  const shown = [...failed, ...omitted].slice(0, 12);
  const rest = failed.length + omitted.length - shown.length;
  return (
    <>
      <p>{TEXTS.actions.retryRuns}</p>
      <ul class="names">
        {shown.map((name) => <li key={name}>{name}</li>)}
        {rest > 0 && <li>{TEXTS.list.moreRefused(rest)}</li>}
      </ul>
    </>
  );
}
