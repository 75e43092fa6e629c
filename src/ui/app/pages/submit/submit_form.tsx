/** The end of every way to submit: a dry run that shows what would be made, and the submission itself. */
import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { MinimalAnswer } from "../../../../client/answer.ts";
import type { Workflow } from "../../../../spec/manifest.ts";
import { once, troubleOf } from "../../data/api.ts";
import { notify } from "../../data/notices.ts";
import { useRights } from "../../data/rights.ts";
import { navigate } from "../../data/router.ts";
import { maySubmit } from "../../model/rights.ts";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";
import { CodeView } from "../../parts/code_view.tsx";

interface SubmitFormProps {
  namespace: string;
  /** It is known to be invalid. */
  isRefused?: boolean;
  /** A repeat with the same key makes no second workflow. */
  create: (idempotencyKey: string) => Promise<MinimalAnswer>;
  /** Makes nothing; resolves to what `create` would make. */
  dryRun: () => Promise<Workflow>;
  onMade?: () => void;
  /** Where the fields can be read; what would be made belongs to one state of them. */
  about: string;
  children: ComponentChildren;
}

export function SubmitForm(
  { namespace, isRefused = false, create, dryRun, onMade, about, children }: SubmitFormProps,
): JSX.Element {
  const mayCreate = maySubmit(useRights(namespace));
  const [refusal, setRefusal] = useState<string | undefined>(undefined);
  const [preview, setPreview] = useState<{ about: string; workflow: Workflow } | undefined>();
  const [isBusy, setBusy] = useState(false);
  const attempt = async (work: () => Promise<void>) => {
    setBusy(true);
    setRefusal(undefined);
    await work().catch((error) => {
      const { kind, message } = troubleOf(error);
      setRefusal(work === send && kind === "unreachable" ? TEXTS.submit.unanswered : message);
    });
    setBusy(false);
  };
  const send = async () => {
    const { metadata: { name = "" } } = await once(`${namespace} ${about}`, create);
    onMade?.();
    notify(TEXTS.submit.made(name));
    navigate(workflowPath(namespace, name));
  };
  const look = async () => setPreview({ about, workflow: await dryRun() });
  const { submit, dryRun: texts } = TEXTS;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        const isLook = event.submitter?.getAttribute("value") === "look";
        void attempt(isLook ? look : send);
      }}
    >
      {children}
      {refusal !== undefined && (
        <div role="alert">
          {refusal !== submit.unanswered && <p>{submit.failed}</p>}
          <p class="server-words">{refusal}</p>
        </div>
      )}
      {mayCreate && (
        <p class="buttons">
          <button type="submit" class="main" disabled={isBusy || isRefused}>{submit.do}</button>
          <button type="submit" value="look" disabled={isBusy || isRefused}>{texts.do}</button>
        </p>
      )}
      {preview?.about === about && <Preview workflow={preview.workflow} />}
    </form>
  );
}

/** What would be made, as the server tells it. */
function Preview({ workflow }: { workflow: Workflow }): JSX.Element {
  const { metadata, spec } = workflow;
  const { name, generateName, namespace, labels, annotations } = metadata;
  const { dryRun: texts } = TEXTS;
  return (
    <section class="preview" role="status" aria-labelledby="preview-title">
      <h2 id="preview-title">{texts.title(name ?? generateName ?? "")}</h2>
      <p class="faint">{texts.nothing}</p>
      <CodeView
        value={{ metadata: { name, generateName, namespace, labels, annotations }, spec }}
        label={texts.manifest}
      />
    </section>
  );
}
