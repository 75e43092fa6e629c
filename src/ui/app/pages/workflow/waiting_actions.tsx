/** What a waiting step waits for: resume it here, make it fail, or copy the call. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { NodeStatus, Workflow } from "../../../../spec/manifest.ts";
import { answerStep, failStep, refOf } from "../../data/actions.ts";
import { useRights } from "../../data/rights.ts";
import { mayAnswer } from "../../model/rights.ts";
import { type SuppliedOutput, suppliedOutputs } from "../../model/supplied_outputs.ts";
import { titleOf } from "../../model/tree.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { keepFocus } from "../../parts/focus.ts";
import { TEXTS } from "../../texts.ts";
import { MessageField } from "./message_field.tsx";
import { WaitingCall } from "./waiting_call.tsx";

export function WaitingActions(
  { workflow, node }: { workflow: Workflow; node: NodeStatus },
): JSX.Element {
  const [asked, setAsked] = useState<"resume" | "fail" | undefined>(undefined);
  const [isBusy, setBusy] = useState(false);
  const { wait } = TEXTS;
  const ref = refOf(workflow);
  const isAllowed = mayAnswer(useRights(ref.namespace, ref.name));
  const outputs = suppliedOutputs(node);
  const resume = async (values: Record<string, string>) => {
    setAsked(undefined);
    setBusy(true);
    await answerStep(ref, node, values);
    setBusy(false);
    keepFocus();
  };
  const fail = async (message: string) => {
    setAsked(undefined);
    setBusy(true);
    await failStep(ref, node, message);
    setBusy(false);
    keepFocus();
  };
  return (
    <div class="wait">
      {isAllowed && (
        <p class="buttons">
          <button
            type="button"
            class="main"
            disabled={isBusy}
            onClick={() => outputs.length > 0 ? setAsked("resume") : void resume({})}
          >
            {wait.resume}
          </button>
          <button type="button" disabled={isBusy} onClick={() => setAsked("fail")}>
            {wait.fail}
          </button>
        </p>
      )}
      <WaitingCall workflow={ref} node={node} outputs={outputs} isAllowed={isAllowed} />
      {asked === "resume" && (
        <Dialog
          title={wait.resumeTitle(titleOf(node))}
          onClose={() => setAsked(undefined)}
        >
          <OutputForm outputs={outputs} send={(values) => void resume(values)} />
        </Dialog>
      )}
      {asked === "fail" && (
        <Dialog
          title={wait.failTitle(titleOf(node))}
          onClose={() => setAsked(undefined)}
        >
          <FailForm send={(message) => void fail(message)} />
        </Dialog>
      )}
    </div>
  );
}

function OutputForm(
  { outputs, send }: {
    outputs: readonly SuppliedOutput[];
    send: (values: Record<string, string>) => void;
  },
): JSX.Element {
  const [values, setValues] = useState<Record<string, string>>(
    Object.fromEntries(outputs.map(({ name, value }) => [name, value])),
  );
  const set = (name: string, value: string) => setValues({ ...values, [name]: value });
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send(values);
      }}
    >
      <p>{TEXTS.wait.supply}</p>
      {outputs.map(({ name, choices }) => (
        <label key={name} class="field">
          <span>{name}</span>
          {choices.length > 0
            ? (
              <select
                value={values[name]}
                onChange={({ currentTarget }) => set(name, currentTarget.value)}
              >
                {choices.map((one) => <option key={one} value={one}>{one}</option>)}
              </select>
            )
            : (
              <input
                value={values[name]}
                onInput={({ currentTarget }) => set(name, currentTarget.value)}
              />
            )}
        </label>
      ))}
      <p class="buttons">
        <button type="submit" class="main">{TEXTS.wait.resume}</button>
      </p>
    </form>
  );
}

function FailForm({ send }: { send: (message: string) => void }): JSX.Element {
  const [message, setMessage] = useState("");
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        send(message);
      }}
    >
      <p>{TEXTS.wait.failWhat}</p>
      <MessageField message={message} setMessage={setMessage} />
      <p class="buttons">
        <button type="submit" class="danger">{TEXTS.wait.failNow}</button>
      </p>
    </form>
  );
}
