/** A manifest to write or paste: completed from the schema, and checked while it is written. */
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Workflow } from "../../../../spec/manifest.ts";
import { YAML_OPTIONS } from "../../../../spec/yaml_options.ts";
import { api, troubleOf } from "../../data/api.ts";
import { loadEditor, loadSchema } from "../../data/editor.ts";
import { keepText, keptText } from "../../data/kept.ts";
import type { TextProblem } from "../../model/manifest_check.ts";
import type { JsonSchema } from "../../model/manifest_schema.ts";
import { TEXTS } from "../../texts.ts";
import { SubmitForm } from "./submit_form.tsx";

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

export function ManifestForm({ namespace }: { namespace: string }): JSX.Element {
  const [text, setText] = useState(keptText("visit", STORED) ?? EXAMPLE);
  const [problems, setProblems] = useState<readonly TextProblem[] | undefined>(undefined);
  const latest = useRef(text);
  latest.current = text;
  const change = (changed: string) => {
    keepText("visit", STORED, changed);
    setText(changed);
    setProblems(undefined);
  };
  const check = async (checked: string) => {
    const found = await problemsOf(checked, namespace);
    if (checked === latest.current) setProblems(found);
    return found;
  };
  const { submit } = TEXTS;
  return (
    <SubmitForm
      namespace={namespace}
      about={text}
      isRefused={problems !== undefined && problems.length > 0}
      create={async () =>
        api.callMinimal("WorkflowService_CreateWorkflow", {
          params: { namespace },
          body: { workflow: await parsed(text) },
        })}
      dryRun={async () =>
        api.call("WorkflowService_CreateWorkflow", {
          params: { namespace },
          body: { workflow: await parsed(text), serverDryRun: true },
        })}
      onMade={() => keepText("visit", STORED, undefined)}
    >
      <Field key={namespace} text={text} change={change} check={check} />
      <div id="verdict" role="status">
        {problems === undefined && <p class="faint">{submit.checking}</p>}
        {problems?.length === 0 && <p class="faint">{submit.valid}</p>}
        {problems?.map(({ from, message }) => (
          <p key={`${from} ${message}`} class="server-words">
            {TEXTS.code.line(text.slice(0, from).split("\n").length)} {message}
          </p>
        ))}
      </div>
    </SubmitForm>
  );
}

interface FieldProps {
  text: string;
  change: (text: string) => void;
  check: (text: string) => Promise<TextProblem[]>;
}

/** A plain field until the editor is loaded, and instead of it where it can't be. */
function Field({ text, change, check }: FieldProps): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const plain = useRef<HTMLTextAreaElement>(null);
  const [isPlain, setPlain] = useState(true);
  const latest = useRef({ text, change, check });
  latest.current = { text, change, check };
  useEffect(() => {
    let schema: JsonSchema | undefined;
    let close = () => {};
    let isOver = false;
    void loadSchema().then((found) => void (schema = found));
    void loadEditor().then(({ openEditor }) => {
      if (host.current === null || isOver) return;
      const editor = openEditor(host.current, {
        text: latest.current.text,
        language: "yaml",
        label: TEXTS.submit.yaml,
        edit: {
          onChange: (changed) => latest.current.change(changed),
          check: (checked) => latest.current.check(checked),
          schema: () => schema,
        },
      });
      close = editor.close;
      const field = plain.current;
      if (field !== null && field === document.activeElement) {
        editor.focus(field.selectionStart, field.selectionEnd);
      }
      setPlain(false);
    }, () => void latest.current.check(text));
    return () => {
      isOver = true;
      close();
    };
  }, []);
  return (
    <div class="field">
      <span>{TEXTS.submit.yaml}</span>
      <div ref={host} class="code-host" />
      {isPlain && (
        <textarea
          ref={plain}
          class="code"
          rows={20}
          spellcheck={false}
          value={text}
          aria-label={TEXTS.submit.yaml}
          onInput={({ currentTarget }) => change(currentTarget.value)}
          onChange={({ currentTarget }) => void check(currentTarget.value)}
        />
      )}
      <span class="faint">{TEXTS.code.keys}</span>
    </div>
  );
}

/** @throws {Error} with the line of what is no YAML */
async function parsed(text: string): Promise<Workflow> {
  const { parse } = await import("yaml");
  return parse(text, YAML_OPTIONS) as Workflow;
}

/** First what is no YAML, then what the schema does not allow, then what the server says. */
async function problemsOf(text: string, namespace: string): Promise<TextProblem[]> {
  const { placeOfWords, readText, schemaProblems } = await import("../../model/manifest_check.ts");
  const read = readText(text);
  if (read.faults.length > 0) return read.faults;
  const schema = await loadSchema();
  const found = schema === undefined ? [] : schemaProblems(read, schema);
  if (found.length > 0) return found;
  try {
    const workflow = read.document.toJS() as Workflow;
    await api.call("WorkflowService_LintWorkflow", { params: { namespace }, body: { workflow } });
    return [];
  } catch (error) {
    return [placeOfWords(read, troubleOf(error).message, text)];
  }
}
