/** A manifest to write or paste. The server checks it while it is written. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { api, troubleOf } from "../../data/api.ts";
import { notify } from "../../data/notices.ts";
import { navigate } from "../../data/router.ts";
import { workflowPath } from "../../paths.ts";
import { TEXTS } from "../../texts.ts";

const EXAMPLE = `metadata:
  generateName: hello-
spec:
  entrypoint: main
  templates:
    - name: main
      container:
        image: busybox
        command: [echo, hello]
`;
/** What was written stays over a reload of the page. */
const STORED = "sluice-manifest";
/** The manifest is checked after this pause, ms. */
const PAUSE_MS = 400;

type Verdict = { kind: "checking" | "valid" } | { kind: "refused"; message: string };

export function ManifestForm({ namespace }: { namespace: string }): JSX.Element {
  const [text, setText] = useState(sessionStorage.getItem(STORED) ?? EXAMPLE);
  const [verdict, setVerdict] = useVerdict(namespace, text);
  const [isBusy, setBusy] = useState(false);
  const send = async () => {
    setBusy(true);
    try {
      const made = await api.callMinimal("WorkflowService_CreateWorkflow", {
        params: { namespace },
        body: { workflow: await parsed(text) },
      });
      const { name = "" } = made.metadata;
      sessionStorage.removeItem(STORED);
      notify(TEXTS.submit.made(name));
      navigate(workflowPath(namespace, name));
    } catch (error) {
      setVerdict({ kind: "refused", message: troubleOf(error).message });
      setBusy(false);
    }
  };
  const { submit } = TEXTS;
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <label class="field">
        <span>{submit.yaml}</span>
        <textarea
          class="code"
          rows={20}
          spellcheck={false}
          value={text}
          aria-describedby="verdict"
          onInput={({ currentTarget }) => setText(currentTarget.value)}
        />
      </label>
      <p id="verdict" role="status" class={verdict.kind === "refused" ? "server-words" : "faint"}>
        {verdict.kind === "refused" ? verdict.message : submit[verdict.kind]}
      </p>
      <p class="buttons">
        <button type="submit" class="main" disabled={isBusy || verdict.kind === "refused"}>
          {submit.do}
        </button>
      </p>
    </form>
  );
}

/** What the server says about a manifest while it is written. */
function useVerdict(
  namespace: string,
  text: string,
): [Verdict, (verdict: Verdict) => void] {
  const [verdict, setVerdict] = useState<Verdict>({ kind: "checking" });
  useEffect(() => {
    sessionStorage.setItem(STORED, text);
    setVerdict({ kind: "checking" });
    let isOver = false;
    const timer = setTimeout(() => {
      void check(namespace, text).then((found) => {
        if (!isOver) setVerdict(found);
      });
    }, PAUSE_MS);
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [text, namespace]);
  return [verdict, setVerdict];
}

/** @throws {Error} with the line of what is no YAML */
async function parsed(text: string): Promise<Workflow> {
  const { parse } = await import("yaml");
  return parse(text) as Workflow;
}

async function check(namespace: string, text: string): Promise<Verdict> {
  try {
    const workflow = await parsed(text);
    await api.call("WorkflowService_LintWorkflow", { params: { namespace }, body: { workflow } });
    return { kind: "valid" };
  } catch (error) {
    return { kind: "refused", message: troubleOf(error).message };
  }
}
