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
import { ValueField } from "../../parts/value_field.tsx";
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
  const close = () => setAsked(undefined);
  const run = async (answer: Promise<void>) => {
    close();
    setBusy(true);
    await answer;
    setBusy(false);
    keepFocus();
  };
  const resume = (values: Record<string, string>) => run(answerStep(ref, node, values));
  const fail = (message: string) => run(failStep(ref, node, message));
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
          title={wait.resumeTitle(titleOf(node), ref.name)}
          onClose={close}
        >
          <OutputForm outputs={outputs} send={(values) => void resume(values)} cancel={close} />
        </Dialog>
      )}
      {asked === "fail" && (
        <Dialog
          title={wait.failTitle(titleOf(node), ref.name)}
          onClose={close}
        >
          <FailForm send={(message) => void fail(message)} cancel={close} />
        </Dialog>
      )}
    </div>
  );
}

function OutputForm(
  { outputs, send, cancel }: {
    outputs: readonly SuppliedOutput[];
    send: (values: Record<string, string>) => void;
    cancel: () => void;
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
      {outputs.map((output) => (
        <ValueField
          key={output.name}
          {...output}
          value={values[output.name] ?? ""}
          set={(value) => set(output.name, value)}
        />
      ))}
      <p class="buttons">
        <button type="submit" class="main">{TEXTS.wait.resume}</button>
        <button type="button" onClick={cancel}>{TEXTS.cancel}</button>
      </p>
    </form>
  );
}

function FailForm(
  { send, cancel }: { send: (message: string) => void; cancel: () => void },
): JSX.Element {
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
        <button type="button" onClick={cancel}>{TEXTS.cancel}</button>
      </p>
    </form>
  );
}
